"""A mapping resolved against its layer and machine."""

from strategies import layer_of
from test_mapping_files import LAYER, MACHINE, MAPPING
from tilewright.mapping import Loop, resolve
from tilewright.mapping.structure import sliding_run

STRUCTURE = resolve(MAPPING, LAYER, MACHINE)


def test_loops_know_their_extents_and_what_is_left_to_the_compute_unit():
    assert STRUCTURE.named == 4
    assert STRUCTURE.loops == (
        Loop("K", 61, 13),
        Loop("P", 14, 4),
        Loop("K", 13, 4, "PE"),
        Loop("C", 8, 1),
        Loop("K", 4, 1),
        Loop("C", 1, 1),
        Loop("P", 4, 1),
        Loop("R", 3, 1),
    )
    assert [loop.chunks for loop in STRUCTURE.loops] == [5, 4, 4, 8, 4, 1, 4, 3]


def test_links_lead_from_the_outermost_memory_to_the_compute_unit():
    ways = {
        tensor: [(link.parent, link.parent_depth, link.child, link.depth) for link in links]
        for tensor, links in STRUCTURE.links.items()
    }
    assert ways == {
        "I": [("DRAM", 0, "GLB", 2), ("GLB", 2, "RF", 4), ("RF", 4, "MAC", 8)],
        "W": [("DRAM", 0, "GLB", 1), ("GLB", 1, "RF", 4), ("RF", 4, "MAC", 8)],
        "O": [("DRAM", 0, "GLB", 2), ("GLB", 2, "MAC", 8)],
    }
    crossed = {
        (tensor, link.child): [array.name for array in link.arrays]
        for tensor, links in STRUCTURE.links.items()
        for link in links
    }
    assert [link for link, arrays in crossed.items() if arrays] == [
        ("I", "RF"),
        ("W", "RF"),
        ("O", "MAC"),
    ]


def test_the_largest_tile_is_the_footprint_below_the_loops_above():
    weights, inputs = LAYER.tensors[1], LAYER.tensors[0]
    assert STRUCTURE.tile_words("GLB", weights) == 13 * 8 * 3
    assert STRUCTURE.tile_words("GLB", inputs) == 8 * 6
    assert STRUCTURE.tile_words("RF", LAYER.output) == 0


def test_the_sliding_run_ends_at_another_relevant_dimension():
    inputs = layer_of("conv1d", {"K": 8, "C": 8, "P": 64, "R": 9}).tensors[0]
    outer, between, inner = Loop("P", 64, 16), Loop("K", 8, 1), Loop("P", 16, 4)
    # K is irrelevant to the inputs; R is not, but has a single chunk
    assert sliding_run([outer, between, Loop("R", 9, 9), inner], inputs) == {0, 3}
    assert sliding_run([outer, Loop("R", 9, 3), inner], inputs) == {2}
    assert sliding_run([outer, inner, Loop("R", 9, 3), between], inputs) == {2}
    assert sliding_run([outer, Loop("C", 8, 2, "PE"), inner], inputs) == {0, 2}
    assert sliding_run([between], inputs) == frozenset()
