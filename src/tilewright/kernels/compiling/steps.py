"""The steps from the Python code of a kernel to LLVM's, without those of Numba that find nothing.

Numba has more: they look for closures, `with` blocks, functions to inline and literal values, and
fuse arithmetic of whole arrays. Functions with closures take all of Numba's steps, see `compiler`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from numba.core import typed_passes as typed
from numba.core import untyped_passes as untyped
from numba.core.compiler_machinery import PassManager, _pass_registry

STEPS = (
    untyped.TranslateByteCode,
    untyped.FixupArgs,
    untyped.IRProcessing,
    untyped.RewriteSemanticConstants,
    untyped.DeadBranchPrune,  # answers of `by_record` are known: the other branch is not compiled
    untyped.GenericRewrites,  # known positions of tuples
    untyped.ReconstructSSA,
    typed.NopythonTypeInference,
    typed.PreLowerStripPhis,
    typed.NoPythonSupportedFeatureValidation,
    typed.IRLegalization,
    typed.NativeLowering,
    typed.NoPythonBackend,
)


class Steps(PassManager):
    """Some of Numba's steps, one after the other."""

    def run(self, state: Any) -> None:
        """Take a function through all of them."""
        own: Any = self
        for kind, _ in own.passes:
            step = _pass_registry.get(kind).pass_inst
            step.analysis = own._analysis
            step.run_pass(state)


@cache
def steps_of_kernels() -> Any:
    """Return the steps, which are the same for every function."""
    named: Any = Steps
    steps = named("kernels")
    for step in STEPS:
        steps.add_pass(step)
    steps.finalize()
    return steps
