"""Machine code that is read from disk without what Numba needs to compile.

Numba prepares for a compilation before it reads what has been compiled: it imports a hundred
modules, registers what they define, and parses the code that callers of a kernel would link. Here
that is done when a kernel is compiled, or when another one links this one.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from llvmlite import binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import compile_result
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime import nrt

Payload = tuple[Any, ...]


class Loaded(JITCodeLibrary):
    """Machine code as it was kept; the code for callers that link it is parsed when one does."""

    def __init__(self, codegen: Any, name: str) -> None:
        usual: Any = super().__init__
        usual(codegen, name)
        self.for_callers = b""

    def take(self, machine_code: bytes, for_callers: bytes, defined: frozenset[str]) -> None:
        """Hand the code to the process."""
        own: Any = self
        self.for_callers = for_callers
        own.enable_object_caching()
        own._set_compiled_object(machine_code)
        own._finalize_final_module()
        own._codegen._engine._defined_symbols |= defined

    def _get_module_for_linking(self) -> Any:
        """Return the code for callers."""
        if self._shared_module is None:
            self._shared_module: Any = llvm.parse_bitcode(self.for_callers)
        return self._shared_module


def reduced(result: Any) -> Payload:
    """Return what is kept of a compiled kernel, with the names that it defines and needs."""
    library, *rest, environments = result._reduce()
    rest.append([(each.globals["__name__"], each.consts, each.env_name) for each in environments])
    module = result.library._get_module_for_linking()
    names = [
        (each.name, each.is_declaration)
        for each in (*module.functions, *module.global_variables)
        if not each.name.startswith("llvm.")
    ]
    defined = frozenset(name for name, declared in names if not declared)
    needed = frozenset(name for name, declared in names if declared)
    return library, defined, needed, rest


def rebuilt(target: Any, payload: Payload) -> Any:
    """Return a compiled kernel that can be called.

    Parameters
    ----------
    target : object
        Numba's context of this processor.
    payload : tuple
        What `reduced` has returned.
    """
    (name, kind, codes), defined, needed, rest = payload
    if kind != "object":
        raise ValueError("no machine code")
    know_helpers()
    engine = target.codegen()._engine
    if not all(llvm.address_of_symbol(each) or engine.is_symbol_defined(each) for each in needed):
        target.refresh()  # what the process lacks comes with Numba's other modules, if with any
    library = Loaded(target.codegen(), name)
    library.take(codes[0], codes[1], defined)
    description, own, signature, in_python, lifted, types, again, read = rest
    others = [environment(*each) for each in read]
    for step in again:
        step()
    result = compile_result(
        typing_context=target.typing_context, target_context=target, library=library,
        entry_point=target.get_executable(library, description, own),
        fndesc=description, environment=own, signature=signature, objectmode=in_python,
        lifted=lifted, type_annotation=types, reload_init=again, referenced_envs=tuple(others),
    )  # fmt: skip
    for other in others:
        library.codegen.set_env(other.env_name, other)
    return result


@cache
def know_helpers() -> None:
    """Let machine code find the functions that count references and make arrays.

    To initialise Numba's runtime would do that, too, and compile what later compilations link.
    """
    runtime: Any = nrt
    for name, address in runtime._nrt.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def environment(module: str, constants: list[Any], name: str) -> Any:
    """Return what a function reads while it runs, without importing the module that defines it.

    Code without Python objects reads nothing of that module.
    """
    found: Any = lookup_environment(name)
    if found is None:
        there = sys.modules.get(module)
        make: Any = Environment
        found = make(vars(there) if there else {"__name__": module})
        found.consts.extend(constants)
        found.env_name = name
        Environment._memo[name] = found
    return found
