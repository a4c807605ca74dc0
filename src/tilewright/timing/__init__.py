"""Pipelined latency: what a mapping takes when each step waits for what it needs."""

from tilewright.timing.latency import pipelined_latency
from tilewright.timing.result import Event, Pipeline

__all__ = ["Event", "Pipeline", "pipelined_latency"]
