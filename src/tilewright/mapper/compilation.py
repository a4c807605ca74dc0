"""Whether the compiled search is there, or has to be compiled first."""

from __future__ import annotations

from typing import Any

SECONDS = 50  # what it takes, about


def is_compiled() -> bool:
    """Whether Numba keeps machine code of the search as it stands in the source."""
    from tilewright.mapper import walk

    expand: Any = walk.expand
    # nothing public tells whether what is kept is still that of the source
    return bool(expand._cache._cache_file._load_index())
