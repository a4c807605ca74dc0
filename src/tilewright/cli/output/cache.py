"""The cache of solved layers, as a user sees it."""

from __future__ import annotations

from tilewright.errors import InputError
from tilewright.mapper.network.cache import OFF, VARIABLE, user_cache

ABSENT = f"no cache: {VARIABLE} is '{OFF}', or there is no home directory to keep it in"


def cache_text() -> str:
    """Return where the cache lies and how much it holds."""
    cache = user_cache()
    if cache is None:
        return ABSENT
    usage = cache.usage()
    return (
        f"location  {cache.directory}\n"
        f"entries   {usage.entries:,}\n"
        f"size      {mebibytes(usage.size)} of at most {mebibytes(cache.limit)}"
    )


def clear_cache() -> str:
    """Remove all solved layers, and return how many there were.

    Raises
    ------
    InputError
        When one of them cannot be removed.
    """
    cache = user_cache()
    if cache is None:
        return ABSENT
    try:
        count = cache.clear()
    except OSError as failure:
        raise InputError(
            f"cannot be cleared: {failure.strerror}", source=str(cache.directory)
        ) from None
    return f"removed {count:,} {'entry' if count == 1 else 'entries'} from {cache.directory}"


def mebibytes(size: int) -> str:
    """Return a number of bytes in MiB."""
    return f"{size / 2**20:,.2f} MiB"
