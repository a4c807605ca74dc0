"""Constraints are read as they are written, in files and as text, and apply to any machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.architecture import (
    Constraint,
    Constraints,
    Limits,
    dump_constraints,
    load_architecture,
    parse_constraints,
    preset_names,
)
from tilewright.architecture.constraints.checks import check_constraints
from tilewright.architecture.constraints.constraint import ALL
from tilewright.architecture.constraints.dataflow import dataflow_names, load_dataflow
from tilewright.architecture.constraints.files import parse_text
from tilewright.architecture.constraints.relevance import EXAMPLES
from tilewright.architecture.roles import ARRAY_ROLES, MEMORY_ROLES, resolved
from tilewright.document import parse
from tilewright.errors import InputError
from tilewright.mapping.given import check_names, given_constraints
from tilewright.workload import OPERATORS

SIMPLE = load_architecture("simple")
NAMES = st.sampled_from(["K", "C", "P", "Q", "R", "S", "N", *EXAMPLES])
SETS = st.frozensets(NAMES, max_size=3)
ROLES = st.frozensets(st.sampled_from("IWO"), max_size=3)
SIZES = st.integers(1, 40) | st.just(ALL)
SHARES = st.none() | st.floats(0, 1)
RANGES = st.lists(
    st.tuples(NAMES, st.tuples(SIZES, SIZES).map(sorted).map(lambda ends: Limits(*ends))),
    max_size=3,
    unique_by=lambda pair: pair[0],
).map(tuple)
ARRAYS = st.builds(
    Constraint,
    at=st.sampled_from(["PE", *ARRAY_ROLES]),
    axis=st.sampled_from([None, "X", "first", "any"]),
    dims=st.none() | SETS,
    require=SETS,
    factor=RANGES,
    max_dims=st.none() | st.integers(0, 4),
    min_utilization=SHARES,
)
MEMORIES = st.builds(
    Constraint,
    at=st.sampled_from(["RF", *MEMORY_ROLES]),
    tensors=ROLES,
    tile=RANGES,
    keep=ROLES,
    bypass=ROLES,
    order=st.lists(NAMES, max_size=4, unique=True).map(tuple),
    innermost=SETS,
    even=st.booleans(),
    min_utilization=SHARES,
)


@given(st.lists(ARRAYS | MEMORIES, max_size=4).map(tuple), st.sampled_from(["", "mine"]))
def test_written_constraints_read_back_equal(items: tuple[Constraint, ...], name: str) -> None:
    constraints = Constraints(items, name, "a paper" * bool(name), ("other",) * bool(name))
    again = parse_constraints(parse(dump_constraints(constraints)))
    assert again == constraints
    assert hash(again) == hash(constraints)


@given(ARRAYS | MEMORIES)
def test_the_text_of_a_constraint_demands_the_same(constraint: Constraint) -> None:
    limits = [limits for _, limits in (*constraint.factor, *constraint.tile)]
    if Limits() in limits:
        return  # every size is allowed: there is nothing to write
    again = parse_text(str(constraint))
    assert set(again.statements()) == set(constraint.statements())


@given(ARRAYS | MEMORIES)
def test_every_demand_is_told_in_words(constraint: Constraint) -> None:
    for statement in constraint.statements():
        assert len([key for key in statement.keys if key != "tensors"]) == 1
        assert statement.at in statement.words()


@pytest.mark.parametrize(
    ("text", "constraint"),
    [
        ("PE.X.dims=C,K", Constraint("PE", "X", dims=frozenset("CK"))),
        ("PE.dims=", Constraint("PE", dims=frozenset())),
        ("PE.Y.require=R", Constraint("PE", "Y", require=frozenset("R"))),
        ("PE.factor.C=16", Constraint("PE", factor=(("C", Limits(16, 16)),))),
        ("PE.X.max_dims=1", Constraint("PE", "X", max_dims=1)),
        ("PE.min_utilization=0.75", Constraint("PE", min_utilization=0.75)),
        ("RF.tile.P=1..4", Constraint("RF", tile=(("P", Limits(1, 4)),))),
        ("RF.W.tile.P=2..", Constraint("RF", tensors=frozenset("W"), tile=(("P", Limits(2)),))),
        ("RF.tile.S=all", Constraint("RF", tile=(("S", Limits(ALL, ALL)),))),
        ("GLB.bypass=W", Constraint("GLB", bypass=frozenset("W"))),
        ("GLB.order=K, C", Constraint("GLB", order=("K", "C"))),
        ("GLB.innermost=P", Constraint("GLB", innermost=frozenset("P"))),
        ("even=true", Constraint("memories", even=True)),
    ],
)
def test_a_statement_says_what_the_page_shows(text: str, constraint: Constraint) -> None:
    assert parse_text(text).items == (constraint,)


def test_roles_stand_for_levels_and_axes() -> None:
    found = resolved(
        [
            Constraint("array", "second", max_dims=1),
            Constraint("local", keep=frozenset("W")),
            Constraint("memories", even=True),
            Constraint("outermost", order=("K",)),
        ],
        SIMPLE,
    )
    assert [(c.at, c.axis) for c in found] == [
        ("PE", "Y"), ("RF", None), ("GLB", None), ("RF", None), ("DRAM", None),
    ]  # fmt: skip


def test_a_role_that_a_machine_does_not_fill_demands_nothing() -> None:
    machine = load_architecture("diannao")
    assert resolved([Constraint("local", keep=frozenset("W"))], machine) == ()
    third = Constraint("array", "second", max_dims=1)
    assert resolved([third], machine) != ()


@pytest.mark.parametrize("flow", dataflow_names())
def test_every_dataflow_applies_to_every_machine_and_names_its_source(flow: str) -> None:
    constraints = load_dataflow(flow)
    assert constraints.source
    assert flow in (constraints.name, *constraints.also)
    layers = [OPERATORS["conv2d"](K=1, C=1, P=1, Q=1, R=1, S=1)]
    for preset in preset_names():
        machine = load_architecture(preset)
        check_constraints(constraints, machine)
        assert resolved(constraints, machine)
    for constraint in constraints:
        check_names(constraint, layers, lambda message, key: InputError(message))


WRONG = [
    ("{at: PE, axis: X, factor: {C: 0}}", "factor.C", "expected a whole number from 1, 'all'"),
    ("{at: PE, factor: {C: many}}", "factor.C", "found 'many'"),
    ("{at: PE, factor: {C: {min: 4, max: 2}}}", "factor.C", "max 2 is less than min 4"),
    ("{at: PE, factor: {C: {mni: 4}}}", "factor.C.mni", "did you mean 'min'?"),
    ("{at: PE, min_utilization: 1.5}", "min_utilization", "less than or equal to 1"),
    ("{at: PE, max_dims: -1}", "max_dims", "greater than or equal to 0"),
    ("{at: PE, tile: {P: 1}}", "at", "'PE' is not a memory; accepted: DRAM, GLB, RF"),
    ("{at: RF, dims: [K]}", "at", "'RF' is not an array"),
    ("{at: FR, keep: [W]}", "at", "did you mean 'RF'?"),
    ("{at: RF, axis: X, keep: [W]}", "axis", "is a memory, which has no axes"),
    ("{at: PE, dims: [K], keep: [W]}", "keep", "write an item for each"),
    ("{at: RF, tensors: [W]}", "", "'tensors' narrows 'tile', which is missing"),
    ("{at: RF, order: [K, C, K]}", "order", "dimension 'K' occurs twice"),
    ("{at: RF, keep: [W], bypass: [W]}", "bypass", "'W' cannot be kept and bypassed"),
    ("{at: DRAM, bypass: [W]}", "bypass", "outermost memory: it stores every tensor"),
    ("{at: DRAM, min_utilization: 0.5}", "min_utilization", "'DRAM' is unbounded"),
    ("{at: PE, dims: [KK]}", "", "no layer and no operator has a dimension 'KK'"),
    ("{at: RF, keep: [V]}", "", "no layer and no operator has a tensor 'V'"),
    ("{keep: [W]}", "", "missing key 'at'"),
    ("{at: RF, kep: [W]}", "kep", "did you mean 'keep'?"),
    ("PE", "", "expected keys"),
]


@pytest.mark.parametrize(("item", "key", "message"), WRONG)
def test_a_wrong_constraint_in_a_file_is_answered_with_its_place(
    tmp_path, item: str, key: str, message: str
) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(f"constraints:\n  - {{at: PE, max_dims: 2}}\n  - {item}\n")
    layer = OPERATORS["matmul"](M=2, N=2, K=2)
    with pytest.raises(InputError) as failure:
        given_constraints(path, SIMPLE, [layer])
    assert message in failure.value.message
    assert failure.value.line == 3
    assert failure.value.key == f"constraints[1]{'.' * bool(key)}{key}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("kc-q", "no dataflow 'kc-q'; accepted: the path of a file"),
        ("PE.dim=K", "did you mean 'dims'?"),
        ("PE.X.Y.dims=K", "expected LEVEL.KEY=VALUE"),
        ("RF.tile=1", "expected LEVEL.tile.DIMENSION=VALUE"),
        ("RF.keep.W=1", "expected LEVEL.keep=VALUE, without 'W'"),
        ("RF.even=yes", "expected true or false, found 'yes'"),
        ("RF.tile.P=..", "expected a whole number from 1"),
        ("RF.tile.P=one", "found 'one'"),
        ("gone.yaml", "cannot be read"),
        (3, "found 3"),
        ([Constraint("FR", even=True)], "did you mean 'RF'?"),
    ],
)
def test_what_cannot_be_constraints_is_refused(given: object, message: str) -> None:
    with pytest.raises(InputError) as failure:
        given_constraints(given, SIMPLE, [])
    assert message in str(failure.value)


def test_constraints_of_a_machine_may_name_dimensions_that_a_layer_lacks() -> None:
    layer = OPERATORS["matmul"](M=2, N=2, K=2)
    given = given_constraints(["row-stationary", "PE.max_dims=3"], SIMPLE, [layer])
    assert len(given) == 4
