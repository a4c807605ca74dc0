"""What users may pass: names, files, objects; what is none of it is refused."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from collections.abc import Mapping as MappingOf
from math import isfinite
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from tilewright.architecture.constraints.constraint import Constraints
from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture
from tilewright.document import describe
from tilewright.errors import InputError, nearest
from tilewright.frontends.load import Options, is_live, load_model, options_of
from tilewright.mapper.network.cache import Cache, user_cache
from tilewright.mapper.objective.objective import ACCEPTED, parse_objective, usual_second
from tilewright.mapper.results.searched_space import ALL, DIVISORS, TILES
from tilewright.mapping.given import ConstraintsLike, given_constraints
from tilewright.text import say
from tilewright.workload.layer import Layer, Network
from tilewright.workload.network import select

UNIFORM = ("dataflow",)

# the last are modules and objects of torch.export.export, known by what they have
WorkloadLike = str | PathLike[str] | Layer | Network | Any
ArchitectureLike = str | PathLike[str] | Architecture
CacheLike = bool | str | PathLike[str]


def listener(progress: bool | Callable[[str], None]) -> Callable[[str], None]:
    """Return who is told what begins."""
    if callable(progress):
        return progress
    return say if progress else lambda _: None


def check_within(within: float) -> None:
    """Refuse a share that `explain` cannot use."""
    number = isinstance(within, int | float) and not isinstance(within, bool)
    if not number or not 0 <= within <= 1:
        raise InputError(
            "expected a share of the optimum from 0 to 1, for example 0.05 (5 %), "
            f"found {describe(within)}",
            key="within",
        )


def check_options(
    objective: str, time_limit: float | None, workers: int | None, movement: bool = False
) -> None:
    """Refuse values that `map` cannot use; others than `map` take no data-movement cost."""
    if not isinstance(objective, str):
        raise InputError(f"expected text, found {describe(objective)}; {ACCEPTED}", key="objective")
    if parse_objective(objective).movement and not movement:
        raise InputError(
            "'dmc' is for 'map' alone, with no strategy, no Pareto front and throughput latency",
            key="objective",
        )
    if time_limit is not None:
        check_seconds(time_limit, "time_limit")
    if workers is not None:
        check_count(workers, "workers", 1)


def check_seconds(seconds: float, key: str) -> None:
    """Refuse what is not a time."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not isfinite(seconds) or seconds <= 0:
        raise InputError(
            f"expected a number of seconds greater than 0, found {describe(seconds)}", key=key
        )


def check_tiles(tiles: str) -> None:
    """Refuse what says nothing about tile sizes."""
    if tiles not in TILES:
        raise InputError(
            f"expected {' or '.join(TILES)}, found {describe(tiles)}{nearest(str(tiles), TILES)}",
            key="tiles",
        )


def check_uniform(uniform: str | None, within: float | None) -> None:
    """Refuse what says nothing about what all layers have in common."""
    if within is not None:
        if uniform is None:
            raise InputError(
                "needs a uniform dataflow: it is about the styles of all layers", key="within"
            )
        check_within(within)
    if uniform not in (None, *UNIFORM):
        raise InputError(
            f"expected {' or '.join(UNIFORM)}, found {describe(uniform)}"
            f"{nearest(str(uniform), UNIFORM)}",
            key="uniform",
        )


def check_together(
    latency: str, tiles: str, strategy: str | None, uniform: str | None, layouts: bool = False
) -> None:
    """Refuse searches that do not go together."""
    if layouts and (latency == "pipelined" or strategy is not None):
        raise InputError(
            "are for the search under throughput latency: leave out the strategy, and the latency "
            "unless it is 'throughput'",
            key="layouts",
        )
    if layouts and tiles == ALL:
        raise InputError("with layouts, only sizes that divide are searched", key="tiles")
    if latency == "pipelined" and (strategy is not None or tiles == ALL):
        raise InputError("'pipelined' takes tile sizes that divide and no strategy", key="latency")
    other = latency == "pipelined" or strategy is not None or layouts
    if uniform is not None and other:
        raise InputError(
            "takes neither pipelined latency, a strategy nor layouts",
            key="uniform",
        )


def check_fuse(
    network: Network, machine: Architecture, latency: str, layer: str | None = None
) -> None:
    """Refuse to fuse layers where nothing connects them, and what does not go with that."""
    if layer is not None:
        raise InputError("has no effect with 'fuse': leave out one of the two", key="layer")
    if latency != "throughput":
        raise InputError("has no effect with 'fuse': leave out one of the two", key="latency")
    if network.graph is None:
        raise InputError(
            f"network '{network.name}' does not say how its layers are connected; 'graph:' in its "
            "file names the tensors between them (docs/reference/workloads.md), and models that "
            "are imported have it",
            key="fuse",
        )
    memories = {memory.name for memory in machine.memories}
    for statement in machine.statements:
        if statement.at in memories and not {*statement.keys} <= {"keep", "bypass"}:
            # loops that layers share would have to keep to it as well
            raise InputError(
                "takes constraints on arrays, and 'keep' and 'bypass' of memories; found one on "
                f"'{statement.at}': {statement.words()}",
                key="fuse",
            )
    if any(array.forwarding for array in machine.arrays):
        raise InputError(
            f"neighbours forward words on '{machine.name}', which is not searched; accepted: a "
            "machine with 'forwarding: false' on every array",
            key="fuse",
        )
    if any(memory.retention != "tile" for memory in machine.memories):
        raise InputError(
            f"memories of '{machine.name}' retain words, which is not searched; accepted: a "
            "machine with 'retention: tile' in every memory",
            key="fuse",
        )


def check_limits_of_fused(objective: str, tiles: str | None) -> None:
    """Refuse limits of fused layers where totals within them are not searched."""
    goal = parse_objective(objective)
    if goal.powers not in ((1.0, 0.0), (0.0, 1.0)):
        raise InputError(
            "with fused layers, limits go with energy or latency alone: "
            "'energy, latency<=1e6' or 'latency, energy<=2e9'",
            key="objective",
        )
    if tiles == ALL:
        raise InputError(
            "within limits, fused layers are searched with tile sizes that divide; accepted: "
            f"{DIVISORS}",
            key="tiles",
        )


def check_limits_alone(limits: str) -> None:
    """Refuse a product that is to be minimised where all trade-offs are asked for."""
    goal = parse_objective(limits)
    if goal.powers != (1.0, 0.0) or goal.then != usual_second(goal.powers):
        raise InputError(
            "only limits have an effect on trade-offs: 'energy, latency<=1e6', or none",
            key="limits",
        )


def check_count(count: int, key: str, least: int) -> None:
    """Refuse what is not a whole number, or too small."""
    if not isinstance(count, int) or isinstance(count, bool) or count < least:
        raise InputError(
            f"expected a whole number of at least {least}, found {describe(count)}", key=key
        )


def the_cache(cache: CacheLike) -> Cache | None:
    """Return where proven results are kept, or None when they are not."""
    if isinstance(cache, bool):
        return user_cache() if cache else None
    if not isinstance(cache, str | PathLike) or not fspath(cache):
        raise InputError(
            f"expected True, False or the path of a directory, found {describe(cache)}",
            key="cache",
        )
    directory = Path(cache)
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise InputError(
            f"'{directory}' is no directory; True, False or the path of a directory is accepted",
            key="cache",
        )
    return Cache(directory)


def load_workload(
    workload: WorkloadLike,
    layer: str | None = None,
    *,
    phase: str | None = None,
    batch: int | None = None,
    tokens: int | None = None,
    context: int | None = None,
    bind: MappingOf[str, int] | None = None,
    only: Sequence[str] | None = None,
    example_inputs: Any = None,
) -> Network:
    """Return the network of a model, whatever its format.

    Parameters
    ----------
    workload : str, path, Layer, Network or exported program
        A name that ships, a workload file, an ``.onnx``, ``.pt2`` or ``.keras`` file, a
        ``config.json`` of a language or vision model (``hf:`` before its path or before a name
        that ships), a file of another tool, an object of ``torch.export.export`` or
        ``jax.make_jaxpr``, or a module of PyTorch.
    layer : str, optional
        Only this layer.
    phase : str, optional
        Of configurations: ``"prefill"`` (default) or ``"decode"``.
    batch, tokens, context : int, optional
        Of configurations: sequences that run together, new tokens of each, and tokens that the
        last one attends to, itself included.
    bind : mapping of str to int, optional
        Sizes of symbolic dimensions, by name.
    only : sequence of str, optional
        Kinds of operations that become layers, of conv, matmul, elementwise, normalization,
        softmax, pool and reduce; the others stay on record in the network's graph.
    example_inputs : tensor, shape, or a tuple, list or dict of those, optional
        Of modules of PyTorch: what `forward` gets. Of tensors only shapes and types matter.

    Raises
    ------
    InputError
        When it cannot be read, or an option means nothing for it.
    """
    said = Options(
        phase=phase, batch=batch, tokens=tokens, context=context, bind=bind, only=only,
        example_inputs=example_inputs,
    )  # fmt: skip
    return the_network(workload, layer, said)


def the_network(
    workload: WorkloadLike, layer: str | None = None, options: Options | None = None
) -> Network:
    """Return a workload as a network, of one layer alone when its name is given."""
    said = options_of(workload) if options is None else options
    if isinstance(workload, Layer):
        said.given()
        network = Network(workload.name, (workload,))
    elif isinstance(workload, Network):
        said.given()
        network = workload
    elif is_live(workload):
        network = load_model(workload, said)
    elif isinstance(workload, str | PathLike):
        name = fspath(workload)
        other = None
        if may_be_file(name):
            from tilewright.interop.files import other_network

            other = other_network(name)
        if other is not None:
            said.given()
            network = other
        else:
            network = load_model(name, said)
    else:
        raise InputError(
            f"expected a name, a path, a Layer, a Network, a module or an exported program, "
            f"found {describe(workload)}",
            key="workload",
        )
    if layer is None:
        return network
    return Network(network.name, (select(network, layer),), network.source)


def may_be_file(name: str) -> bool:
    """Whether a name may be that of a file; other tools' formats are not imported for others."""
    return "." in name or os.path.exists(name)


def the_layer(workload: WorkloadLike, name: str | None) -> Layer:
    """Return the layer of a workload that is meant."""
    network = the_network(workload, name)
    if len(network.layers) > 1:
        names = [layer.name for layer in network.layers]
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise InputError(
            f"network '{network.name}' has {len(names)} layers; name one of them: {shown}",
            key="layer",
        )
    return network.layers[0]


def the_architecture(architecture: ArchitectureLike) -> Architecture:
    """Return a machine by name, from a file, or as it is."""
    if isinstance(architecture, Architecture):
        return architecture
    if not isinstance(architecture, str | PathLike):
        raise InputError(
            f"expected a name, a path or an Architecture, found {describe(architecture)}",
            key="architecture",
        )
    name = fspath(architecture)
    if may_be_file(name):
        from tilewright.interop.files import other_architecture

        return other_architecture(name) or load_architecture(name)
    return load_architecture(name)


def the_searched_architecture(architecture: ArchitectureLike) -> Architecture:
    """Return a machine on which mappings are searched: none whose memories retain optimally."""
    machine = the_architecture(architecture)
    for memory in machine.memories:
        if memory.retention != "tile":
            raise InputError(
                f"memory '{memory.name}' of '{machine.name}' has '{memory.retention}' retention, "
                "which this search does not cover: 'evaluate', 'simulate' and 'map' accept it; "
                "other searches accept 'retention: tile'",
                key="architecture",
            )
    return machine


def the_constraints(
    given: ConstraintsLike, architecture: Architecture, layers: Sequence[Layer]
) -> Constraints:
    """Return the constraints that someone has given, those in files of other tools included."""

    def read(item: Any) -> Any:
        if isinstance(item, str | PathLike) and "=" not in fspath(item):
            from tilewright.interop.files import other_constraints

            return other_constraints(fspath(item), architecture, lambda *_: None) or item
        return item

    if isinstance(given, Sequence) and not isinstance(given, str | Constraints):
        return given_constraints([read(item) for item in given], architecture, layers)
    return given_constraints(read(given), architecture, layers)


def the_latency(given: str | None, architecture: Architecture) -> str:
    """Return how cycles are counted: as asked for, otherwise as the machine says.

    Raises
    ------
    InputError
        When that is neither ``throughput`` nor ``pipelined``.
    """
    kinds = ("throughput", "pipelined")
    if given is not None and given not in kinds:
        raise InputError(
            f"no latency '{given}'; accepted: {', '.join(kinds)}{nearest(given, kinds)}",
            key="latency",
        )
    return architecture.latency if given is None else given
