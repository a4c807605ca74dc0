"""MAESTRO's case study II (IEEE Micro 40(3), 2020): all machines for two styles.

python -m reproduce.maestro_designs [--write]

Prints the tables of docs/reproductions/maestro-designs.md; with --write puts them into that page.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import tilewright
from reproduce.pages import Rows, publish
from tilewright import Layer
from tilewright.api.inputs import the_network
from tilewright.architecture.machine import Array
from tilewright.exploration.fixed import FixedStyle, explore_style, with_elements

PAGE = Path(__file__).parents[1] / "docs" / "reproductions" / "maestro-designs.md"
LAYERS = {"early": "conv2_2", "late": "conv5_1"}
# elements in steps of a cluster of 64, and of the three rows of a filter
ELEMENTS = {"kc-p": range(64, 1025, 64), "yr-p": range(3, 1025, 3)}
INNER, OUTER = range(8, 2049, 8), range(8192, (1 << 20) + 1, 8192)
RATES = range(1, 65)


@cache
def layer(name: str) -> Layer:
    """Return a layer of VGG-16."""
    return next(each for each in the_network("vgg16").layers if each.name == name)


@cache
def study(when: str, style: str) -> FixedStyle:
    """Return the sweep over machines for one layer and style."""
    return explore_style(
        layer(LAYERS[when]), "maestro-256", style, elements=ELEMENTS[style], inner_bytes=INNER,
        outer_bytes=OUTER, bandwidths=RATES,
    )  # fmt: skip


def designs() -> Rows:
    """Return how many machines there are and what is the best of each kind."""
    rows: Rows = [
        ("layer", "style", "designs", "valid", "best", "elements", "L1", "L2", "words per cycle",
         "operations per cycle", "energy (1e9 MACs)", "mm2", "mW"),
    ]  # fmt: skip
    for when, name in LAYERS.items():
        for style in ELEMENTS:
            found = study(when, style)
            for goal, best in found.best.items():
                rows.append((
                    f"{name} ({when})", style, f"{found.designs:,}", f"{found.valid:,}", goal,
                    str(best.elements), f"{best.inner_bytes} B", f"{best.outer_bytes // 1024} KiB",
                    f"{best.bandwidth:g}", f"{found.operations / best.cycles:.1f}",
                    f"{best.energy / 1e9:.4g}", f"{best.area_mm2:.2f}", f"{best.power_mw:.0f}",
                ))  # fmt: skip
    return rows


def bandwidths() -> Rows:
    """Return the highest throughput with each bandwidth."""
    shown = (1, 2, 4, 8, 16, 24, 32, 64)
    rows: Rows = [("layer", "style", *(f"{rate} words" for rate in shown))]
    for when, name in LAYERS.items():
        for style in ELEMENTS:
            found = study(when, style)
            best = [found.operations / found.by_bandwidth[RATES.index(rate)] for rate in shown]
            rows.append((f"{name} ({when})", style, *(f"{each:.1f}" for each in best)))
    return rows


def buffers() -> Rows:
    """Return the highest throughput with each size of the memory of an element."""
    shown = (8, 40, 64, 128, 256, 512, 1024, 2048)
    rows: Rows = [("layer", "style", *(f"L1 {size} B" for size in shown))]
    for when, name in LAYERS.items():
        for style in ELEMENTS:
            found = study(when, style)
            best = [
                found.operations / float(found.by_buffer[INNER.index(size)].min()) for size in shown
            ]
            rows.append((f"{name} ({when})", style, *(f"{each:.1f}" for each in best)))
    return rows


def supports() -> Rows:
    """Return what the best machine for conv2_2 loses when its networks can do less."""
    best = study("early", "kc-p").best["throughput"]
    machine = with_elements(
        tilewright.load_architecture("maestro-256"), best.elements, best.bandwidth
    )
    rows: Rows = [("networks", "operations per cycle", "energy", "published")]
    first = 0.0
    for words, multicast, reduction, rate, published in (
        ("reference", True, True, best.bandwidth, "reference"),
        ("half the bandwidth", True, True, best.bandwidth / 2, "throughput drops, energy stays"),
        ("no multicast", False, True, best.bandwidth, "about +47 % energy"),
        ("no reduction", True, False, best.bandwidth, "about +47 % energy"),
    ):
        levels = tuple(
            replace(x, multicast=multicast, reduction=reduction, bandwidth=rate)
            if isinstance(x, Array) else x
            for x in machine.levels
        )  # fmt: skip
        found = tilewright.evaluate(layer(LAYERS["early"]), replace(machine, levels=levels), "kc-p")
        first = first or found.energy_pj
        rows.append((
            words, f"{found.operations / found.cycles:.1f}",
            f"{found.energy_pj / 1e9:.4g} ({found.energy_pj / first - 1:+.1%})", published,
        ))  # fmt: skip
    return rows


def rates() -> str:
    """Return how fast the sweeps were, which differs from run to run."""
    found = [study(when, style) for when in LAYERS for style in ELEMENTS]
    seconds = float(np.sum([each.seconds for each in found]))
    computed = sum(each.computed for each in found)
    every = sum(each.designs for each in found)
    return (
        f"{every:,} designs, {computed:,} of them computed one by one, in {seconds:.3f} s: "
        f"{every / seconds:.3g} decided and {computed / seconds:.3g} computed a second on one core"
    )


TABLES = {"designs": designs, "bandwidths": bandwidths, "buffers": buffers, "supports": supports}


def main() -> None:
    """Print the tables, and put them into the page with --write."""
    publish(TABLES, PAGE)
    print(rates())


if __name__ == "__main__":
    main()
