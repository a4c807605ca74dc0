"""The least off-chip traffic of layers: searched, and put into words."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from math import inf
from threading import Event
from time import perf_counter

from tilewright.errors import NoMappingError
from tilewright.offchip.nest import Nest, read_nest
from tilewright.offchip.result import Banks, BlockLoop, LayerTraffic, NetworkTraffic, TensorTraffic
from tilewright.offchip.search import Found, Schedule, block_sizes_of, search, simplified
from tilewright.workload.layer import Layer, Network


def least_of_network(
    network: Network,
    memory: Banks,
    time_limit: float | None = None,
    told: Callable[[str], None] = lambda line: None,
) -> NetworkTraffic:
    """Return the least traffic of every layer; layers of the same shape are searched once."""
    end = inf if time_limit is None else perf_counter() + time_limit
    known: dict[tuple[object, ...], LayerTraffic] = {}
    results: list[LayerTraffic] = []
    interrupted = False
    for at, layer in enumerate(network.layers, start=1):
        key = (layer.einsum, tuple(layer.bounds.items()))
        if key not in known:
            known[key], interrupted = least_of_layer(layer, memory, end)
        found = known[key]
        results.append(
            LayerTraffic(
                layer, memory, found.loops, found.tensors, found.lower_bound, found.nodes,
                found.simulated, found.seconds,
            )
        )  # fmt: skip
        standing = "proven" if found.optimal else f"gap {found.gap:.2%}"
        told(
            f"[{at}/{len(network.layers)}] {layer.name}: {found.dram_words:,} DRAM words, "
            f"{standing}, {found.seconds:.1f} s"
        )
        if interrupted:
            break
    return NetworkTraffic(network.name, memory, tuple(results), interrupted)


def least_of_layer(layer: Layer, memory: Banks, end: float = inf) -> tuple[LayerTraffic, bool]:
    """Return the least traffic of a layer, and whether Ctrl-C ended the search."""
    begin = perf_counter()
    nest, bank = read_nest(layer), memory.bank_words
    found = Found()
    stopped = Event()
    interrupted = False
    # in a thread of its own: Ctrl-C must not end a kernel halfway
    with ThreadPoolExecutor(1) as pool:
        try:
            searched = pool.submit(
                search, nest, bank, memory.count,
                stop=lambda: stopped.is_set() or perf_counter() >= end, found=found,
            )  # fmt: skip
            searched.result()
        except KeyboardInterrupt:
            # the thread ends with the best so far, and is waited for
            stopped.set()
            interrupted = True
    if found.schedule is None:
        raise NoMappingError(f"no blocks of layer '{layer.name}' fit {memory}")
    schedule = simplified(nest, found.schedule, bank)
    return described(nest, memory, schedule, found, perf_counter() - begin), interrupted


def described(
    nest: Nest, memory: Banks, schedule: Schedule, found: Found, seconds: float
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
        nest.layer,
        memory,
        tuple(
            BlockLoop(names[d], block, -(-nest.layer.bounds[names[d]] // block))
            for d, block in schedule.loops
        ),
        tensors,
        int(nest.words.sum()) + int(found.bound),
        found.nodes,
        found.simulated,
        seconds,
    )
