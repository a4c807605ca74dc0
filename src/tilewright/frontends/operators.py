"""What frameworks call operators, as layers: each adds one node and returns what it makes.

Dimensions are named as in `tilewright.workload.operators`: imported layers equal written ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.errors import InputError
from tilewright.frontends.builder import Builder
from tilewright.frontends.values import Value
from tilewright.workload.view import Shape

OUTPUT_AXES = {1: ("P",), 2: ("P", "Q"), 3: ("D", "P", "Q")}
FILTER_AXES = {1: ("R",), 2: ("R", "S"), 3: ("T", "R", "S")}


@dataclass(frozen=True)
class Window:
    """How the windows of one axis lie: all in words.

    Attributes
    ----------
    size : int
        Words of the filter.
    stride, dilation : int
        Distance of windows, and of words within one.
    before, after : int
        Padding of the input; of a transposed convolution what is cut off its output.
    beyond : int
        Of a transposed convolution: words added to the end of its output.
    """

    size: int
    stride: int = 1
    dilation: int = 1
    before: int = 0
    after: int = 0
    beyond: int = 0

    @property
    def reach(self) -> int:
        """Words from the first to the last of a window."""
        return self.dilation * (self.size - 1) + 1

    def places(self, size: int, ceil: bool = False) -> int:
        """Return how many windows there are on an axis of `size` words.

        With `ceil`, a last window that begins in the input or in the padding before it counts,
        even if it ends behind the padding after it.
        """
        room = size + self.before + self.after - self.reach
        places = (-(-room // self.stride) if ceil else room // self.stride) + 1
        if ceil and (places - 1) * self.stride >= size + self.before:
            places -= 1
        if places < 1:
            raise InputError(f"a window of {self.reach} does not fit {size} words")
        return places


def convolution(
    builder: Builder,
    name: str,
    operator: str,
    x: Value,
    w: Value,
    windows: Sequence[Window],
    groups: int = 1,
) -> Value:
    """Add a convolution of any rank; `x` is N, C, ...; `w` is K, C/groups, ..."""
    n, channels = x.shape[:2]
    outputs = w.shape[0]
    _check_groups(channels, w.shape[1] * groups, outputs, groups)
    places = tuple(win.places(size) for win, size in zip(windows, x.shape[2:], strict=True))
    seen, axes, filters, bounds = _windows(x, windows, places)
    spatial = ",".join(axes)
    place = ",".join(_names(OUTPUT_AXES, len(windows)))
    kernel = "".join(f",{name}" for name in filters)
    sizes = tuple(win.size for win, axis in zip(windows, axes, strict=True) if "+" in axis)
    rest = seen.shape[2:]
    if groups == 1:
        expression = f"O[N,K,{place}] += I[N,C,{spatial}] * W[K,C{kernel}]"
        bounds = {"N": n, "K": outputs, "C": channels} | bounds
        w = w.reshape(outputs, channels, *sizes)
    elif groups == channels == outputs:
        expression = f"O[N,G,{place}] += I[N,G,{spatial}] * W[G{kernel}]"
        bounds = {"N": n, "G": groups} | bounds
        w = w.reshape(outputs, *sizes)
    else:
        expression = f"O[N,G,K,{place}] += I[N,G,C,{spatial}] * W[G,K,C{kernel}]"
        bounds = {"N": n, "G": groups, "K": outputs // groups, "C": channels // groups} | bounds
        w = w.reshape(groups, outputs // groups, channels // groups, *sizes)
        seen = seen.reshape(n, groups, channels // groups, *rest)
    made = builder.layer(name, "conv", expression, bounds, {"I": seen, "W": w}, operator)
    return made.reshape(n, outputs, *places)


def transposed_convolution(
    builder: Builder,
    name: str,
    operator: str,
    x: Value,
    w: Value,
    windows: Sequence[Window],
    groups: int = 1,
) -> Value:
    """Add a transposed convolution; `x` is N, C, ...; `w` is C, K/groups, ..."""
    n, channels = x.shape[:2]
    outputs = w.shape[1] * groups
    _check_groups(channels, w.shape[0], outputs, groups)
    names = _names(OUTPUT_AXES, len(windows)), _names(FILTER_AXES, len(windows))
    place, kernel = ",".join(names[0]), ",".join(names[1])
    spread = ",".join(
        f"{win.stride}*{p}+{win.dilation}*{r}" for win, p, r in zip(windows, *names, strict=True)
    )
    bounds = dict(zip(names[0], x.shape[2:], strict=True))
    bounds |= {r: win.size for win, r in zip(windows, names[1], strict=True)}
    if groups == 1:
        expression = f"O[N,K,{spread}] += I[N,C,{place}] * W[C,K,{kernel}]"
        bounds = {"N": n, "K": outputs, "C": channels} | bounds
    elif groups == channels == outputs:
        expression = f"O[N,G,{spread}] += I[N,G,{place}] * W[G,{kernel}]"
        bounds = {"N": n, "G": groups} | bounds
        w = w.reshape(groups, *w.shape[2:])
    else:
        expression = f"O[N,G,K,{spread}] += I[N,G,C,{place}] * W[G,C,K,{kernel}]"
        bounds = {"N": n, "G": groups, "K": outputs // groups, "C": channels // groups} | bounds
        w = w.reshape(groups, channels // groups, outputs // groups, *w.shape[2:])
        x = x.reshape(n, groups, channels // groups, *x.shape[2:])
    made = builder.layer(name, "conv", expression, bounds, {"I": x, "W": w}, operator)
    lead = len(made.shape) - len(windows)
    for i, win in enumerate(windows):
        size = made.shape[lead + i] - win.before - win.after + win.beyond
        if size < 1:
            raise InputError("nothing is left of the output: the padding is larger than it")
        made = made.window(lead + i, -win.before, size)
    return made.reshape(n, outputs, *made.shape[lead:])


def pooling(
    builder: Builder,
    name: str,
    operator: str,
    x: Value,
    windows: Sequence[Window],
    operation: str = "max",
    ceil: bool = False,
) -> Value:
    """Add a pooling of any rank over N, C, ..."""
    places = tuple(win.places(size, ceil) for win, size in zip(windows, x.shape[2:], strict=True))
    seen, axes, _, bounds = _windows(x, windows, places, keep=True)
    place = ",".join(_names(OUTPUT_AXES, len(windows)))
    return builder.layer(
        name,
        "pool",
        f"O[N,C,{place}] += I[N,C,{','.join(axes)}]",
        {"N": x.shape[0], "C": x.shape[1]} | bounds,
        {"I": seen},
        operator,
        operation,
    )


def elementwise(
    builder: Builder,
    name: str,
    operator: str,
    values: Sequence[Value],
    kind: str = "elementwise",
    operation: str = "",
) -> Value:
    """Add one operation per element of tensors that are broadcast as in NumPy."""
    shape = broadcast_shape([value.shape for value in values])
    # the same tensor twice, and single numbers, are read once or not at all
    distinct = list(dict.fromkeys(v for v in values if v.words > 1)) or list(values[:1])
    dims = _element_names(len(shape)) or ["N"]
    bounds = dict(zip(dims, shape or (1,), strict=True))
    seen, texts = {}, []
    for tensor, value in zip(input_names(len(distinct)), distinct, strict=True):
        mine = zip(dims[len(shape) - len(value.shape) :], value.shape or (1,), strict=True)
        # an axis of one word that is broadcast is no dimension of the tensor
        own = [d for d, size in mine if size == bounds[d]] or dims[-1:] * (value.words == 1)
        seen[tensor] = value.reshape(*(bounds[d] for d in own))
        texts.append(f"{tensor}[{','.join(own)}]")
    expression = f"O[{','.join(dims)}] += {' * '.join(texts)}"
    made = builder.layer(name, kind, expression, bounds, seen, operator, operation or operator)
    return made.reshape(*shape)


def reduction(
    builder: Builder,
    name: str,
    operator: str,
    x: Value,
    axes: Sequence[int],
    keep: bool,
    kind: str = "reduce",
) -> Value:
    """Add a reduction over some axes."""
    rank = len(x.shape)
    over = {axis % rank for axis in axes}
    names = _element_names(rank)
    kept = [names[i] for i in range(rank) if i not in over]
    made = builder.layer(
        name,
        kind,
        f"O[{','.join(kept)}] += I[{','.join(names)}]",
        dict(zip(names, x.shape, strict=True)),
        {"I": x},
        operator,
        operator,
    )
    shape = [1 if i in over else size for i, size in enumerate(x.shape) if keep or i not in over]
    return made.reshape(*shape)


def normalization(
    builder: Builder, name: str, operator: str, x: Value, scale: Value | None, axis: int
) -> Value:
    """Add a normalisation; `scale` belongs to the axes from `axis` on as far as it has any."""
    values = [x]
    if scale is not None and scale.words > 1:
        axis %= len(x.shape)
        rest = len(x.shape) - axis - len(scale.shape)
        values.append(scale.reshape(*scale.shape, *(1,) * rest))
    return elementwise(builder, name, operator, values, "normalization")


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """Return the shape of tensors that are broadcast together."""
    rank = max(map(len, shapes))
    result = []
    for sizes in zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            raise InputError(f"{' and '.join(str(list(s)) for s in shapes)} do not broadcast")
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def _windows(
    x: Value, windows: Sequence[Window], places: Sequence[int], keep: bool = False
) -> tuple[Value, list[str], list[str], dict[str, int]]:
    """Return the input as the windows see it, its indices, the filter's dimensions, the bounds."""
    rank = len(windows)
    outputs, filters = _names(OUTPUT_AXES, rank), _names(FILTER_AXES, rank)
    pointwise = not keep and all(win.size == 1 for win in windows)
    axes, bounds = [], dict(zip(outputs, places, strict=True))
    for i, win in enumerate(windows):
        wanted = win.stride * (places[i] - 1) + win.reach
        x = x.window(2 + i, win.before, wanted)
        axes.append(f"{win.stride}*{outputs[i]}")
        if not pointwise:
            axes[-1] += f"+{win.dilation}*{filters[i]}"
            bounds[filters[i]] = win.size
    return x, axes, [] if pointwise else list(filters), bounds


def _check_groups(channels: int, wanted: int, outputs: int, groups: int) -> None:
    if channels != wanted or outputs % groups or groups < 1:
        raise InputError(
            f"{channels} channels in {groups} groups do not go with a filter for {wanted}"
        )


def _names(names: dict[int, tuple[str, ...]], rank: int) -> tuple[str, ...]:
    letter = names[1][0]
    return names.get(rank) or tuple(f"{letter}{i}" for i in range(rank))


def _element_names(count: int) -> list[str]:
    names = {1: ["N"], 2: ["M", "N"], 3: ["B", "M", "N"], 4: ["N", "C", "P", "Q"]}
    return names.get(count) or [f"A{i}" for i in range(count)]


def input_names(count: int) -> list[str]:
    """Return names for the inputs of a layer, as machines know them."""
    return [*"IW", *(f"X{i}" for i in range(3, count + 1))][:count]
