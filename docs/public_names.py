"""Tells mkdocstrings which names are public: those that the stub of the package lists."""

from __future__ import annotations

from typing import Any

import griffe

import tilewright


class PublicNames(griffe.Extension):
    """Makes the names of the stub the exports of the package."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Set what the package exports."""
        if pkg.path == "tilewright":
            pkg.exports = list(tilewright.__all__)
