"""What must hold of a machine as a whole, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilewright.architecture.constraints.checks import check_constraint
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.architecture.units import size_text
from tilewright.document import Document, KeyPath
from tilewright.errors import InputError

MAX_ELEMENTS = 1_000_000
ROLES = ("I", "W", "O")


def check_machine(machine: Architecture, document: Document) -> None:
    """Raise an error that points into `document` when the machine is not one.

    Parameters
    ----------
    machine : Architecture
        The machine, built level by level.
    document : Document
        Where it was read; item i of its ``levels`` is level i of the machine.

    Raises
    ------
    InputError
        For the first rule that is broken.
    """
    _check_chain(machine, document)
    for i, level in enumerate(machine.levels):
        if isinstance(level, Memory):
            _check_memory(level, document, ("levels", i), outermost=i == 0)
            if fault := retention_fault(level, machine):
                raise document.error(fault, ("levels", i, "retention"))
    for i, constraint in enumerate(machine.constraints):
        check_constraint(constraint, machine, document.errors_at(("constraints", i)))


def _check_chain(machine: Architecture, document: Document) -> None:
    levels = machine.levels
    seen: dict[str, int] = {}
    elements = 1
    for i, level in enumerate(levels):
        path: KeyPath = ("levels", i, type(level).__name__.lower())
        if level.name in seen:
            raise document.error(
                f"level name '{level.name}' is taken by levels[{seen[level.name]}]", path
            )
        seen[level.name] = i
        if isinstance(level, Compute) and i + 1 < len(levels):
            raise document.error(
                "the compute unit is the last level, but others follow; exactly one is accepted",
                path,
            )
        if isinstance(level, Array):
            elements *= level.elements
            if elements > MAX_ELEMENTS:
                raise document.error(
                    f"the arrays down to this one have {elements} elements; "
                    f"at most {MAX_ELEMENTS} are accepted",
                    ("levels", i, "axes"),
                )
    if not isinstance(levels[0], Memory):
        raise document.error(
            f"the first level must be a memory (the outermost), found '{levels[0].name}'",
            ("levels", 0),
        )
    if not isinstance(levels[-1], Compute):
        raise document.error(
            "the last level must be the compute unit, for example {compute: MAC, energy: 1}",
            ("levels", len(levels) - 1),
        )


def _check_memory(memory: Memory, document: Document, path: KeyPath, *, outermost: bool) -> None:
    def error(message: str, key: str) -> InputError:
        return document.error(f"memory '{memory.name}': {message}", (*path, key))

    if memory.capacity_bits is None and not outermost:
        raise error("missing key 'size'; only the outermost memory may be unbounded", "memory")
    if outermost:
        refused = [role for role in ROLES if not memory.may_store(role)]
        if refused:
            raise error(
                f"the outermost memory stores every tensor, but may not keep {', '.join(refused)}",
                "keep" if memory.keep is not None else "size",
            )
    if memory.keep is not None and not memory.keep:
        raise error("keeps nothing: name the tensors that it keeps or leave the level out", "keep")
    _check_kept(memory, error)
    parts: Mapping[str, int | None] = memory.tensor_bits or {"": memory.capacity_bits}
    for role, size in parts.items():
        if size is not None and size < memory.word_bits * memory.buffering:
            what = f"the part for {role}" if role else "its size"
            double = ", twice for double buffering" if memory.buffering == 2 else ""
            raise error(
                f"{what} ({size_text(size)}) holds no word of {memory.word_bits} bits{double}",
                "size",
            )
    if memory.banks is not None:
        if memory.capacity_bits is None:
            raise error("'banks' needs a 'size' that they divide", "banks")
        if memory.capacity_bits % memory.banks:
            raise error(
                f"{memory.banks} banks do not divide {size_text(memory.capacity_bits)} evenly",
                "banks",
            )
    if memory.block_bytes is not None and memory.block_bytes * 8 % memory.word_bits:
        raise error(
            f"a block of {memory.block_bytes} B is not a whole number of words of "
            f"{memory.word_bits} bits",
            "block",
        )


def retention_fault(memory: Memory, machine: Architecture) -> str | None:
    """Return why the retention of a memory is not defined, or None when it is."""
    if memory.retention == "tile":
        return None
    position = machine.position[memory.name]
    above = machine.levels[position - 1]
    if position == 0:
        reason = "the outermost memory holds every word anyway"
    elif isinstance(above, Array) and above.forwarding:
        reason = (
            f"array '{above.name}' above it has 'forwarding: true', which passes on the words of "
            "tiles alone"
        )
    elif memory.buffering == 2:
        reason = "it goes with 'buffering: single'"
    else:
        return None
    return f"memory '{memory.name}' cannot retain optimally: {reason}"


def _check_kept(memory: Memory, error: Callable[[str, str], InputError]) -> None:
    if memory.tensor_bits is not None:
        for key, roles in (("keep", memory.keep or frozenset()), ("must_keep", memory.must_keep)):
            for role in sorted(roles - memory.tensor_bits.keys()):
                raise error(
                    f"'{role}' has no part of its size ({', '.join(sorted(memory.tensor_bits))}), "
                    "so it cannot be kept",
                    key,
                )
    if memory.keep is not None:
        for role in sorted(memory.must_keep - memory.keep):
            raise error(
                f"must keep '{role}' but may keep only {', '.join(sorted(memory.keep))}",
                "must_keep",
            )
