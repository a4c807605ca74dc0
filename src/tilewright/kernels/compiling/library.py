"""The code of kernels while they are compiled, and of the parts that are copied into them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llvmlite.binding import Linkage, create_new_function_pass_manager
from numba.core.codegen import JITCodeLibrary


class Library(JITCodeLibrary):
    """The code of a kernel, optimised in fewer passes than Numba's.

    Numba optimises each function as far as it gets, and then twice more with all that it calls.
    What the first few passes do makes it smaller; the others are worth it only once it stands in
    the kernel, and there the second time gains nothing.
    """

    def finalize(self) -> None:
        """Make machine code of the kernel with all its parts."""
        own: Any = self
        usual: Any = super().finalize
        link(own._linking_libraries, own)
        own._linking_libraries = []
        usual()

    def _optimize_functions(self, ll_module: Any) -> None:
        """Make functions smaller before they are copied into their callers."""
        own: Any = self
        ll_module.data_layout = own._codegen._data_layout
        builder = own._codegen._pass_builder()
        passes = create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        """Optimise the kernel with all that it calls inside it."""
        own: Any = self
        passes, builder = own._codegen._module_pass_manager()
        passes.run(own._final_module, builder)


class Part(Library):
    """The code of a part as it goes into kernels, which optimise it and make machine code.

    Else each part would be optimised anew with all parts inside it, and its machine code would
    never run. It stands alone: a kernel takes the parts that its parts call from themselves, each
    once. Numba would hand on copies of all of them with every part.
    """

    @property
    def codegen(self) -> Any:
        """What is told of the environment of a function that runs: this one does not run."""
        return self

    def set_env(self, name: str, env: object) -> None:
        """Forget the environment."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return that there is none."""
        return 0

    def finalize(self) -> None:
        """Let this be the code: several may have it, of which the linker keeps one."""
        own: Any = self
        own._finalize_dynamic_globals()
        for function in own._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = Linkage.linkonce_odr
        own._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the code with that of all parts that it calls, for code that is not of kernels."""
        own: Any = self
        if own._shared_module is None:
            new: Any = Part
            whole = new(own._codegen, own.name)
            whole._final_module = own._final_module.clone()
            link(own._linking_libraries, whole)
            own._shared_module = whole._final_module
        return own._shared_module


def link(libraries: Iterable[Any], into: Any) -> None:
    """Copy the code of libraries into another one, with that of all parts that they call."""
    left, parts, others = list(libraries), dict[int, Any](), dict[int, Any]()
    while left:
        library: Any = left.pop()
        if isinstance(library, Part) and id(library) not in parts:
            left += library._linking_libraries
        (parts if isinstance(library, Part) else others)[id(library)] = library
    # LLVM takes what is called by the code that is there already: callers before what they call
    for library in (*parts.values(), *others.values()):
        own = isinstance(library, Part)
        module = library._final_module if own else library._get_module_for_linking()
        if hasattr(into, "_reload_init"):  # Numba 0.62 has none
            into._reload_init.update(library._reload_init)
        into._final_module.link_in(module, preserve=True)
