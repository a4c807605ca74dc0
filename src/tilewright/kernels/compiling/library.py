"""The code of kernels while they are compiled, and of the parts that are copied into them."""

from __future__ import annotations

from typing import Any

from llvmlite.binding import create_new_function_pass_manager
from numba.core.codegen import JITCodeLibrary


class Library(JITCodeLibrary):
    """The code of a kernel, optimised in fewer passes than Numba's.

    Numba optimises each function as far as it gets, and then twice more with all that it calls.
    What the first few passes do makes it smaller; the others are worth it only once it stands in
    the kernel, and there the second time gains nothing.
    """

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
    """The code of a part as it goes into its callers, which optimise it and make machine code.

    Else each part would be optimised anew with all parts inside it, and its machine code would
    never run.
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

    def _optimize_final_module(self) -> None:
        """Leave that to the callers."""

    def _finalize_final_module(self) -> None:
        """Make no machine code."""
        own: Any = self
        own._finalize_dynamic_globals()
        own._finalized = True
