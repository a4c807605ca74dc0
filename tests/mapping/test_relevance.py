"""Constraints name dimensions by the tensors that they are relevant to, whatever their letters."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.architecture import load_architecture, preset_names
from tilewright.architecture.constraints.dataflow import dataflow_names
from tilewright.architecture.constraints.files import dump_constraints, parse_constraints
from tilewright.architecture.constraints.relevance import EXAMPLES
from tilewright.architecture.files import dump_architecture, parse_architecture
from tilewright.document import parse
from tilewright.errors import InputError
from tilewright.mapping import under, violations
from tilewright.mapping.given import given_constraints
from tilewright.mapping.relevance import dimensions_of, in_letters

SIMPLE = load_architecture("simple")
CONV = tw.conv2d(name="conv", K=8, C=6, P=7, Q=5, R=3, S=2)
PRODUCT = tw.matmul(name="product", M=4, N=8, K=6)

# what W&O, I&W, its sliding and its other dimensions, I&O, its rows and columns, and all stand for
MEANINGS = [
    (CONV, ["K", "CRS", "RS", "C", "NPQ", "P", "Q", ""]),
    (tw.pointwise(K=8, C=6, P=7, Q=5), ["K", "C", "", "C", "NPQ", "P", "Q", ""]),
    (tw.conv1d(K=8, C=6, P=7, R=3), ["K", "CR", "R", "C", "NP", "P", "", ""]),
    (
        tw.conv3d(K=8, C=6, D=3, P=7, Q=5, T=2, R=3, S=2),
        ["K", "CTRS", "TRS", "C", "NDPQ", "P", "Q", ""],
    ),
    (tw.depthwise(G=8, P=7, Q=5, R=3, S=3), ["", "RS", "RS", "", "NPQ", "P", "Q", "G"]),
    (
        tw.grouped(G=2, K=8, C=6, P=7, Q=5, R=3, S=3),
        ["K", "CRS", "RS", "C", "NPQ", "P", "Q", "G"],
    ),
    (
        tw.transposed_conv2d(K=8, C=6, P=7, Q=5, R=3, S=2),
        ["KRS", "C", "", "C", "NPQ", "P", "Q", ""],
    ),
    (tw.fully_connected(N=4, K=8, C=6), ["K", "C", "", "C", "N", "N", "", ""]),
    (PRODUCT, ["N", "K", "", "K", "M", "M", "", ""]),
    (tw.matmul(B=3, M=4, N=8, K=6), ["N", "K", "", "K", "M", "M", "", "B"]),
    # the weights first
    (tw.einsum("O[M,N] += W[M,K] * I[K,N]", M=3, N=4, K=5), ["M", "K", "", "K", "N", "N", "", ""]),
    # without weights
    (tw.pooling(C=4, P=7, Q=5, R=2, S=2), ["", "RS", "RS", "", "NCPQ", "P", "Q", "NCPQ"]),
    # two inputs that are alike, and no weights
    (tw.add(C=4, P=7, Q=5), ["", "", "", "", "NCPQ", "P", "Q", "NCPQ"]),
    (tw.einsum("O[b] += A[b,k] * B[b,k]", b=2, k=3), ["", "k", "", "k", "b", "b", "", "b"]),
    # three inputs, two of them with the roles I and W
    (
        tw.einsum("O[i,j] += A[i,k,l] * B[k,j] * C[l,j]", i=2, j=3, k=4, l=5),
        ["j", "k", "", "k", "i", "i", "", ""],
    ),
]


@pytest.mark.parametrize(
    ("layer", "expected"), MEANINGS, ids=lambda case: getattr(case, "einsum", "")
)
def test_names_stand_for_the_dimensions_of_a_layer(layer: tw.Layer, expected: list[str]) -> None:
    found = {name: "".join(dimensions_of(name, layer)) for name in EXAMPLES}
    assert found == dict(zip(EXAMPLES, expected, strict=True))


def test_tensors_go_by_name_role_or_word_in_any_order() -> None:
    layer = tw.einsum("O[i,j] += A[i,k,l] * B[k,j] * C[l,j]", i=2, j=3, k=4, l=5)
    assert dimensions_of("A&C", layer) == ("l",)
    assert dimensions_of("B&C&O", layer) == ("j",)
    assert dimensions_of("B&O", layer) == ("j",)  # C is not looked at unless it is named
    assert dimensions_of("outputs & weights", CONV) == dimensions_of("W&O", CONV)
    assert dimensions_of("O&I  sliding rows", CONV) == ("P",)
    assert dimensions_of("A&C", CONV) == ()


def test_a_letter_stands_for_itself_even_when_it_is_called_all() -> None:
    layer = tw.einsum("O[all,j] += I[all,k] * W[k,j]", all=2, j=3, k=4)
    assert dimensions_of("all", layer) == ("all",)
    assert dimensions_of("K", PRODUCT) == ("K",)
    assert dimensions_of("C", PRODUCT) == ("C",)


def lettered(text: str, layer: tw.Layer) -> str:
    machine = under(SIMPLE, given_constraints(text, SIMPLE, [layer]))
    return "; ".join(map(str, in_letters(machine, layer).constraints))


@pytest.mark.parametrize(
    ("text", "conv", "product"),
    [
        ("PE.X.dims=W&O,I&W sliding", "PE.X.dims=K,R,S", "PE.X.dims=N"),
        ("PE.dims=all", "PE.dims=", "PE.dims="),
        ("PE.factor.I&W sliding=2..", "PE.factor.R=2..; PE.factor.S=2..", ""),
        ("PE.X.require=I&O", "PE.X.require=N,P,Q", "PE.X.require=M"),
        ("RF.W.tile.I&W=1", "RF.W.tile.C=1; RF.W.tile.R=1; RF.W.tile.S=1", "RF.W.tile.K=1"),
        ("RF.tile.I&W sliding=all", "RF.tile.R=all; RF.tile.S=all", ""),
        ("GLB.order=W&O,I&W", "GLB.order=K,C; GLB.order=K,R; GLB.order=K,S", "GLB.order=N,K"),
        ("GLB.order=I&W,W&O,C", "GLB.order=C,K; GLB.order=R,K; GLB.order=S,K", "GLB.order=K,N,C"),
        ("GLB.order=all,W&O", "", ""),
        ("GLB.innermost=I&W sliding", "GLB.innermost=R,S", "GLB.innermost=no dimension"),
    ],
)  # fmt: skip
def test_every_key_takes_them(text: str, conv: str, product: str) -> None:
    assert lettered(text, CONV) == conv
    assert lettered(text, PRODUCT) == product


def test_a_machine_of_letters_stays_the_same_object() -> None:
    assert in_letters(SIMPLE, CONV) is SIMPLE
    machine = under(SIMPLE, given_constraints("PE.X.dims=C,K; RF.tile.P=1", SIMPLE, [CONV]))
    assert in_letters(machine, CONV) is machine


@pytest.mark.parametrize(
    ("roles", "letters"),
    [
        ("PE.X.dims=I&W; PE.Y.dims=W&O", "PE.X.dims=C,R,S; PE.Y.dims=K"),
        ("RF.W.tile.W&O=1; RF.keep=W", "RF.W.tile.K=1; RF.keep=W"),
        (
            "GLB.order=W&O,I&O; GLB.innermost=I&O columns",
            "GLB.order=K,P; GLB.order=K,Q; GLB.innermost=Q",
        ),
        (
            "PE.dims=I&O rows,I&W sliding rows; PE.factor.I&W sliding rows=all",
            "PE.dims=P,R; PE.factor.R=all",
        ),
    ],
)  # fmt: skip
def test_the_optimum_is_that_of_the_letters(roles: str, letters: str) -> None:
    layer = tw.conv2d(name="conv", K=4, C=2, P=4, Q=4, R=3, S=2)
    found = [
        tw.map(layer, "simple", "edp", constraints=text, tiles="divisors", cache=False)["conv"]
        for text in (roles, letters)
    ]
    assert found[0].proof.optimal
    assert found[0].proof.value == found[1].proof.value
    given = [given_constraints(text, SIMPLE, [layer]) for text in (roles, letters)]
    for one in found:
        assert not any(violations(one.mapping, layer, SIMPLE, each) for each in given)


def test_a_mapping_that_breaks_them_is_refused_in_letters() -> None:
    best = tw.map(PRODUCT, "simple", "latency", tiles="divisors", cache=False)["product"]
    told = violations(best.mapping, PRODUCT, SIMPLE, given_constraints("PE.dims=W&O", SIMPLE, []))
    assert len(told) == 1
    assert told[0].startswith("PE unrolls only N, but this mapping unrolls ")
    nodes = [
        {"store": "DRAM"},
        {"store": "UB", "tensors": ["I"]},
        {"store": "FIFO", "tensors": ["W"]},
        {"store": "ACC", "tensors": ["O"]},
        {"spatial": "M", "tile": 1, "axis": "X"},
        {"store": "WREG", "tensors": ["W"]},
    ]
    with pytest.raises(InputError, match="may not unroll M by the constraints"):
        tw.evaluate(PRODUCT, "tpu-v1", nodes)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("PE.dims=I&W slidng", "'slidng' is none of the words after the tensors"),
        ("PE.dims=I&W slidng", "did you mean 'sliding'"),
        ("PE.dims=I&W rows sliding", "accepted: sliding, not sliding, rows, columns"),
        ("PE.dims=I&", "expected different tensors"),
        ("PE.dims=&", "expected different tensors"),
        ("PE.dims=W&W", "expected different tensors"),
        ("PE.dims=sliding I&W", "expected different tensors"),
        ("PE.dims=all rwos", "did you mean 'rows'"),
        ("PE.dims=I&Weights", "no layer and no operator has a tensor 'Weights'; accepted: I, W, O"),
        ("PE.dims=I&Weights", "did you mean 'weights'"),
        ("PE.dims=al", "did you mean 'all'"),
        ("PE.dims=IW", "did you mean 'I&W'"),
    ],
)
def test_what_is_misspelt_is_told(text: str, told: str) -> None:
    with pytest.raises(InputError) as failure:
        given_constraints(text, SIMPLE, [CONV])
    assert told in str(failure.value)


def test_a_malformed_name_in_a_file_is_told_with_its_line() -> None:
    text = dump_architecture(load_architecture("nvdla-1024")).replace("I&W not sliding", "I&W no")
    with pytest.raises(InputError) as failure:
        parse_architecture(parse(text, "mine.yaml"))
    assert failure.value.key == "constraints[0]"
    assert text.splitlines()[(failure.value.line or 0) - 1].strip().startswith("- {at: CMAC")


@pytest.mark.parametrize("name", dataflow_names())
def test_dataflows_keep_the_names_when_they_are_written(name: str) -> None:
    flow = tw.load_dataflow(name)
    text = dump_constraints(flow)
    assert "&" in text
    assert parse_constraints(parse(text)) == flow


def test_presets_and_dataflows_name_no_letters() -> None:
    machines = map(load_architecture, preset_names())
    flows = map(tw.load_dataflow, dataflow_names())
    accepted = {*EXAMPLES, "I&W sliding rows", "I&W sliding columns"}
    for constraints in (*(machine.constraints for machine in machines), *flows):
        assert {d for item in constraints for d in item.dimensions} <= accepted
