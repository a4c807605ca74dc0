"""Live modules of PyTorch: exported with inputs like those they will get, and read."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from tilewright.document import describe
from tilewright.errors import InputError


def is_module(workload: object) -> bool:
    """Whether an object is a module of PyTorch, without importing torch."""
    return all(hasattr(workload, name) for name in ("forward", "state_dict", "named_parameters"))


def exported(module: Any, example_inputs: Any) -> Any:
    """Return what ``torch.export.export`` makes of a module.

    Parameters
    ----------
    module : torch.nn.Module
        In the mode in which it shall run: call ``module.eval()`` first for inference.
    example_inputs : tensor, shape, or a tuple, list or dict of those
        What `forward` gets: tensors, of which only shapes and types matter, or shapes such as
        ``(1, 3, 224, 224)``. A dict is given by name.

    Raises
    ------
    InputError
        When there are no inputs, or the module cannot be exported.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        raise InputError("is no module of PyTorch: torch is not imported", key="workload")
    if example_inputs is None:
        raise InputError(
            "is a module: its sizes are known with example_inputs, such as "
            "example_inputs=[(1, 3, 224, 224)]", key="workload",
        )  # fmt: skip
    from torch.export import export

    by_name = isinstance(example_inputs, Mapping)
    if by_name:
        named = {str(key): tensor_of(value, torch) for key, value in example_inputs.items()}
        arguments: tuple[Any, ...] = ()
    else:
        listed = isinstance(example_inputs, tuple | list) and not is_shape(example_inputs)
        arguments = tuple(
            tensor_of(value, torch) for value in (example_inputs if listed else [example_inputs])
        )
        named = {}
    try:
        return export(module, arguments, named)
    except Exception as failure:
        # whatever the code of the module raises, or what torch says of it
        lines = str(failure).strip().splitlines()
        why = f"{type(failure).__name__}: {lines[0] if lines else 'no message'}"
        raise InputError(f"cannot be exported by torch: {why[:300]}", key="workload") from failure


def is_shape(value: object) -> bool:
    """Whether a value is a shape: whole numbers, at least one."""
    return isinstance(value, tuple | list) and bool(value) and all(type(n) is int for n in value)


def tensor_of(value: Any, torch: Any) -> Any:
    """Return a tensor as it is, or one of a shape; it holds no words."""
    if not is_shape(value):
        return value
    if not all(0 < size < 2**40 for size in value):
        raise InputError(f"expected a shape, found {describe(list(value))}", key="example_inputs")
    return torch.empty(1).expand(*value)
