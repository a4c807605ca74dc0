"""The mapping that the bound of all memories together stands for."""

from __future__ import annotations

from itertools import islice

import pytest

import tilewright as tw
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.relaxations.joint.joint_bound import JointBound
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import box_costs, closed_form
from tilewright.mapping.validity import check_loops, check_placement, check_stores
from tilewright.model.evaluate import evaluate


@pytest.mark.long
def test_a_bound_leads_to_the_mapping_that_reaches_it() -> None:
    """No search among divisors or around them had found it: it was 4 % better."""
    network, machine = tw.load_network("bert_base"), tw.load_architecture("four-level")
    layer = next(own for own in network.layers if own.name == "feed_forward.down")
    narrow, goal = narrowed(machine, layer), parse_objective("edp")
    boxes = closed_form(layer, narrow, goal)
    boxes.lower(1.62698e16, lambda: False, 1 << 14)
    costs = box_costs(layer, narrow)
    joint = JointBound(costs.at(costs.boxes(1)), costs.halves, boxes.keeps(), goal)
    joint.lower(1.62698e16, lambda: False, 1 << 14)
    assert joint.settled
    values = []
    for mapping in islice(joint.mappings(), 6):
        cost = evaluate(layer, machine, mapping, check=False)
        values.append(cost.energy_pj * cost.cycles)
        assert values[-1] >= joint.bound * (1 - 1e-9)
    assert min(values) == pytest.approx(joint.bound, rel=1e-4)


def test_mappings_of_a_machine_with_arrays_of_two_axes_are_whole() -> None:
    """Each tensor is stored where its bypass choice says, and loops are in order."""
    layer = tw.load_network("resnet50").layers[2]
    machine = narrowed(tw.load_architecture("eyeriss"), layer)
    goal = parse_objective("edp")
    boxes = closed_form(layer, machine, goal)
    joint = JointBound(
        boxes.costs.at(boxes.costs.boxes(1)), boxes.costs.halves, boxes.keeps(), goal
    )
    joint.lower(1e30, lambda: False, 40)
    found = list(islice(joint.mappings(), 8))
    assert found
    for mapping in found:
        # all but whether it fits
        check_loops(mapping, layer, machine)
        check_stores(mapping, layer, machine)
        check_placement(mapping, machine)
