"""The key of a solved layer: it has everything that matters in it, and nothing else."""

from __future__ import annotations

import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.architecture.machine import Array, Compute, Constraint, Memory
from tilewright.architecture.transfers import Dma, Networks
from tilewright.kernels import kernel as kernels
from tilewright.mapper.network import solution_key as key_module
from tilewright.mapper.network import solved_layers as solved
from tilewright.mapper.network.solution_key import solution_key
from tilewright.workload.layer import Term

WINDOW = tw.conv1d(name="w", K=4, C=2, P=6, R=3)
MACHINE = tw.load_architecture("simple")


def key(
    layer: tw.Layer = WINDOW,
    machine: tw.Architecture = MACHINE,
    objective: str = "energy",
    **options: object,
) -> str:
    return solution_key(layer, machine, objective, options)


def with_tensors(**changes: object) -> tw.Layer:
    return replace(WINDOW, tensors=tuple(replace(t, **changes) for t in WINDOW.tensors))


def with_level(kind: type, **changes: object) -> tw.Architecture:
    """The machine with a change of one of its levels: of the last memory, array or compute unit."""
    last = [level for level in MACHINE.levels if isinstance(level, kind)][-1]
    levels = (replace(x, **changes) if x is last else x for x in MACHINE.levels)
    return replace(MACHINE, levels=tuple(levels))


LAYERS = {
    "bound": replace(WINDOW, bounds=WINDOW.bounds | {"P": 7}),
    "order of the dimensions": replace(WINDOW, bounds=dict(reversed(WINDOW.bounds.items()))),
    "stride": tw.conv1d(name="w", K=4, C=2, P=6, R=3, stride=2),
    "dilation": tw.conv1d(name="w", K=4, C=2, P=6, R=3, dilation=2),
    "bits": with_tensors(bits=8),
    "other bits": with_tensors(bits=4),
    "density": with_tensors(density=0.5),
    "role": with_tensors(role="X"),
    "name of a tensor": with_tensors(name="X"),
    "expressions": with_tensors(expressions=((Term(1, "P"),),)),
    "operation": replace(WINDOW, operation="max"),
}
MACHINES = {
    "capacity": with_level(Memory, capacity_bits=1024),
    "no capacity": with_level(Memory, capacity_bits=None),
    "partition": with_level(Memory, tensor_bits={"I": 64, "W": 64, "O": 64}),
    "order of a partition": with_level(Memory, tensor_bits={"O": 64, "W": 64, "I": 64}),
    "word": with_level(Memory, word_bits=8),
    "read energy": with_level(Memory, read_energy=1.5),
    "write energy": with_level(Memory, write_energy=1.5),
    "read bandwidth": with_level(Memory, read_bandwidth=2.5),
    "write bandwidth": with_level(Memory, write_bandwidth=2.5),
    "shared bandwidth": with_level(Memory, shared_bandwidth=2.5),
    "buffering": with_level(Memory, buffering=2),
    "banks": with_level(Memory, banks=3),
    "retention": with_level(Memory, retention="optimal"),
    "block": with_level(Memory, block_bytes=48),
    "keep": with_level(Memory, keep=frozenset("IW")),
    "must keep": with_level(Memory, must_keep=frozenset("I")),
    "leakage": with_level(Memory, leakage=0.5),
    "area of a memory": with_level(Memory, area=0.5),
    "DMA engine": with_level(Memory, dma=Dma(291.0, 0.24)),
    "name of a memory": with_level(Memory, name="REG"),
    "size of the array": with_level(Array, axes={"X": 16, "Y": 8}),
    "order of the axes": with_level(Array, axes={"Y": 16, "X": 16}),
    "multicast": with_level(Array, multicast=False),
    "reduction": with_level(Array, reduction=False),
    "forwarding": with_level(Array, forwarding=True),
    "hop energy": with_level(Array, hop_energy=0.5),
    "area of a network": with_level(Array, area=0.5),
    "bandwidth of the array": with_level(Array, bandwidth=3.0),
    "networks": with_level(Array, networks=Networks(3, 1)),
    "adders": with_level(Array, adders="tree"),
    "axes that may be split": with_level(Array, split=("X",)),
    "name of the array": with_level(Array, name="Q"),
    "energy of an operation": with_level(Compute, energy=3.5),
    "cycles of an operation": with_level(Compute, cycles=2.0),
    "leakage of a unit": with_level(Compute, leakage=0.5),
    "area of a unit": with_level(Compute, area=0.5),
    "gating": with_level(Compute, gated=True),
    "name of the unit": with_level(Compute, name="ALU"),
    "clock": replace(MACHINE, clock_hz=1.5e9),
    "constraint": replace(MACHINE, constraints=(Constraint("PE", "X", frozenset("KC")),)),
    "another constraint": replace(MACHINE, constraints=(Constraint("PE", "Y", frozenset("KC")),)),
    "latency": replace(MACHINE, latency="pipelined"),
    "a level less": replace(MACHINE, levels=(MACHINE.levels[0], *MACHINE.levels[2:])),
}


@pytest.mark.parametrize("layer", LAYERS.values(), ids=LAYERS)
def test_what_is_computed_is_part_of_the_key(layer: tw.Layer) -> None:
    assert key(layer) != key()


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_what_computes_it_is_part_of_the_key(machine: tw.Architecture) -> None:
    assert key(machine=machine) != key()


@pytest.mark.parametrize("kind", [Memory, Array, Compute])
def test_every_property_of_a_level_is_tried(kind: type) -> None:
    tried = set()
    for machine in MACHINES.values():
        for old, new in zip(MACHINE.levels, machine.levels, strict=False):
            if isinstance(new, kind) and isinstance(old, kind):
                names = [field.name for field in fields(kind)]
                tried |= {name for name in names if getattr(old, name) != getattr(new, name)}
    assert tried >= {field.name for field in fields(kind)}


def test_all_keys_differ() -> None:
    different = {key(layer) for layer in LAYERS.values()}
    different |= {key(machine=machine) for machine in MACHINES.values()}
    assert len(different) == len(LAYERS) + len(MACHINES)


def test_the_objective_is_part_of_the_key() -> None:
    assert len({key(objective=name) for name in ("energy", "latency", "edp")}) == 3


def test_options_are_part_of_the_key() -> None:
    values: list[object] = [None, True, 1, 1.0, "1", (), (1,), {"K": 1}, {"K": 2}, {"C": 1}]
    values += [Constraint("PE", None, frozenset("K")), Constraint("PE", None, frozenset("C"))]
    different = {key(tiles=value) for value in values}
    different |= {key(), key(other=1), key(tiles=1, other=1)}
    assert len(different) == len(values) + 3
    assert key(tiles={"K"}, other=1) == key(other=1, tiles=frozenset("K"))
    with pytest.raises(TypeError, match="function cannot be part of a key"):
        key(tiles=key)


def test_the_code_and_the_version_are_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    old = key()
    for part in range(len(key_module.version())):
        other = list(key_module.version())
        other[part] += "x"
        with monkeypatch.context() as patch:
            patch.setattr(key_module, "version", lambda other=other: tuple(other))
            assert key() != old
    assert key() == old


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package, with one more package in a package, that digests are found of."""
    package = tmp_path / "tilewright"
    shutil.copytree(key_module.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in key_module.FOLDERS:
        nested = package / folder / "outer" / "inner"
        nested.mkdir(parents=True)
        (nested.parent / "__init__.py").write_text("")
        (nested / "__init__.py").write_text("")
        (nested / "code.py").write_text("x = 1\n")
    monkeypatch.setattr(key_module, "PACKAGE", package)
    monkeypatch.setattr(key_module, "source_digest", kernels.source_digest.__wrapped__)
    monkeypatch.setattr(kernels, "ROOT", package)
    monkeypatch.setattr(kernels, "read", kernels.read.__wrapped__)
    return package


@pytest.mark.sampled(3)
@pytest.mark.parametrize("folder", key_module.FOLDERS)
def test_a_change_of_any_source_is_another_version(folder: str, copied: Path) -> None:
    version = key_module.version.__wrapped__
    old = version()
    for place in ("code.py", "outer/__init__.py", "outer/inner/code.py"):
        file = copied / folder / place
        before = file.read_text() if file.exists() else ""
        file.write_text(f"{before}# changed\n")
        assert version() != old, place
        file.write_text(before)
        old = version()
    (copied / folder / "outer" / "inner" / "code.py").rename(copied / folder / "outer" / "code.py")
    assert version() != old


@pytest.mark.parametrize(
    ("imported", "changed"),
    [
        ("from tilewright.model.outer.inner.code import x", "outer/inner/code.py"),
        ("from tilewright.model.outer.inner import code", "outer/inner/code.py"),
        ("from tilewright.model.outer.inner import (\n    code,\n)", "outer/inner/code.py"),
        ("import tilewright.model.outer.inner.code", "outer/inner/code.py"),
        ("from tilewright.model.outer.inner import x", "outer/inner/__init__.py"),
        ("from tilewright.model.outer import inner", "outer/inner/__init__.py"),
    ],
)
def test_kernels_are_stamped_with_nested_files_that_they_import(
    imported: str, changed: str, copied: Path
) -> None:
    digest = kernels.module_digest.__wrapped__
    kernel = copied / "mapper" / "outer" / "kernel_of_a_test.py"
    kernel.write_text(f"{imported}\n")
    old = digest(kernel)
    (copied / "model" / changed).write_text("x = 2\n")
    new = digest(kernel)
    assert new != old
    (copied / "model" / "outer" / "unused.py").write_text("x = 2\n")
    assert digest(kernel) == new


def test_digests_see_every_file_that_the_solution_of_a_layer_builds_on() -> None:
    built_on, left = set(), [Path(solved.__file__)]
    while left:
        new = kernels.read(left.pop())[1] - built_on
        built_on |= new
        left += new
    folders = {path.relative_to(key_module.PACKAGE).parts[0] for path in built_on}
    # what is only imported where it is used may be among them as well
    assert {folder for folder in folders if not folder.endswith(".py")} <= set(key_module.FOLDERS)


def test_names_that_nothing_depends_on_are_no_part_of_the_key() -> None:
    assert key(replace(WINDOW, name="other", repeat=7)) == key()
    assert key(machine=replace(MACHINE, name="other", source="A paper")) == key()


def test_numbers_of_numpy_are_numbers() -> None:
    bounds = {name: np.int64(bound) for name, bound in WINDOW.bounds.items()}
    assert key(replace(WINDOW, bounds=bounds)) == key()
    energy = np.float64(MACHINE.memories[-1].read_energy)
    assert key(machine=with_level(Memory, read_energy=energy)) == key()
