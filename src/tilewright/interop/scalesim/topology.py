"""Topologies of SCALE-Sim as networks, and networks as topologies.

A row is a convolution (height and width of the input, padding included, and of the filter,
channels, filters, stride) or a product of matrices (M, N, K). Sizes of outputs are SCALE-Sim's
(`topology_utils.topo_calc_hyperparams` of its version 3.0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from tilewright.document import describe, read_text
from tilewright.errors import InputError
from tilewright.workload.layer import Layer, Network
from tilewright.workload.operators import conv2d, depthwise, grouped, matmul

CONVOLUTION = (
    "IFMAP Height", "IFMAP Width", "Filter Height", "Filter Width", "Channels", "Num Filter",
    "Strides",
)  # fmt: skip
PRODUCT = ("M", "N", "K")
HEADER = "Layer name, " + ", ".join(CONVOLUTION) + ",\n"
MOST_ROWS = 20_000
LARGEST = 2**40


@dataclass(frozen=True)
class Row:
    """A row of a topology.

    Attributes
    ----------
    source : str
        Name of the file.
    line : int
        Where it stands.
    name : str
        Of the layer.
    cells : tuple of str
        What follows the name, without empty cells at the end and without a comment.
    """

    source: str
    line: int
    name: str
    cells: tuple[str, ...]

    def error(self, message: str) -> InputError:
        """Return an error that points at the row."""
        return InputError(message, source=self.source, line=self.line, key=self.name or None)

    def sizes(self, columns: Sequence[str]) -> dict[str, int]:
        """Return the numbers of the first cells, by column."""
        found = {}
        for column, cell in zip(columns, self.cells, strict=False):
            if not (cell.isascii() and cell.isdigit()) or not 0 < int(cell[:20]) <= LARGEST:
                raise self.error(
                    f"{column} is a whole number from 1 to 2^40, found {describe(cell)}"
                )
            found[column] = int(cell)
        if len(found) < len(columns):
            raise self.error(
                f"expected {', '.join(columns)}, found {len(self.cells)} of these "
                f"{len(columns)} columns"
            )
        return found

    def density(self, cells: Sequence[str]) -> dict[str, float]:
        """Return the share of weights that are not zero: ``1:4`` keeps one of four."""
        if not cells:
            return {}
        kept, colon, of = cells[0].partition(":")
        numbers = [part.strip() for part in (kept, of)]
        good = bool(colon) and len(cells) == 1
        good = good and all(part.isascii() and part.isdigit() for part in numbers)
        if not good or not 0 < int(numbers[0][:9]) <= int(numbers[1][:9]):
            raise self.error(
                f"after the sizes there is at most a sparsity such as 2:4, found {', '.join(cells)}"
            )
        ratio = int(numbers[0]) / int(numbers[1])
        return {} if ratio == 1 else {"W": ratio}


def load_topology(path: str | Path) -> Network:
    """Return the network of a topology.

    Parameters
    ----------
    path : str or Path
        A ``.csv`` file with a header and a row per layer; rows with three sizes are products of
        matrices, the others convolutions. Layers whose name has ``DP`` are depthwise.

    Raises
    ------
    InputError
        With the line of the first row that is none.
    """
    rows = rows_of(read_text(path), str(path))
    if not rows:
        raise InputError("has no layers: a topology has a header and a row per layer",
                         source=str(path))  # fmt: skip
    seen: dict[str, int] = {}
    layers = []
    for row in rows:
        seen[row.name] = seen.get(row.name, 0) + 1
        number = f"_{seen[row.name]}" if seen[row.name] > 1 else ""
        layers.append(layer_of(row, row.name + number))
    return Network(Path(path).stem, tuple(layers), f"SCALE-Sim topology {path}")


def rows_of(text: str, source: str) -> list[Row]:
    """Return the rows after the header."""
    rows = []
    lines = [(i, line) for i, line in enumerate(text.splitlines(), start=1) if line.strip()]
    for i, line in lines[1:]:
        cells = [cell.strip() for cell in line.partition("#")[0].split(",")]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            continue
        row = Row(source, i, cells[0], tuple(cells[1:]))
        if not row.name:
            raise row.error("a row begins with the name of a layer")
        rows.append(row)
        if len(rows) > MOST_ROWS:
            raise row.error(f"has more than {MOST_ROWS:,} layers")
    return rows


def layer_of(row: Row, name: str) -> Layer:
    """Return the layer that a row describes."""
    if len(row.cells) == len(PRODUCT) or ":" in "".join(row.cells[3:4]):
        m, n, k = row.sizes(PRODUCT).values()
        return matmul(M=m, N=n, K=k, name=name, density=row.density(row.cells[3:]))
    height, width, r, s, channels, filters, *strides = row.sizes(CONVOLUTION).values()
    rest = row.cells[len(CONVOLUTION) :]
    if rest and rest[0].isdigit():  # some versions have a stride for each axis
        strides.append(row.sizes((*CONVOLUTION, "Stride Width"))["Stride Width"])
        rest = rest[1:]
    down, across = strides[0], strides[-1]
    if r > height or s > width:
        raise row.error(f"the filter, {r} x {s}, is larger than the input, {height} x {width}")
    p, q = -(-(height - r) // down) + 1, -(-(width - s) // across) + 1
    density = row.density(rest)
    stride = (down, across)
    if "DP" in row.name:
        if filters == 1:
            return depthwise(
                G=channels, P=p, Q=q, R=r, S=s, stride=stride, name=name, density=density
            )
        return grouped(
            G=channels, K=filters, C=1, P=p, Q=q, R=r, S=s, stride=stride, name=name,
            density=density,
        )  # fmt: skip
    return conv2d(
        K=filters, C=channels, P=p, Q=q, R=r, S=s, stride=stride, name=name, density=density
    )


def topology_text(network: Network, left_out: list[str]) -> str:
    """Return a network as a topology of convolutions; products become filters as wide as K.

    What SCALE-Sim has no row for is added to `left_out`. Layers that repeat have a row each.
    """
    rows = []
    for layer in network.layers:
        sizes = row_sizes(layer)
        if sizes is None:
            left_out.append(f"{layer.name}: {layer.einsum}")
            continue
        name = layer.name.replace(",", " ").replace("#", " ")
        if "DP" in name:
            name = name.replace("DP", "Dp")  # would be taken for a depthwise convolution
        for i in range(layer.repeat):
            number = f"_{i + 1}" if layer.repeat > 1 else ""
            rows.append(", ".join([name + number, *map(str, sizes)]) + ",\n")
    return HEADER + "".join(rows)


def row_sizes(layer: Layer) -> tuple[int, ...] | None:
    """Return what follows the name of a layer in a topology; None where there is no such row."""
    if len(layer.tensors) != 3 or layer.operation != "mac":
        return None
    return convolution_sizes(layer) or product_sizes(layer)


def convolution_sizes(layer: Layer) -> tuple[int, ...] | None:
    """Return the sizes of a convolution of one image, with or without a window."""
    image, weight, result = (tensor.expressions for tensor in layer.tensors)
    if len(image) != 4 or len(result) != 4 or len(weight) not in (2, 4):
        return None
    inside, window = image[2:], weight[2:]
    n, k, p, q = (terms[0].dimension for terms in result)
    c = image[1][0].dimension
    bounds = layer.bounds
    strides = [terms[0].coefficient for terms in inside]
    r, s = (terms[0].dimension for terms in window) if window else (None, None)
    height, width = (bounds[r], bounds[s]) if r and s else (1, 1)
    if bounds[n] != 1 or strides[0] != strides[1]:
        return None
    filters, channels, down, across = bounds[k], bounds[c], bounds[p], bounds[q]
    own = conv2d(K=filters, C=channels, P=down, Q=across, R=height, S=width, stride=strides[0])
    names = {"N": n, "K": k, "C": c, "P": p, "Q": q, "R": r, "S": s}
    letters = {mine: other for mine, other in names.items() if other is not None}
    for mine, other in zip(own.tensors, (image, weight, result), strict=True):
        expected = tuple(
            tuple((t.coefficient, letters[t.dimension]) for t in terms if t.dimension in letters)
            for terms in mine.expressions
        )
        found = tuple(tuple((t.coefficient, t.dimension) for t in terms) for terms in other)
        if found != tuple(terms for terms in expected if terms):
            return None
    stride = strides[0]
    return (
        (down - 1) * stride + height, (across - 1) * stride + width, height, width, channels,
        filters, stride,
    )  # fmt: skip


def product_sizes(layer: Layer) -> tuple[int, ...] | None:
    """Return the sizes of a product of matrices, as a filter as wide as what is summed."""
    axes = [terms for tensor in layer.tensors for terms in tensor.expressions]
    if any(len(terms) != 1 or terms[0].coefficient != 1 for terms in axes):
        return None
    image, weight, result = (set(tensor.dimensions) for tensor in layer.tensors)
    m, n, k = (result & image) - weight, (result & weight) - image, (image & weight) - result
    if not k or m | n | k != set(layer.dimensions):
        return None
    rows, columns, summed = (prod(layer.bounds[name] for name in part) for part in (m, n, k))
    return rows, summed, 1, summed, 1, columns, 1
