"""The least off-chip traffic of layers: searched, and put into words."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from time import perf_counter

from tilewright.errors import NoMappingError
from tilewright.kernels.time_limits import time_is_up
from tilewright.offchip.arrays.extents import Elements
from tilewright.offchip.nest import Nest, read_nest
from tilewright.offchip.network_result import NetworkTraffic
from tilewright.offchip.result import ArrayTraffic, Banks, BlockLoop, LayerTraffic, TensorTraffic
from tilewright.offchip.search import Found, Schedule, block_sizes_of, search, simplified
from tilewright.offchip.weighted import WeightedFound, search_weighted
from tilewright.workload.layer import Layer, Network


@dataclass(frozen=True)
class WeightedArray:
    """An array, and how many DRAM words a word between it and the memory is worth."""

    elements: Elements
    weight: float


def least_of_network(
    network: Network,
    memory: Banks,
    time_limit: float | None = None,
    array: WeightedArray | None = None,
    told: Callable[[str], None] = lambda line: None,
) -> NetworkTraffic:
    """Return the least traffic of every layer; layers of the same shape are searched once."""
    is_up = time_is_up(time_limit)
    known: dict[tuple[object, ...], LayerTraffic] = {}
    results: list[LayerTraffic] = []
    interrupted = False
    for at, layer in enumerate(network.layers, start=1):
        key = (layer.einsum, tuple(layer.bounds.items()))
        if key not in known:
            known[key], interrupted = least_of_layer(layer, memory, is_up, array)
        found = known[key]
        results.append(replace(found, layer=layer))
        standing = "proven" if found.optimal else f"gap {found.gap:.2%}"
        told(
            f"[{at}/{len(network.layers)}] {layer.name}: {found.dram_words:,} DRAM words, "
            f"{standing}, {found.seconds:.1f} s"
        )
        if interrupted:
            break
    return NetworkTraffic(network.name, memory, tuple(results), interrupted)


def least_of_layer(
    layer: Layer,
    memory: Banks,
    is_up: Callable[[], bool] = lambda: False,
    array: WeightedArray | None = None,
) -> tuple[LayerTraffic, bool]:
    """Return the least traffic of a layer, and whether Ctrl-C ended the search."""
    begin = perf_counter()
    nest, bank = read_nest(layer), memory.bank_words
    found = Found() if array is None else WeightedFound()
    stopped = Event()
    interrupted = False
    # in a thread of its own: Ctrl-C must not end a kernel halfway
    with ThreadPoolExecutor(1) as pool:
        try:
            searched = pool.submit(
                run, nest, memory, found, array, lambda: stopped.is_set() or is_up()
            )
            searched.result()
        except KeyboardInterrupt:
            # the thread ends with the best so far, and is waited for
            stopped.set()
            interrupted = True
    if found.schedule is None:
        raise NoMappingError(f"no blocks of layer '{layer.name}' fit {memory}")
    schedule = found.schedule
    if array is None:
        schedule = simplified(nest, schedule, bank)
    return described(nest, memory, schedule, found, array, perf_counter() - begin), interrupted


def run(
    nest: Nest,
    memory: Banks,
    found: Found | WeightedFound,
    array: WeightedArray | None,
    stop: Callable[[], bool],
) -> None:
    """Search, with or without an array."""
    if isinstance(found, Found):
        search(nest, memory.bank_words, memory.count, stop=stop, found=found)
    elif array is not None:
        search_weighted(
            nest, memory.bank_words, memory.count, array.elements, array.weight, stop, found
        )


def described(
    nest: Nest,
    memory: Banks,
    schedule: Schedule,
    found: Found | WeightedFound,
    array: WeightedArray | None,
    seconds: float,
) -> LayerTraffic:
    """Return a schedule with names instead of numbers."""
    names = nest.dimensions
    tensors = {}
    sizes = block_sizes_of(nest, schedule.loops)
    for t, tensor in enumerate(nest.layer.tensors):
        words, spilled = int(nest.words[t]), schedule.spills[t]
        output = tensor.is_output
        tensors[tensor.name] = TensorTraffic(
            words, schedule.banks[t], sizes[t], spilled,
            reads=spilled if output else words + spilled,
            writes=words + spilled if output else 0,
        )  # fmt: skip
    return LayerTraffic(
        layer=nest.layer,
        memory=memory,
        loops=tuple(
            BlockLoop(names[d], block, -(-nest.layer.bounds[names[d]] // block))
            for d, block in schedule.loops
        ),
        tensors=tensors,
        lower_bound=int(nest.words.sum()) + (int(found.bound) if array is None else found.bound),
        nodes=found.nodes,
        simulated=found.simulated,
        seconds=seconds,
        array=array_traffic(nest, found, array),
    )


def array_traffic(
    nest: Nest, found: Found | WeightedFound, array: WeightedArray | None
) -> ArrayTraffic | None:
    """Return the batches with names instead of numbers."""
    if array is None or isinstance(found, Found) or found.batches is None:
        return None
    batches, names = found.batches, nest.dimensions
    rows, columns = (
        {names[d]: int(n) for d, n in enumerate(side) if n > 1} for side in batches.spread
    )
    return ArrayTraffic(
        machine=str(array.elements),
        weight=array.weight,
        words={t.name: words for t, words in zip(nest.layer.tensors, batches.words, strict=True)},
        rows=rows,
        columns=columns,
        box={names[d]: int(n) for d, n in enumerate(batches.boxes)},
        order=tuple(names[d] for d in batches.order),
        shares={t.name: share for t, share in zip(nest.layer.tensors, batches.shares, strict=True)},
        retains=batches.retains,
        box_lower_bound=int(nest.words.sum()) + max(found.bound, found.box_bound),
    )
