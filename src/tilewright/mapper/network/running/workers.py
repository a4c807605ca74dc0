"""Other processes that compute what threads ask for.

Only kernels run beside each other in threads; those that spend their time between kernels are no
faster together than one of them.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import perf_counter
from typing import IO, Any, TypeVar

from tilewright.mapper.network.running.compilation import can_keep, is_compiled
from tilewright.processes import other_process

Result = TypeVar("Result")
Questions = SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...], Event]]

MOST = 7  # helpers; each takes some 250 MB
PATIENCE = 0.5  # seconds; the start of a process takes about one
POLL = 0.02  # seconds
STOP = pickle.dumps(None)
GONE = object()


class Helpers:
    """Processes, started once calculations last longer than that takes.

    Parameters
    ----------
    most : int
        How many there may be.
    """

    def __init__(self, most: int) -> None:
        able = most > 0 and sys.executable and not getattr(sys, "frozen", False)
        able = able and can_keep() and is_compiled()
        self.most = min(most, MOST) if able else 0
        self.since = perf_counter()
        self.started: list[Helper] = []
        self.idle: list[Helper] = []
        self.lock = Lock()

    def compute(
        self, function: Callable[..., Result], *given: Any, stop: Callable[[], bool]
    ) -> Result:
        """Return ``function(*given, stop)``, from an idle process, or else from this one.

        The function can be imported, and what it is given and returns can be pickled. It has to
        end soon when it is told to `stop`. What a process fails at is computed here.
        """
        helper = None if stop() else self.idle_one(function.__module__)
        if helper is not None:
            answer = helper.ask(pickle.dumps((function, given)), stop)
            if answer is not GONE:
                self.idle.append(helper)
                return answer  # type: ignore[no-any-return]
        return function(*given, stop)

    def idle_one(self, module: str) -> Helper | None:
        """Return an idle process, or start one for later calculations with a module."""
        with self.lock:
            if self.idle:
                return self.idle.pop()
            if len(self.started) < self.most and perf_counter() - self.since > PATIENCE:
                # where none can be started, this process goes on alone
                with suppress(OSError, RuntimeError, ValueError):
                    self.started.append(Helper(module, self.idle.append))
        return None

    def close(self) -> None:
        """End all processes."""
        with self.lock:
            self.most = 0
        for helper in self.started:
            helper.process.kill()
        for helper in self.started:
            helper.end()


class Helper:
    """Another process.

    Parameters
    ----------
    module : str
        What it imports first.
    ready : callable
        Called with this helper once it can be asked.
    """

    def __init__(self, module: str, ready: Callable[[Helper], None]) -> None:
        self.process = other_process(
            __name__, module, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.ready = ready
        self.answers: SimpleQueue[Any] = SimpleQueue()
        self.listener = Thread(target=self.listen, name="tilewright-helper", daemon=True)
        self.listener.start()

    def listen(self) -> None:
        """Pass on what the process says, until it is gone, or says what makes no sense."""
        assert self.process.stdout is not None
        try:
            with self.process.stdout as said, suppress(Exception):
                pickle.load(said)
                self.ready(self)
                while True:
                    self.answers.put(pickle.load(said))
        finally:
            self.answers.put(GONE)

    def ask(self, question: bytes, stop: Callable[[], bool]) -> Any:
        """Return what the process computes, or GONE."""
        stopped = False
        self.say(question)
        while True:
            with suppress(Empty):
                return self.answers.get(timeout=POLL)
            if not stopped and stop():
                stopped = True
                self.say(STOP)

    def say(self, what: bytes) -> None:
        """Send something to the process; where that is gone, nothing happens."""
        assert self.process.stdin is not None
        with suppress(OSError, ValueError):  # the latter where it has been closed
            self.process.stdin.write(what)
            self.process.stdin.flush()

    def end(self) -> None:
        """Wait until the process has ended."""
        assert self.process.stdin is not None
        self.process.wait()
        with suppress(OSError):
            self.process.stdin.close()
        self.listener.join()


def serve() -> None:
    """Compute what is asked for on the standard input, as long as that is open."""
    # the process that asks says when to end
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    import_module(sys.argv[1])
    questions: Questions = SimpleQueue()
    Thread(target=hear, args=(asked, questions), daemon=True).start()
    answer: Any = True
    while True:
        pickle.dump(answer, answers)
        answers.flush()
        function, given, stopped = questions.get()
        answer = function(*given, stopped.is_set)


def hear(stream: IO[bytes], questions: Questions) -> None:
    """Pass on questions, each with an event that is set when it shall end; exit after the last."""
    stopped = Event()
    try:
        while True:
            asked = pickle.load(stream)
            if asked is None:
                stopped.set()
            else:
                stopped = Event()
                questions.put((*asked, stopped))
    finally:
        os._exit(0)


if __name__ == "__main__":
    try:
        serve()
    finally:
        os._exit(1)
