"""What dMazeRunner treats as special cases follows from what tilewright counts anyway.

Its continuous reuse, its operands that are read and written, its reads that zero-initialisation
saves and its communication between elements (section 4.3.3 of the paper): methods without windows,
drawn at random, are counted by both.
"""

from __future__ import annotations

from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

from dmazerunner_methods import NO_WINDOWS, machine_of, methods_of, small_layers
from tilewright.interop.dmazerunner.counting import Passes
from tilewright.interop.dmazerunner.method import Method, mapping_of, method_of
from tilewright.model.evaluate import evaluate
from tilewright.model.results.result import Evaluation
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

MACHINE = machine_of(elements=4096)
few = settings(max_examples=60, deadline=None)


def drawn(layers: st.SearchStrategy[Layer]) -> st.SearchStrategy[tuple[Layer, Method]]:
    """Return layers with a method of each."""
    return layers.flatmap(lambda layer: st.tuples(st.just(layer), methods_of(layer)))


cases = drawn(small_layers(NO_WINDOWS, most=12))


def both(layer: Layer, method: Method) -> tuple[Passes, Evaluation]:
    """Return what either counts of a method."""
    mapping = mapping_of(method, layer, MACHINE)
    assert method_of(mapping, layer, MACHINE) == method
    return Passes(layer, MACHINE, method), evaluate(layer, MACHINE, mapping)


@few
@given(cases)
def test_continuous_reuse_is_a_tile_that_does_not_change(case: tuple[Layer, Method]) -> None:
    # Algorithm 1 for either memory, and tiles that stay in the registers from one SPM pass to the
    # next: here a tile that does not change does not move, whatever stands above it
    theirs, ours = both(*case)
    used, _ = theirs.elements
    for tensor in case[0].inputs:
        name, moves = tensor.name, theirs.moves(tensor)
        buffer = ours.memories["SPM"].tensors[name]
        assert buffer.reads == theirs.words["array"][name] * moves
        changes = theirs.passes[0] // theirs.reuse[0][name]
        assert buffer.writes == theirs.words["buffer"][name] * changes
        assert ours.memories["DRAM"].tensors[name].reads == buffer.writes
        # each element that receives a word is a hop
        assert ours.networks["PE"].hops[name] == theirs.words["registers"][name] * used * moves


@few
@given(cases)
def test_reads_that_zero_initialisation_saves_are_those_of_first_touch(
    case: tuple[Layer, Method],
) -> None:
    layer, method = case
    theirs, ours = both(layer, method)
    output = layer.output
    whole = prod(layer.bounds[d] for d in output.dimensions)
    tile = theirs.words["buffer"][output.name]
    dram = ours.memories["DRAM"].tensors[output.name]
    changes = theirs.passes[0] // theirs.reuse[0][output.name]
    assert dram.writes == tile * changes
    # the paper's rule for tiles that come back, by the loops relevant to the output
    assert dram.reads == tile * theirs.returns == dram.writes - whole
    # dMazeRunner applies it to DRAM alone: between buffer and registers it reads back all tiles
    # (both ways), or none where outputs stay from one SPM pass to the next
    buffer = ours.memories["SPM"].tensors[output.name]
    sent = theirs.words["array"][output.name] * theirs.moves(output)
    assert buffer.writes == sent + dram.reads
    assert buffer.reads == sent - whole + dram.writes


@few
@given(cases)
def test_communication_between_elements_is_what_they_drain(case: tuple[Layer, Method]) -> None:
    # dMazeRunner adds up partial sums over Q elements in Q - 1 moves from one to the next, and
    # moves the sum to the buffer: as many words as its elements drain here
    layer, method = case
    theirs, ours = both(layer, method)
    name, moves = layer.output.name, theirs.moves(layer.output)
    used, different = theirs.elements
    registers = theirs.words["registers"][name]
    whole = prod(layer.bounds[d] for d in layer.output.dimensions)
    up = (registers * different + theirs.reduction) * moves
    assert up == registers * used * moves
    down = registers * different * moves - whole
    assert ours.networks["PE"].hops[name] == up + down


@few
@given(cases)
def test_four_accesses_per_operation_are_all_but_first_updates(case: tuple[Layer, Method]) -> None:
    layer, method = case
    theirs, ours = both(layer, method)
    output, used = layer.output, theirs.elements
    moves, tile = theirs.moves(output), theirs.words["registers"][output.name]
    whole = prod(layer.bounds[d] for d in output.dimensions)
    drained, refetched = tile * used[0] * moves, tile * used[1] * moves - whole
    for tensor in layer.inputs:
        assert ours.memories["RF"].tensors[tensor.name].reads == layer.operations
    own = ours.memories["RF"].tensors[output.name]
    assert own.writes == layer.operations + refetched
    # the first update after an entry from zero reads nothing
    assert own.reads == layer.operations - (drained - refetched) + drained


@few
@given(drawn(small_layers(("conv1d", "conv2d", "depthwise", "pooling"), most=8)))
def test_windows_that_slide_move_less_than_dmazerunner_counts(case: tuple[Layer, Method]) -> None:
    theirs, ours = both(*case)
    for tensor in case[0].inputs:
        moves = theirs.moves(tensor)
        buffer = ours.memories["SPM"].tensors[tensor.name]
        assert buffer.reads <= theirs.words["array"][tensor.name] * moves
        changes = theirs.passes[0] // theirs.reuse[0][tensor.name]
        assert buffer.writes <= theirs.words["buffer"][tensor.name] * changes


def test_the_papers_example_of_continuous_reuse() -> None:
    # section 4.3.3: 36 RF passes in an SPM pass, outputs stay over all of them and over 16 passes
    layer = einsum("O[N,M,Y,X] += I[N,C,Y+F,X+G] * W[M,C,F,G]", N=2, M=32, C=64, Y=1, X=1, F=3, G=3)
    method = Method(
        (("N", 2), ("M", 32), ("C", 16)),
        (("C", 4), ("F", 3), ("G", 3)),
        dict.fromkeys(layer.dimensions, 1),
        dict.fromkeys(layer.dimensions, 1),
    )
    theirs, ours = both(layer, method)
    assert theirs.passes == (1024, 36)
    assert theirs.reuse[1]["O"] == 36
    assert theirs.reuse[0]["O"] == 16
    assert theirs.moves(layer.output) == 1024 // 16
    buffer = ours.memories["SPM"].tensors["O"]
    assert (buffer.writes, buffer.reads) == (64, 64)  # one word, 64 times to SPM and on to DRAM
