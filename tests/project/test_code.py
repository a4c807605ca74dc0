"""Rules about the form of the code that no linter has."""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "src" / "tilewright"
MOST_POSITIONAL = 6  # fields of a record that are given without their names
MOST_LINES, MOST_OF_KERNEL = 80, 120  # of a function, without its docstring
MOST_PARAMETERS = 10  # of a compiled function: what belongs together goes there as a record
COMPILED = {"kernel", "leaf", "leaf_kernel", "called_leaf", "part", "inlined"}
LONGER = {
    # a call of a part costs what the part is worth, or takes a table of its own to pass on
    "mapper/bounds/tables/above_array_table.py: fill_steps": "one state, case by case",
    "mapper/relaxations/nests/outer/least.py: least_outer": "nested loops over one tile",
    "mapper/relaxations/nests/together.py: least_together": "nested loops over pairs of tiles",
    "mapper/pipelined/even_cost.py: even_cost": "one pass over a mapping, link by link",
}
MORE_PARAMETERS = {
    # plain arrays that one call from Python hands over once: a record would be made for that alone
    "exploration/fixed.py: sweep": "the tables of one layer",
    "exploration/bounds/least_costs.py: least_costs": "the tables of one layer",
    "mapper/pipelined/even_search.py: survey": "a search, and what it fills",
    "mapper/pipelined/even_search.py: whole_mappings": "a search, and what it fills",
    "mapper/windows/slides.py: option_reuse": "one option, and arrays for use in between",
    "offchip/arrays/extents.py: fill": "the tables of one layer",
    # numbers of one access and of one loop: they are locals of the callers
    "model/closed_form/forwarding.py: _hold": "positions of two neighbours",
    "model/closed_form/forwarding.py: _meet": "positions of two neighbours",
    "model/closed_form/queries/locate.py: _keep": "one node of a program",
    "model/closed_form/windows.py: _differs": "two windows and their positions",
}
FILLED = {
    # slices filled with one number; with an array it would be a copy, see kernels/copies.py
    "model/closed_form/queries/locate.py: locate: node[:size]",
    "offchip/arrays/registers.py: misses: stamp[:]",
}
MOST_MODULES = 12  # of a package
CROWDED = {"mapper/fused", "mapping/fused"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Parsed(NamedTuple):
    """What the rules look at in a file."""

    classes: list[ast.ClassDef]
    functions: list[Function]
    calls: list[ast.Call]
    imports: list[ast.ImportFrom]


@cache
def files() -> dict[Path, Parsed]:
    """The source files, parsed."""
    found = {}
    for file in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        parsed = Parsed([each for each in tree.body if isinstance(each, ast.ClassDef)], [], [], [])
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                parsed.calls.append(node)
            elif isinstance(node, Function):
                parsed.functions.append(node)
            elif isinstance(node, ast.ImportFrom):
                parsed.imports.append(node)
        found[file] = parsed
    return found


def module(file: Path) -> str:
    """The name under which a file is imported."""
    return ".".join(("tilewright", *file.relative_to(SOURCE).with_suffix("").parts))


def is_record(node: ast.ClassDef) -> bool:
    """Whether a class is a named tuple or a dataclass."""
    decorators = [ast.unparse(each) for each in node.decorator_list]
    bases = [ast.unparse(each) for each in node.bases]
    return "NamedTuple" in bases or any(each.startswith("dataclass") for each in decorators)


@cache
def records() -> frozenset[tuple[str, str]]:
    """Every record, by its module and name."""
    return frozenset(
        (module(file), node.name)
        for file, parsed in files().items()
        for node in parsed.classes
        if is_record(node)
    )


def built_by_position(file: Path, parsed: Parsed) -> list[ast.Call]:
    """The calls in a file that give a record more fields by position than are told apart."""
    names = {node.name: (module(file), node.name) for node in parsed.classes}
    for node in parsed.imports:
        for alias in node.names:
            names[alias.asname or alias.name] = node.module or "", alias.name
    return [
        node
        for node in parsed.calls
        if len(node.args) > MOST_POSITIONAL
        and isinstance(node.func, ast.Name)
        and names.get(node.func.id) in records()
    ]


def test_records_of_many_fields_are_built_by_keyword() -> None:
    found = [
        f"{file.relative_to(SOURCE)}:{call.lineno}: {ast.unparse(call.func)}"
        for file, parsed in files().items()
        for call in built_by_position(file, parsed)
    ]
    assert not found, "\n".join(found)


def lines(node: Function) -> int:
    """The lines of a function without its docstring."""
    first = node.body[0]
    said = ast.get_docstring(node) is not None
    written = (first.end_lineno or 0) - first.lineno + 1 if said else 0
    return (node.end_lineno or 0) - node.lineno + 1 - written


def is_compiled(node: Function) -> bool:
    """Whether a function is a kernel or a part of one."""
    return any(each.split("(")[0] in COMPILED for each in map(ast.unparse, node.decorator_list))


def test_functions_are_short() -> None:
    long = {
        f"{file.relative_to(SOURCE)}: {node.name}"
        for file, parsed in files().items()
        for node in parsed.functions
        if lines(node) > (MOST_OF_KERNEL if is_compiled(node) else MOST_LINES)
    }
    assert long == set(LONGER)


def test_compiled_functions_take_few_parameters() -> None:
    many = {
        f"{file.relative_to(SOURCE)}: {node.name}"
        for file, parsed in files().items()
        for node in parsed.functions
        if is_compiled(node) and len(node.args.args) > MOST_PARAMETERS
    }
    assert many == set(MORE_PARAMETERS)


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number for sure: one that is written down, or a constant."""
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return (
        isinstance(node, ast.Constant)
        or ast.unparse(node) in ("inf", "np.inf")
        or (isinstance(node, ast.Name) and node.id.isupper())
    )


def test_compiled_functions_copy_no_array_into_a_slice() -> None:
    found = {
        f"{file.relative_to(SOURCE)}: {node.name}: {ast.unparse(target)}"
        for file, parsed in files().items()
        for node in parsed.functions
        if is_compiled(node)
        for each in ast.walk(node)
        if isinstance(each, ast.Assign) and not is_number(each.value)
        for target in each.targets
        if isinstance(target, ast.Subscript)
        and any(isinstance(part, ast.Slice) for part in ast.walk(target.slice))
    }
    assert found == FILLED


def test_packages_have_few_modules() -> None:
    modules = Counter(
        file.parent.relative_to(SOURCE).as_posix() for file in files() if file.name != "__init__.py"
    )
    assert not {package for package, n in modules.items() if n > MOST_MODULES} - CROWDED


def test_a_class_of_the_mapper_has_a_name_of_its_own() -> None:
    names = Counter(
        node.name
        for file, parsed in files().items()
        if file.is_relative_to(SOURCE / "mapper")
        for node in parsed.classes
    )
    assert {name for name, count in names.items() if count > 1} == set()
