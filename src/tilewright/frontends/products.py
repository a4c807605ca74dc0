"""Products of matrices and tensors, and attention, which is two of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from string import ascii_uppercase

from tilewright.errors import InputError
from tilewright.frontends.builder import Builder
from tilewright.frontends.operators import broadcast_shape, elementwise, input_names
from tilewright.frontends.values import Value
from tilewright.workload.view import Shape


def matmul(
    builder: Builder, name: str, operator: str, a: Value, b: Value, transposed: bool = False
) -> Value:
    """Add a product of matrices, broadcast as in NumPy; `transposed`: b is N, K."""
    first, last = len(a.shape) == 1, len(b.shape) == 1
    a = a.reshape(1, *a.shape) if first else a
    b = (b.reshape(1, *b.shape) if transposed else b.reshape(*b.shape, 1)) if last else b
    rank = max(len(a.shape), len(b.shape))
    left = (1,) * (rank - len(a.shape)) + a.shape[:-2]
    right = (1,) * (rank - len(b.shape)) + b.shape[:-2]
    (m, k), columns = a.shape[-2:], b.shape[-2 if transposed else -1]
    if k != b.shape[-1 if transposed else -2]:
        raise InputError(f"{list(a.shape)} and {list(b.shape)} have no product")
    batch = broadcast_shape([left, right])
    if all(size == 1 for size in right):
        left, m = (), prod(left) * m
        right = ()
    groups = _batches(left, right)
    names = "".join(f"{n}," for n in groups)
    mine = {n: size for n, (size, p, _) in groups.items() if p}
    yours = {n: size for n, (size, _, q) in groups.items() if q}
    inner = "N,K" if transposed else "K,N"
    one, two = ("".join(f"{n}," for n in part) for part in (mine, yours))
    expression = f"O[{names}M,N] += I[{one}M,K] * W[{two}{inner}]"
    bounds = {n: size for n, (size, _, _) in groups.items()} | {"M": m, "N": columns, "K": k}
    if transposed and not groups:
        expression = "O[N,K] += I[N,C] * W[K,C]"
        bounds = {"N": m, "K": columns, "C": k}
    seen = {
        "I": a.reshape(*mine.values(), m, k),
        "W": b.reshape(*yours.values(), *b.shape[-2:]),
    }
    made = builder.layer(name, "matmul", expression, bounds, seen, operator)
    shape = (*batch, a.shape[-2], columns)
    shape = shape[:-2] + shape[-1:] if first else shape
    return made.reshape(*(shape[:-1] if last else shape))


def einsum(
    builder: Builder, name: str, operator: str, equation: str, values: Sequence[Value]
) -> Value:
    """Add what an equation says, such as ``bij,bjk->bik``."""
    equation = equation.replace(" ", "")
    given, arrow, result = equation.partition("->")
    terms = given.split(",")
    if len(terms) != len(values):
        raise InputError(f"'{equation}' has {len(terms)} inputs, given are {len(values)}")
    spare = [c for c in ascii_uppercase if c not in equation][:12]
    ranks = [len(v.shape) - len(t.replace("...", "")) for t, v in zip(terms, values, strict=True)]
    widest = max((r for t, r in zip(terms, ranks, strict=True) if "..." in t), default=0)
    more = "".join(spare[:widest])
    letters = [
        t.replace("...", more[widest - r :] if r > 0 else "")
        for t, r in zip(terms, ranks, strict=True)
    ]
    if not arrow:
        single = sorted(c for c in set("".join(letters)) - set(more) if given.count(c) == 1)
        out = more + "".join(single)
    else:
        out = result.replace("...", more)
    bounds: dict[str, int] = {}
    for text, value in zip(letters, values, strict=True):
        if len(text) != len(value.shape) or len(set(text)) != len(text) or not text.isalpha():
            raise InputError(f"'{equation}' does not fit an input of shape {list(value.shape)}")
        for letter, size in zip(text, value.shape, strict=True):
            if bounds.get(letter, 1) not in (1, size) and size != 1:
                raise InputError(f"'{letter}' of '{equation}' has two sizes")
            bounds[letter] = max(size, bounds.get(letter, 1))
    if not set(out) <= set(bounds) or len(set(out)) != len(out):
        raise InputError(f"the output of '{equation}' is not made of its inputs")
    seen, texts = {}, []
    for tensor, text, value in zip(input_names(len(values)), letters, values, strict=True):
        kept = [c for c, size in zip(text, value.shape, strict=True) if size == bounds[c]]
        seen[tensor] = value.reshape(*(bounds[c] for c in kept))
        texts.append(f"{tensor}[{','.join(kept)}]")
    expression = f"O[{','.join(out)}] += {' * '.join(texts)}"
    return builder.layer(name, "matmul", expression, bounds, seen, operator)


def attention(
    builder: Builder, name: str, operator: str, q: Value, k: Value, v: Value, band: int = 0
) -> Value:
    """Add attention: two products with a softmax between.

    Parameters
    ----------
    builder : Builder
        Where the layers are added.
    name, operator : str
        Of the nodes.
    q, k, v : Value
        Queries N, heads, M, K; keys and values N, heads or a divisor of them, L, K: each of
        theirs serves several queries.
    band : int
        Keys of each query, one further for each next query: L is M + band - 1. By default each
        query has all keys.
    """
    n, heads, m, width = q.shape
    _, own, length, _ = k.shape
    if heads % own or v.shape[:3] != k.shape[:3] or k.shape[3] != width or k.shape[0] != n:
        raise InputError(f"queries {list(q.shape)} do not go with keys {list(k.shape)}")
    group = {"G": n * own} if n * own > 1 else {}
    shared = {"H": heads // own} if heads > own else {}
    if not shared:
        group = {"B": n * heads}
    outer = "".join(f"{name}," for name in group | shared)
    inner = "".join(f"{name}," for name in group)
    sizes, keys = tuple((group | shared).values()), tuple(group.values())
    slide = "M+" if band else ""
    scores = builder.layer(
        f"{name}.scores",
        "matmul",
        f"O[{outer}M,N] += I[{outer}M,K] * W[{inner}K,{slide}N]",
        group | shared | {"M": m, "N": band or length, "K": width},
        {
            "I": q.reshape(*sizes, m, width),
            "W": k.transpose(0, 1, 3, 2).reshape(*keys, width, length),
        },
        operator,
    )
    weights = elementwise(builder, f"{name}.softmax", "softmax", [scores], "softmax")
    made = builder.layer(
        f"{name}.context",
        "matmul",
        f"O[{outer}M,N] += I[{outer}M,K] * W[{inner}{slide}K,N]",
        group | shared | {"M": m, "N": v.shape[3], "K": band or length},
        {"I": weights, "W": v.reshape(*keys, length, v.shape[3])},
        operator,
    )
    return made.reshape(n, heads, m, v.shape[3])


def _batches(left: Shape, right: Shape) -> dict[str, tuple[int, bool, bool]]:
    """Return the dimensions of a batch: size, and whether the first and the second have it."""
    runs: list[tuple[int, bool, bool]] = []
    for p, q in zip(left, right, strict=True):
        if p == q == 1:
            continue
        if runs and runs[-1][1:] == (p > 1, q > 1):
            runs[-1] = (runs[-1][0] * max(p, q), p > 1, q > 1)
        else:
            runs.append((max(p, q), p > 1, q > 1))
    names = ["B"] if len(runs) == 1 else [f"B{i}" for i in range(len(runs))]
    return dict(zip(names, runs, strict=True))
