"""Compiled kernels: the words of a tensor in classes that the loops cannot tell apart.

Two values of an index expression are alike when the same chunks touch them; a class of words is
one class of values for each index expression. A word is needed at a step when each of its values
is touched by the chunks of that expression's loops: so the words of a class are needed at the same
steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.types import Bools, Ints


class Classes(NamedTuple):
    """The classes that each combination of chunks touches, by index expression.

    The chunks of the loops of one expression are numbered with `loop_weight`: a place is
    ``axis_start[axis] + sum(chunk * loop_weight)``. What belongs to place p stands at
    ``[start[p] : start[p + 1]]``.
    """

    loop_axis: Ints  # index expression of each loop, -1 where it is irrelevant
    loop_alone: Bools  # whether the expression has no other dimension: chunks share no words
    loop_weight: Ints
    loop_outer: Ints  # the next loop outward on the same dimension, -1 where there is none
    loop_extent: Ints  # bound of the dimension, for outermost loops on it
    loop_tile: Ints
    loop_pin: Ints  # the only chunk of a loop that there is, -1 for a temporal loop
    axis_start: Ints
    start: Ints
    number: (
        Ints  # classes that are touched there; numbers of all expressions add up to a word class
    )
    words: Ints  # values in each of them
    total: int  # word classes


@part
def _value_classes(
    axis: int,
    bounds: Ints,
    axes: Ints,
    coefficients: Ints,
    loop_dim: Ints,
    loop_tile: Ints,
    loop_pin: Ints,
) -> tuple[Ints, Ints, Ints]:
    """Return the class of each value of an expression, and the values that each place touches."""
    mine = np.flatnonzero(axes == axis)
    loops = np.array([i for i in range(len(loop_dim)) if axes[loop_dim[i]] == axis], np.int64)
    largest = 1
    points = 1
    for d in mine:
        largest += coefficients[d] * (bounds[d] - 1)
        points *= bounds[d]
    places = 1
    chunks = np.ones(len(loops), np.int64)
    extent = bounds.copy()
    for i in range(len(loops)):
        d = loop_dim[loops[i]]
        tile = min(loop_tile[loops[i]], extent[d])
        if loop_pin[loops[i]] < 0:
            chunks[i] = (extent[d] + tile - 1) // tile
        extent[d] = min(tile, extent[d] - max(loop_pin[loops[i]], 0) * tile)
        places *= chunks[i]

    classes = np.zeros(largest, np.int64)
    seen = np.full(largest, -1, np.int64)
    renamed = np.full(largest + 1, -1, np.int64)
    start = np.zeros(places + 1, np.int64)
    touched = np.empty(points, np.int64)
    used = 0
    count = 1  # class 0 is that of the values which no place has touched yet
    low = np.zeros(len(bounds), np.int64)
    index = np.zeros(len(mine), np.int64)
    for place in range(places):
        rest = place
        for d in mine:
            low[d] = 0
            extent[d] = bounds[d]
        weight = places
        for i in range(len(loops)):
            d = loop_dim[loops[i]]
            weight //= chunks[i]
            offset = max(rest // weight, loop_pin[loops[i]]) * loop_tile[loops[i]]
            rest %= weight
            low[d] += offset
            extent[d] = min(loop_tile[loops[i]], extent[d] - offset)
        works = True
        for d in mine:
            works = works and extent[d] > 0
        first = used
        if works:
            index[:] = 0
            while True:
                value = 0
                for k in range(len(mine)):
                    value += coefficients[mine[k]] * (low[mine[k]] + index[k])
                if seen[value] != place:
                    seen[value] = place
                    touched[used] = value
                    used += 1
                k = len(mine) - 1
                while k >= 0 and index[k] + 1 == extent[mine[k]]:
                    index[k] = 0
                    k -= 1
                if k < 0:
                    break
                index[k] += 1
        # values that are touched here part from those of their class that are not
        begin = count
        for k in range(first, used):
            old = classes[touched[k]]
            if renamed[old] < begin:
                renamed[old] = count
                count += 1
                if count >= len(renamed):
                    more = np.full(2 * count, -1, np.int64)
                    copy(renamed, more)
                    renamed = more
            classes[touched[k]] = renamed[old]
        start[place + 1] = used
    return classes, start, touched[:used]


@kernel
def classify(
    bounds: Ints, axes: Ints, coefficients: Ints, loop_dim: Ints, loop_tile: Ints, loop_pin: Ints
) -> Classes:
    """Return the classes of an access: its arrays are those of `Access.arrays`."""
    loops = len(loop_dim)
    loop_axis = np.empty(loops, np.int64)
    loop_alone = np.zeros(loops, np.bool_)
    loop_outer = np.full(loops, -1, np.int64)
    loop_extent = np.zeros(loops, np.int64)
    loop_weight = np.ones(loops, np.int64)
    extent = bounds.copy()
    chunks = np.empty(loops, np.int64)
    tiles = np.empty(loops, np.int64)
    for i in range(loops):
        d = loop_dim[i]
        loop_axis[i] = axes[d]
        loop_alone[i] = axes[d] >= 0 and np.sum((axes == axes[d]) & (bounds > 1)) == 1
        loop_extent[i] = bounds[d]
        for j in range(i):
            if loop_dim[j] == d:
                loop_outer[i] = j
        tiles[i] = min(loop_tile[i], extent[d])
        chunks[i] = 1 if loop_pin[i] >= 0 else (extent[d] + tiles[i] - 1) // tiles[i]
        extent[d] = min(tiles[i], extent[d] - max(loop_pin[i], 0) * tiles[i])
    for i in range(loops):
        for j in range(i + 1, loops):
            if loop_axis[j] == loop_axis[i]:
                loop_weight[i] *= chunks[j]

    count = 0
    for d in range(len(axes)):
        count = max(count, axes[d] + 1)
    axis_start = np.zeros(count + 1, np.int64)
    starts = np.zeros(1, np.int64)
    numbers = np.zeros(0, np.int64)
    words = np.zeros(0, np.int64)
    total = 1
    for axis in range(count):
        classes, start, touched = _value_classes(
            axis, bounds, axes, coefficients, loop_dim, loop_tile, loop_pin
        )
        # number the classes that are left, and count their values
        dense = np.full(max(classes.max() + 1, 1), -1, np.int64)
        size = np.zeros(len(dense), np.int64)
        found = 0
        for value in touched:
            if dense[classes[value]] < 0:
                dense[classes[value]] = found
                found += 1
        counted = np.zeros(len(classes), np.bool_)
        for value in touched:
            if not counted[value]:
                counted[value] = True
                size[classes[value]] += 1
        own = np.zeros(len(start), np.int64)
        number = np.empty(len(touched), np.int64)
        many = np.empty(len(touched), np.int64)
        last = np.full(len(dense), -1, np.int64)
        used = 0
        for place in range(len(start) - 1):
            for k in range(start[place], start[place + 1]):
                c = classes[touched[k]]
                if last[c] != place:
                    last[c] = place
                    number[used] = dense[c] * total
                    many[used] = size[c]
                    used += 1
            own[place + 1] = used
        axis_start[axis + 1] = axis_start[axis] + len(start) - 1
        starts = np.concatenate((starts, own[1:] + starts[-1]))
        numbers = np.concatenate((numbers, number[:used]))
        words = np.concatenate((words, many[:used]))
        total *= found
    return Classes(
        loop_axis=loop_axis,
        loop_alone=loop_alone,
        loop_weight=loop_weight,
        loop_outer=loop_outer,
        loop_extent=loop_extent,
        loop_tile=tiles,
        loop_pin=loop_pin,
        axis_start=axis_start,
        start=starts,
        number=numbers,
        words=words,
        total=total,
    )
