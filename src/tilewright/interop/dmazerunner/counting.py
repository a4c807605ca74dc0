"""dMazeRunner's energy and time of an execution method: section 4.3, as its public code has it.

It differs from what `tilewright.evaluate` counts: every operation reads all its operands from the
registers and writes the output back, words are counted once for each element that receives them,
partial sums always make both ways, and transfers are charged pass by pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, MappingError
from tilewright.interop.dmazerunner.method import Loops, Method, levels_of, method_of
from tilewright.interop.dmazerunner.orderings import reuse_factors
from tilewright.interop.dmazerunner.result import Dma, MethodCost
from tilewright.interop.dmazerunner.tiles import bursts, dma_cycles, tile_words
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.validity import check
from tilewright.model.energy import operation_cost, read_cost, write_cost
from tilewright.workload.layer import Layer, Tensor

LEVELS = ("registers", "array", "buffer")
MOST_INPUTS = 3  # networks from the buffer to the array (section 4.3.3)


def count_method(layer: Layer, machine: Architecture, mapping: Mapping) -> MethodCost:
    """Return what an execution method costs by dMazeRunner's model.

    Parameters
    ----------
    layer, machine, mapping
        What is computed, on what, and how. A mapping that does not fit is priced all the same, as
        dMazeRunner's model does; the result says what it exceeds.

    Raises
    ------
    InputError
        When the machine or the layer is not of the kind that the model covers; a MappingError when
        the mapping is not.
    """
    check_covered(layer, machine)
    try:
        check(mapping, layer, machine)
        exceeds = ""
    except MappingError as failure:
        exceeds = failure.message
    return Passes(layer, machine, method_of(mapping, layer, machine)).cost(mapping, exceeds)


def check_covered(layer: Layer, machine: Architecture) -> None:
    """Refuse a machine or a layer that the model says nothing about."""
    _, buffer, array, _, _ = levels_of(machine)
    if buffer.buffering != 2:
        raise InputError(
            f"dmazerunner overlaps DRAM with the array: '{buffer.name}' must be double buffered",
            key="architecture",
        )
    if not (array.multicast and array.reduction) or array.forwarding:
        raise InputError(
            f"dmazerunner has networks with multicast and reduction, without forwarding; "
            f"'{array.name}' is another",
            key="architecture",
        )
    if len(layer.inputs) > MOST_INPUTS:
        raise InputError(
            f"dmazerunner has networks for {MOST_INPUTS} inputs; layer '{layer.name}' has "
            f"{len(layer.inputs)}",
            key="layer",
        )


@dataclass(frozen=True)
class Passes:
    """The passes of one execution method.

    One RF pass works through the register tiles, one SPM pass through the buffer's.
    """

    layer: Layer
    machine: Architecture
    method: Method

    @cached_property
    def words(self) -> dict[str, dict[str, int]]:
        """Elements of every tensor's tile, by level."""
        return {
            level: {t.name: tile_words(t, self.method.extents(level)) for t in self.layer.tensors}
            for level in LEVELS
        }

    @cached_property
    def compute(self) -> float:
        """Cycles of one RF pass without stalls."""
        return prod(self.method.registers.values()) * self.machine.compute.cycles

    @cached_property
    def passes(self) -> tuple[int, int]:
        """SPM passes, and RF passes in each."""
        return trips(self.method.outer), trips(self.method.inner)

    @cached_property
    def elements(self) -> tuple[int, int]:
        """Elements of the array that are used, and those that hold different outputs."""
        output = self.layer.output.dimensions
        spatial = self.method.spatial
        return prod(spatial.values()), prod(spatial[d] for d in output)

    @cached_property
    def reuse(self) -> tuple[dict[str, int], dict[str, int]]:
        """SPM passes, and RF passes, in a row with the same tile of each tensor."""
        outer, inner = (self.factors(loops) for loops in (self.method.outer, self.method.inner))
        return outer, inner

    def factors(self, loops: Loops) -> dict[str, int]:
        """Return the reuse factors of some loops, which may cut a dimension more than once."""
        names = [tensor.name for tensor in self.layer.tensors]
        if len({d for d, _ in loops}) == len(loops):
            ordering = tuple(d for d, _ in loops)
            return dict(zip(names, reuse_factors(ordering, self.layer, dict(loops)), strict=True))
        result = {}
        for tensor in self.layer.tensors:
            stays = 1
            for d, count in reversed(loops):
                if d in tensor.dimensions:
                    break
                stays *= count
            result[tensor.name] = stays
        return result

    def continues(self, tensor: Tensor) -> bool:
        """Whether a tile stays in the registers from one SPM pass to the next.

        The paper calls this continuous reuse (section 4.3.3).
        """
        outer, inner = (factors[tensor.name] for factors in self.reuse)
        return inner == self.passes[1] and outer > 1

    def moves(self, tensor: Tensor) -> int:
        """Return how often a tile moves between the buffer and the registers."""
        (outer, inner), reuse = self.passes, [factors[tensor.name] for factors in self.reuse]
        if self.continues(tensor):
            return outer // reuse[0]
        return inner // reuse[1] * outer

    @cached_property
    def reduction(self) -> int:
        """Partial sums that pass between elements in one RF pass, one in a cycle."""
        used, different = self.elements
        return self.words["registers"][self.layer.output.name] * (used // different - 1) * different

    def energy(self) -> dict[str, float]:
        """Return the energy of every level in pJ."""
        dram, buffer, array, registers, unit = levels_of(self.machine)
        layer, operations = self.layer, self.layer.operations
        output, used = layer.output, self.elements
        total = {level.name: 0.0 for level in self.machine.levels}
        operation = operation_cost(self.machine, layer)
        total[unit.name] = operations * operation
        # section 4.3.2: in every iteration each operand is read, and the output written
        total[registers.name] = operations * sum(
            [read_cost(registers, t) for t in layer.tensors], write_cost(registers, output)
        )
        for tensor in (output, *layer.inputs):
            name, moves, spm_passes = tensor.name, self.moves(tensor), self.passes[0]
            both_ways = tensor is output and not self.continues(tensor)
            received = self.words["registers"][name] * used[tensor is output]
            total[array.name] += received * array.hop_energy * (1 + both_ways) * moves
            ways = read_cost(buffer, tensor) * (tensor is not output or both_ways)
            ways += write_cost(buffer, tensor) * (tensor is output)
            total[buffer.name] += self.words["array"][name] * ways * moves
            tile, changes = self.words["buffer"][name], spm_passes // self.reuse[0][name]
            if tensor is not output:
                total[dram.name] += tile * read_cost(dram, tensor) * changes
                continue
            total[dram.name] += tile * write_cost(dram, tensor) * changes
            total[dram.name] += tile * read_cost(dram, tensor) * self.returns
            adds = self.reduction * moves
            ports = 2 * read_cost(registers, output) + write_cost(registers, output)
            total[registers.name] += adds * ports
            total[array.name] += adds * array.hop_energy
            total[unit.name] += adds * operation
        return total

    @cached_property
    def returns(self) -> int:
        """Tiles of partial sums that are read back from DRAM."""
        output, spm_passes = self.layer.output, self.passes[0]
        stays = self.reuse[0][output.name]
        if stays == spm_passes:
            return 0
        different = prod(count for d, count in self.method.outer if d in output.dimensions)
        return spm_passes // stays - different

    @cached_property
    def dma(self) -> dict[str, Dma]:
        """How one tile of every tensor is moved to or from DRAM."""
        dram, extents = levels_of(self.machine)[0], self.method.extents("buffer")
        result = {}
        for tensor in self.layer.tensors:
            count, length = bursts(tensor, self.layer, extents)
            cycles = dma_cycles(tensor, self.layer, extents, dram, self.machine.clock_hz)
            result[tensor.name] = Dma(int(count), int(length), int(cycles))
        return result

    @cached_property
    def delivery(self) -> dict[int, int]:
        """Cycles in which the tiles that change every x-th RF pass reach the array, by x."""
        result: dict[int, int] = {}
        for tensor in self.layer.tensors:
            if not self.continues(tensor):
                every = self.reuse[1][tensor.name]
                result[every] = max(result.get(every, 0), self.words["array"][tensor.name])
        return result

    @cached_property
    def spm_pass(self) -> float:
        """Cycles of one SPM pass.

        Transfers overlap with the computation of an RF pass, unless outputs change every pass:
        then the array waits for both. Outputs that stay from one SPM pass to the next do not
        change, even if the pass is a single RF pass.
        """
        output, count = self.layer.output, self.passes[1]
        every = self.reuse[1][output.name]
        stays = self.continues(output)
        hidden = 0.0 if every == 1 and not stays else self.compute
        cycles = hidden * count
        stalls = {} if stays else {every: self.compute + self.reduction}
        for x in sorted({*self.delivery, *stalls}):
            longest = self.delivery.get(x, 0)
            if longest > hidden:
                cycles += int((longest - hidden) * count / x)
                hidden = longest
            cycles += int(stalls.get(x, 0) * count / x)
        return cycles

    def cycles(self) -> float:
        """Return the cycles of the layer: SPM passes, and what DMA adds to them."""
        output, count = self.layer.output, self.passes[0]
        every, busy = self.reuse[0], self.spm_pass
        moving: dict[int, int] = {}
        for tensor in self.layer.tensors:
            both_ways = tensor is output and every[tensor.name] == 1
            own = self.dma[tensor.name].cycles * (1 + both_ways)
            moving[every[tensor.name]] = moving.get(every[tensor.name], 0) + own
        until = {x: sum(own for y, own in moving.items() if y <= x) for x in moving}
        usual = max(until.get(1, 0), busy)
        total = usual * count
        for tensor in self.layer.tensors:
            x = every[tensor.name]
            if x == 1:
                continue
            stays = self.continues(tensor)
            # one of the two passes around the change brings the new tile, the other takes the old
            working = busy + (self.reduction + self.compute if stays and tensor is output else 0)
            extra = max(until[x], working, usual) - usual
            without = until[x] if tensor is output else until[x] - moving[x]
            late = max(self.words["array"][tensor.name] - self.delivery.get(1, 0), 0)
            working = busy + (late if stays else 0)
            extra += max(without, working, usual) - usual
            total += extra * count / x
        return total

    def cost(self, mapping: Mapping, exceeds: str) -> MethodCost:
        """Return everything."""
        return MethodCost(
            layer=self.layer,
            architecture=self.machine,
            mapping=mapping,
            method=self.method,
            energy=self.energy(),
            cycles=self.cycles(),
            exceeds=exceeds,
            elements_used=self.elements[0],
            spm_passes=self.passes[0],
            rf_passes=self.passes[1],
            compute_cycles=self.compute,
            spm_pass_cycles=self.spm_pass,
            reduction_cycles=self.reduction,
            words=self.words,
            reuse={"outer": self.reuse[0], "inner": self.reuse[1]},
            continuous=tuple(t.name for t in self.layer.tensors if self.continues(t)),
            returned_tiles=self.returns,
            dma=self.dma,
        )


def trips(loops: Loops) -> int:
    """Return the iterations of some loops."""
    return prod(count for _, count in loops)
