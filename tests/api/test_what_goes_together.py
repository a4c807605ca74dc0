"""Options that would be of no use together are refused, not ignored."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tilewright as tw
from tilewright.cli import main

LAYER = tw.matmul(M=8, N=8, K=8)
MACHINE = tw.load_architecture("marvel-p1")
TILED = [{"store": "DRAM"}, {"for": "M", "tile": 2}, {"for": "N", "tile": 2}, {"store": "L2"}]


def test_blocks_are_not_defined_where_a_memory_retains_optimally() -> None:
    levels = tuple(
        replace(level, retention="optimal", buffering=1)
        if isinstance(level, type(MACHINE.memories[0])) and level.name == "L2"
        else level
        for level in MACHINE.levels
    )
    machine = replace(MACHINE, levels=levels)
    assert tw.evaluate(LAYER, machine, TILED).memories["DRAM"].tensors["I"].reads == 64
    with pytest.raises(tw.InputError, match="'L2' of 'marvel-p1' has optimal retention: blocks"):
        tw.evaluate(LAYER, machine, TILED, layouts="best")
    with pytest.raises(tw.InputError, match="has optimal retention: blocks"):
        tw.simulate(LAYER, machine, TILED, layouts="best")


@pytest.mark.parametrize("given", [{"latency": "pipelined"}, {"layouts": "best"}])
def test_dmazerunners_counting_has_a_latency_of_its_own(given: dict[str, str]) -> None:
    with pytest.raises(tw.InputError, match="a latency of its own"):
        tw.evaluate(LAYER, MACHINE, TILED, counting="dmazerunner", **given)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--counting dmazerunner --statistics", "--statistics: not with --counting"),
        ("--counting dmazerunner --latency pipelined", "--latency: not with --counting"),
        ("--layout best", "--layout: is for one layer"),
        ("--latency pipelined --timeline no.html", "--timeline: is for one layer"),
    ],
)
def test_a_command_refuses_what_it_would_ignore(
    options: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", "alexnet", "maestro-256", "kc-p", *options.split()]) == 2
    assert says in capsys.readouterr().err
