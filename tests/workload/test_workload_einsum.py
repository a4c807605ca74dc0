"""Einsum notation: what is written is what is read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.architecture.files import load_architecture
from tilewright.errors import InputError
from tilewright.mapping.nodes import Mapping, Store
from tilewright.model.evaluate import evaluate
from tilewright.workload import Layer, Tensor, Term, einsum
from tilewright.workload.einsum import build_layer
from tilewright.workload.notation import read_expression

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,3}", fullmatch=True)
CONV = "O[N,K,P,Q] += I[N,C,2*P+R,2*Q+S] * W[K,C,R,S]"


@st.composite
def tensors(draw: st.DrawFn, name: str, role: str, dimensions: list[str]) -> Tensor:
    chosen = draw(st.lists(st.sampled_from(dimensions), unique=True, max_size=5))
    expressions: list[tuple[Term, ...]] = []
    while chosen:
        count = draw(st.integers(1, min(3, len(chosen))))
        factors = draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
        expressions.append(tuple(map(Term, factors, chosen[:count])))
        chosen = chosen[count:]
    bits = draw(st.none() | st.integers(1, 64))
    return Tensor(name, tuple(expressions), role, bits, draw(st.sampled_from([1.0, 0.5])))


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    """A layer of one to four inputs with roles as the documentation gives them."""
    dimensions = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    others = NAMES.filter(lambda name: name not in ("I", "W", "O"))
    names = draw(st.lists(others, min_size=2, max_size=5, unique=True))
    roles = ["O", "I", "W", *names[3:]][: len(names)]
    output, *inputs = [draw(tensors(*pair, dimensions)) for pair in zip(names, roles, strict=True)]
    used = [d for tensor in (output, *inputs) for d in tensor.dimensions]
    bounds = {d: draw(st.integers(1, 50)) for d in dict.fromkeys(used)}
    operation = draw(st.sampled_from(["mac", "add", "max"]))
    repeat = draw(st.integers(1, 9))
    return Layer(draw(NAMES), bounds, (*inputs, output), operation, repeat)


def read_back(layer: Layer, expression: str) -> Layer:
    return build_layer(
        expression,
        layer.bounds,
        name=layer.name,
        bits={t.name: t.bits for t in layer.tensors if t.bits is not None},
        density={t.name: t.density for t in layer.tensors},
        repeat=layer.repeat,
        operation=layer.operation,
    )


@given(layers())
def test_einsum_of_a_layer_reads_back_to_an_equal_layer(layer: Layer) -> None:
    again = read_back(layer, layer.einsum)
    assert again == layer
    assert hash(again) == hash(layer)


@given(layers(), st.data())
def test_spaces_and_the_side_of_a_coefficient_are_free(layer: Layer, data: st.DataObject) -> None:
    space = st.sampled_from(["", " ", "\t", "\n  "])

    def term(t: Term) -> str:
        options = [f"{t.coefficient}*{t.dimension}", f"{t.dimension}*{t.coefficient}"]
        return data.draw(st.sampled_from(options))

    def access(t: Tensor) -> str:
        indices = ",".join("+".join(map(term, terms)) for terms in t.expressions)
        return f"{t.name}[{indices}]"

    text = f"{access(layer.output)} += {'*'.join(map(access, layer.inputs))}"
    spaced = text
    for mark in ("[", "]", ",", "*"):
        spaced = spaced.replace(mark, data.draw(space) + mark + data.draw(space))
    assert read_back(layer, spaced) == layer


@given(st.text("ONIW[]+=*,-23 _%", max_size=30))
def test_any_text_is_read_or_answered_with_an_input_error(text: str) -> None:
    try:
        accesses = read_expression(text)
    except InputError as error:
        assert error.key == "einsum"
    else:
        assert len(accesses) >= 2


def test_inputs_come_first_and_the_output_last() -> None:
    layer = einsum(CONV, N=1, K=2, C=3, P=4, Q=5, R=6, S=7)
    assert [t.name for t in layer.tensors] == ["I", "W", "O"]
    assert layer.tensors[0].expressions[2] == (Term(2, "P"), Term(1, "R"))
    assert layer.operations == 1 * 2 * 3 * 4 * 5 * 6 * 7
    assert layer.dimensions == ("N", "K", "C", "P", "Q", "R", "S")


@pytest.mark.parametrize(
    ("expression", "roles"),
    [
        ("Z[A] += X[A] * Y[A]", {"X": "I", "Y": "W", "Z": "O"}),
        ("Z[A] += X[A]", {"X": "I", "Z": "O"}),
        ("Z[A] += X[A] * Y[A] * V[A]", {"X": "I", "Y": "W", "V": "V", "Z": "O"}),
        ("O[A] += W[A] * I[A]", {"W": "W", "I": "I", "O": "O"}),
        ("O[A] += W[A] * X[A]", {"W": "W", "X": "I", "O": "O"}),
        ("I[A] += O[A] * X[A]", {"O": "I", "X": "W", "I": "O"}),
        ("O[A] += X[A] * Y[A] * W[A]", {"X": "I", "W": "W", "Y": "Y", "O": "O"}),
    ],
)
def test_own_names_are_roles_and_the_others_follow_the_order(
    expression: str, roles: dict[str, str]
) -> None:
    assert {t.name: t.role for t in einsum(expression, A=2).tensors} == roles


def test_scalars_and_dimensions_of_the_output_alone_are_accepted() -> None:
    assert einsum("O[] += I[N] * W[N]", N=4).output.expressions == ()
    assert einsum("O[N,M] += I[N]", N=4, M=3).operations == 12


def test_bits_and_density_belong_to_tensors() -> None:
    layer = einsum("O[N] += I[N] * W[N]", N=2, bits={"I": 8, "O": 16}, density={"W": 0.5})
    assert [t.bits for t in layer.tensors] == [8, None, 16]
    assert [t.density for t in layer.tensors] == [1.0, 0.5, 1.0]


def test_equal_layers_have_equal_hashes_whatever_the_order_of_their_bounds() -> None:
    left = einsum("O[M,N] += I[M,K] * W[K,N]", M=2, N=3, K=4)
    right = replace(left, bounds={"K": 4, "N": 3, "M": 2})
    assert left == right
    assert hash(left) == hash(right)


@pytest.mark.parametrize(
    ("expression", "says", "at"),
    [
        ("O[N] = I[N]", "write '+='", "="),
        ("O += I[N]", "expected '[' after tensor 'O' (a scalar is written 'O[]')", "+="),
        ("O[N] += I[N,N]", "dimension 'N' occurs twice in tensor 'I'", "N]"),
        ("O[N] += I[N+N]", "dimension 'N' occurs twice in tensor 'I'", "N]"),
        ("O[N] += I[N] * I[N]", "tensor 'I' occurs twice", "I[N]"),
        ("O[N] += I[N] * O[N]", "tensor 'O' occurs twice", "O[N]"),
        ("O[N] += I[2*N+1]", "constant '1' in tensor 'I'", "1]"),
        ("O[N] += I[0*N]", "a coefficient is a number from 1 to 2**40, found '0'", "0"),
        ("O[N] += I[N*0]", "a coefficient is a number from 1 to 2**40, found '0'", "0"),
        ("O[N] += I[N-M]", "coefficient cannot be negative", "-"),
        ("O[N] += I[-2*M]", "coefficient cannot be negative", "-"),
        ("O[N] += I[2N]", "expected '*' between '2' and 'N'", "N]"),
        ("O[N] += I[N%M]", "found '%'", "%"),
        ("O[N] += I[N] W[N]", "expected '*' and another input", "W"),
        ("O[N] += I[N", "'[' of tensor 'I' is never closed", "[N"),
        ("O[N] += I[N,]", "expected a dimension in tensor 'I', found ']'", "]"),
        ("O[N] +=", "expected the name of a tensor, found the end", ""),
        ("", "expected the name of a tensor, found the end", ""),
    ],
)
def test_errors_show_the_expression_and_mark_the_place(expression: str, says: str, at: str) -> None:
    with pytest.raises(InputError) as caught:
        einsum(expression, N=4, M=2)
    message, shown, mark = str(caught.value).split("\n")
    assert says in message
    assert shown == f"  {expression}"
    assert mark.index("^") - 2 == (expression.rindex(at) if at else len(expression))


@pytest.mark.parametrize(
    ("keys", "key", "says"),
    [
        ({"M": 2, "N": 3}, "bounds", "missing bound of dimension 'K'"),
        ({"M": 2, "N": 3, "K": 1, "kk": 2}, "kk", "did you mean 'K'?"),
        ({"M": 2, "N": 3, "k": 2}, "k", "unknown dimension 'k'; "),
        ({"M": 2, "N": 3, "K": 0}, "K", "found 0"),
        ({"M": 2, "N": 3, "K": -4}, "K", "found -4"),
        ({"M": 2, "N": 3, "K": 2.0}, "K", "found 2.0"),
        ({"M": 2, "N": 3, "K": True}, "K", "found True"),
        ({"M": 2, "N": 3, "K": 2**40 + 1}, "K", "from 1 to 2**40"),
        ({"M": 2**30, "N": 2**30, "K": 2**30}, "bounds", "about 2**90 operations; at most 2**61"),
        ({"M": 1, "N": 1, "K": 1, "bits": {"A": 8}}, "bits.A", "the einsum has I, W, O"),
        ({"M": 1, "N": 1, "K": 1, "bits": {"I": 0}}, "bits.I", "from 1 to 1024, found 0"),
        ({"M": 1, "N": 1, "K": 1, "bits": 8}, "bits", "one value per tensor"),
        ({"M": 1, "N": 1, "K": 1, "density": {"W": 0}}, "density.W", "above 0 and at most 1"),
        ({"M": 1, "N": 1, "K": 1, "repeat": 0}, "repeat", "found 0"),
        ({"M": 1, "N": 1, "K": 1, "name": ""}, "name", "expected a name"),
    ],
)
def test_what_surrounds_the_expression_is_checked(
    keys: dict[str, object], key: str, says: str
) -> None:
    with pytest.raises(InputError) as caught:
        einsum("O[M,N] += I[M,K] * W[K,N]", **keys)  # type: ignore[arg-type]
    assert caught.value.key == key
    assert says in str(caught.value)


def test_indices_too_large_to_count_are_rejected() -> None:
    with pytest.raises(InputError, match=r"index 1099511627776\*P\+R of tensor 'I' reaches"):
        einsum("O[P] += I[1099511627776*P+R]", P=2**40, R=2)
    with pytest.raises(InputError, match="at most 2\\*\\*28"):
        einsum("O[P] += I[1000000*P+1000*R+S]", P=1000, R=2, S=2)


def test_what_can_be_read_can_be_counted() -> None:
    # the most operations that a layer may have
    layer = einsum("O[M,N] += I[M,K] * W[K,N]", M=2**40, N=2**20, K=2)
    assert layer.operations == 2**61
    mapping = Mapping((Store("DRAM", ("I", "W", "O")),))
    assert evaluate(layer, load_architecture("simple"), mapping).counts.operations == 2**61
    with pytest.raises(InputError, match=r"about 2\*\*62 operations; at most 2\*\*61"):
        einsum("O[M,N] += I[M,K] * W[K,N]", M=2**40, N=2**20, K=4)
