"""Commands that show what ships and what is kept."""

from __future__ import annotations

from typing import Annotated

from tilewright.cli.arguments import Argument, Option
from tilewright.errors import InputError, nearest


def list_command(
    kind: Annotated[
        str | None,
        Argument(metavar="[workloads|architectures|dataflows|styles]", help="One kind only."),
    ] = None,
) -> int:
    """List the workloads, architectures, dataflows and mapping styles that ship."""
    from tilewright.cli.output.files import write_out
    from tilewright.cli.output.listing import FOLDERS, lists

    if kind not in (None, *FOLDERS):
        raise InputError(
            f"there is no list of '{kind}'; accepted: {', '.join(FOLDERS)}"
            f"{nearest(str(kind), FOLDERS)}"
        )
    write_out(lists(list(FOLDERS) if kind is None else [kind]))
    return 0


def show_command(
    name: Annotated[str, Argument(metavar="NAME", help="A built-in name, or a file of any kind.")],
) -> int:
    """Show a workload, an architecture, a dataflow or a style, with its source."""
    from tilewright.cli.output.catalogue import shown
    from tilewright.cli.output.files import write_out

    write_out(shown(name))
    return 0


def cache_command(
    clear: Annotated[bool, Option("--clear", help="Remove all results in it.")] = False,
) -> int:
    """Show or clear the cache of solved layers."""
    from tilewright.cli.output.cache import cache_text, clear_cache
    from tilewright.cli.output.files import write_out

    write_out(clear_cache() if clear else cache_text())
    return 0
