"""Collections of one thing a layer: they have a length, and are read by position or by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tilewright.errors import nearest

Item = TypeVar("Item")


class ByLayer(Generic[Item]):
    """What has `layers`: layers themselves, or things that have a `layer`."""

    if TYPE_CHECKING:

        @property
        def layers(self) -> tuple[Item, ...]:
            """One for each layer."""

    def __len__(self) -> int:
        return len(self.layers)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Item]:
        return iter(self.layers)

    def __getitem__(self, key: str | int) -> Item:
        """Return what belongs to a layer, by its name or its position."""
        if not isinstance(key, str):
            return self.layers[key]
        names = [name_of(item) for item in self.layers]
        if key not in names:
            raise KeyError(f"no layer '{key}'{nearest(key, names)}")
        return self.layers[names.index(key)]


def name_of(item: Any) -> str:
    """Return the name of a layer, or of the layer of something else."""
    return str(getattr(item, "layer", item).name)
