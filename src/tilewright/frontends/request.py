"""A ``config.json`` read key by key, and what is asked for beyond it."""

from __future__ import annotations

from typing import Any

from tilewright.document import Document, describe
from tilewright.errors import InputError
from tilewright.frontends.configurations.transformer import Attention, Run

TOKENS = 2048
MAX_SIZE = 2**31
MAX_LAYERS = 10_000


class Config:
    """The keys of a configuration, read with the line of each."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.data = document.data

    def size(self, *keys: str, default: int | None = None, least: int = 1) -> int:
        """Return a whole number, under the first of several names that the file has."""
        key = next((key for key in keys if self.data.get(key) is not None), keys[0])
        value = self.data.get(key)
        if value is None:
            if default is not None:
                return default
            raise self.document.error(f"missing key '{keys[0]}'")
        if type(value) is not int or not least <= value < MAX_SIZE:
            raise self.document.error(
                f"expected a whole number of at least {least}, found {describe(value)}", (key,)
            )
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """Return a key that is true or false."""
        value = self.data.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.document.error(f"expected true or false, found {describe(value)}", (key,))
        return value

    def text(self, *keys: str, default: str) -> str:
        """Return a key that is text."""
        key = next((key for key in keys if key in self.data), keys[0])
        value = self.data.get(key, default)
        if not isinstance(value, str):
            raise self.document.error(f"expected text, found {describe(value)}", (key,))
        return value

    def layers(self, *keys: str) -> int:
        """Return the number of layers."""
        count = self.size(*keys)
        if count > MAX_LAYERS:
            raise self.document.error(f"expected at most {MAX_LAYERS}, found {count}", keys[:1])
        return count

    def heads(self, rotary: bool = True, width: int | None = None, **more: Any) -> Attention:
        """Return the attention of most models."""
        heads = self.size("num_attention_heads")
        groups = self.size("num_key_value_heads", default=heads)
        if heads % groups:
            raise self.document.error(
                f"{groups} heads of keys do not divide {heads} of queries",
                ("num_key_value_heads",),
            )
        width = self.size("head_dim", default=width or self.size("hidden_size") // heads)
        return Attention(heads, groups, width, rotary=rotary, **more)

    def numbers(self, key: str) -> list[int]:
        """Return a list of whole numbers, empty if there is none."""
        value = self.data.get(key) or []
        if not isinstance(value, list) or any(type(item) is not int for item in value):
            raise self.document.error(
                f"expected a list of whole numbers, found {describe(value)}", (key,)
            )
        return value


class Request:
    """What is asked for, with what a family makes of what is not said."""

    def __init__(
        self,
        config: Config,
        phase: str | None,
        batch: int | None,
        tokens: int | None,
        context: int | None,
    ) -> None:
        self.config = config
        self.decode = phase == "decode"
        self.phase, self.batch, self.tokens, self.context = phase, batch or 1, tokens, context

    def run(self, positions: int = 0, usual: int = TOKENS) -> Run:
        """Return sequence lengths of a model that makes text; `positions` are its most."""
        usual = min(usual, positions or usual)
        if self.decode:
            tokens = self.tokens or 1
            context = self.context or max(usual, tokens)
        else:
            tokens = self.tokens or (min(usual, self.context) if self.context else usual)
            context = self.context or tokens
        if tokens > context:
            raise InputError(
                f"the {tokens} new tokens are part of the context, which has {context}",
                key="context",
            )
        if positions and context > positions:
            raise InputError(
                f"the model has {positions} positions, asked for are {context}", key="context"
            )
        return Run(self.batch, tokens, context)

    def whole(self, positions: int = 0) -> Run:
        """Return sequence lengths of a model that reads everything at once."""
        if self.decode:
            raise InputError("this model reads everything at once: it has no 'decode'", key="phase")
        run = self.run(positions, 512)
        if run.tokens != run.context:
            raise InputError("this model has no tokens before", key="context")
        return run
