"""Bits of factors say which spatial choices divide a shape, and never too little."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.mapper.bounds.crossing.across_array import may_divide
from tilewright.mapper.engine.cross import shape_inside
from tilewright.mapper.problem.lattice import lattice
from tilewright.mapper.problem.space import space
from tilewright.workload.layer import Layer

EACH_OWN_BIT = tw.conv2d(K=12, C=6, P=4, Q=4, R=3, S=3)
TOO_MANY_FACTORS = tw.einsum("O[A,B] += X[A,C] * Y[C,B]", A=720, B=720, C=720)


@pytest.mark.parametrize("layer", [EACH_OWN_BIT, TOO_MANY_FACTORS], ids=["own", "shared"])
def test_bits_leave_out_only_what_does_not_divide(layer: Layer) -> None:
    sp, _ = space(layer, lattice(layer), tw.load_architecture("eyeriss"))
    draw = np.random.default_rng(1)
    shapes = draw.integers(len(sp.repeats), size=4000)
    choices = draw.integers(len(sp.unroll), size=4000)
    pairs = list(zip(shapes.tolist(), choices.tolist(), strict=True))
    may = np.array([may_divide.py_func(sp, *pair) for pair in pairs])
    divides = np.array([shape_inside.py_func(sp, *pair) >= 0 for pair in pairs])
    assert may[divides].all()
    assert 100 < divides.sum() < may.size - 100
    if layer is EACH_OWN_BIT:
        assert (may == divides).all()
