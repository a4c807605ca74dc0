"""Timeloop's case studies of Eyeriss (ISPASS 2019, VIII-B and VIII-C), run again.

python -m reproduce.timeloop_eyeriss [--write]

Prints the tables of docs/reproductions/timeloop-eyeriss.md; with --write puts them into that page.
The searches take some CPU minutes.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import tilewright
from reproduce.pages import Rows, publish
from reproduce.timeloop_machines import REGISTERS, eyeriss
from tilewright import Evaluation, Layer
from tilewright.mapper.results.result import LayerResult
from tilewright.workload.operators import conv2d, fully_connected

PAGE = Path(__file__).parents[1] / "docs" / "reproductions" / "timeloop-eyeriss.md"
# AlexNet without conv2 and conv4, some of whose searches end without a proof; of conv5 one of its
# two groups, as the paper's nest has none
LAYERS = (
    conv2d(name="conv1", K=96, C=3, P=55, Q=55, R=11, S=11, stride=4),
    conv2d(name="conv3", K=384, C=256, P=13, Q=13, R=3, S=3),
    conv2d(name="conv5", K=128, C=192, P=13, Q=13, R=3, S=3),
    fully_connected(name="fc6", K=4096, C=9216),
    fully_connected(name="fc8", K=1000, C=4096),
)
OLD = "eyeriss-65nm"
NEW = ("interstellar-28nm", "cacti7-22nm")


@cache
def mapped(layer: Layer, technology: str, design: str = "shared") -> LayerResult:
    """Return the mapping with the least energy, proven."""
    (found,) = tilewright.map(
        layer, eyeriss(technology, design), "energy", tiles="divisors", workers=1
    ).layers
    assert found.proof.optimal, layer.name
    return found


def shares(found: Evaluation) -> list[float]:
    """Return what DRAM, buffer, network, register files and arithmetic take of the energy."""
    parts = {name: memory.energy_pj for name, memory in found.memories.items()}
    files = sum(energy for name, energy in parts.items() if name.startswith("R"))
    networks = sum(network.energy_pj for network in found.networks.values())
    every = [parts["DRAM"], parts["GBuf"], networks, files, found.compute.energy_pj]
    return [each / found.energy_pj for each in every]


def breakdown() -> Rows:
    """Return the energy of the best mappings of the old technology in each technology."""
    rows: Rows = [
        ("layer", "technology", "DRAM", "buffer", "network", "register files", "arithmetic")
    ]
    for layer in LAYERS:
        for technology in (OLD, *NEW):
            own = tilewright.evaluate(layer, eyeriss(technology), mapped(layer, OLD).mapping)
            rows.append((layer.name, technology, *(f"{share:.0%}" for share in shares(own))))
    return rows


def remapping() -> Rows:
    """Return what searching again in a newer technology saves."""
    rows: Rows = [
        ("layer", *(f"{name}: {what}" for name in NEW for what in ("65map", "own map", "saved")))
    ]
    for layer in LAYERS:
        cells: list[str] = []
        for technology in NEW:
            kept = tilewright.evaluate(layer, eyeriss(technology), mapped(layer, OLD).mapping)
            best = mapped(layer, technology).evaluation
            old, new = kept.energy_pj / kept.operations, best.energy_pj / best.operations
            cells += [f"{old:.4g}", f"{new:.4g}", f"{1 - new / old:.1%}"]
        rows.append((layer.name, *cells))
    return rows


def registers() -> Rows:
    """Return the energy per operation with each of the three register files."""
    rows: Rows = [
        ("layer", "technology", *REGISTERS, "register saves", "partition saves")
    ]  # fmt: skip
    for layer in LAYERS:
        for technology in NEW:
            found = [mapped(layer, technology, design).evaluation for design in REGISTERS]
            shared, *others = [each.energy_pj / each.operations for each in found]
            rows.append((
                layer.name, technology, f"{shared:.4g}", *(f"{each:.4g}" for each in others),
                *(f"{1 - each / shared:.0%}" for each in others),
            ))  # fmt: skip
    return rows


TABLES = {"breakdown": breakdown, "remapping": remapping, "registers": registers}


def main() -> None:
    """Print the tables, and put them into the page with --write."""
    publish(TABLES, PAGE)


if __name__ == "__main__":
    main()
