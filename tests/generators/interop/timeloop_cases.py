"""Cases of Timeloop's model: numbers of its counts, and files that ask for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "data" / "timeloop_cases.json").read_text()
)
TENSORS = {"W": "Weights", "I": "Inputs", "O": "Outputs"}


def problem_text(case: dict[str, Any]) -> str:
    """Return the problem of a case in the older form, with the shape that Timeloop knows."""
    sizes = case["sizes"] | case["coefficients"]
    return json.dumps({"problem": {"shape": "cnn-layer"} | sizes})


def architecture_text(case: dict[str, Any]) -> str:
    """Return the machine of a case as a list of storages, innermost first."""
    storage = [
        {key.replace("_", "-") if key == "word_bits" else key: v for key, v in level.items()}
        for level in reversed(case["levels"])
    ]
    instances, mesh = case["mac"]
    arithmetic = {"name": "MAC", "instances": instances, "meshX": mesh, "word-bits": 16}
    return json.dumps({"arch": {"arithmetic": arithmetic, "storage": storage}})


def mapping_text(case: dict[str, Any]) -> str:
    """Return the mapping of a case: permutations from the inside out."""
    items: list[dict[str, Any]] = []
    for level in [level["name"] for level in case["levels"]]:
        kept = case["keep"][level]
        items.append(
            {
                "target": level,
                "type": "bypass",
                "keep": [TENSORS[t] for t in kept],
                "bypass": [name for t, name in TENSORS.items() if t not in kept],
            }
        )
        for kinds in (("",), ("X", "Y")):
            loops = [loop for loop in case["loops"] if loop[0] == level and loop[1] in kinds]
            loops = sorted(reversed(loops), key=lambda loop: loop[1])
            if loops:
                items.append(
                    {
                        "target": level,
                        "type": "spatial" if "X" in kinds else "temporal",
                        "factors": " ".join(
                            f"{d}{b}" + (f",{last}" if last != b else "")
                            for _, _, d, b, last in loops
                        ),
                        "permutation": [loop[2] for loop in loops],
                    }
                )
                if "X" in kinds:
                    items[-1]["split"] = sum(loop[1] == "X" for loop in loops)
    return json.dumps({"mapping": items})


def write_case(case: dict[str, Any], folder: Path) -> tuple[str, str, str]:
    """Write the files of a case; return their paths."""
    texts = {
        "problem": problem_text(case),
        "arch": architecture_text(case),
        "map": mapping_text(case),
    }
    paths = []
    for name, text in texts.items():
        path = folder / f"{name}.yaml"
        path.write_text(text)
        paths.append(str(path))
    return paths[0], paths[1], paths[2]
