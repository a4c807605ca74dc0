"""Other processes that compute what threads ask for.

Python runs one thread at a time but in kernels, so that threads which spend their time between
kernels are no faster together than one of them.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import perf_counter
from typing import IO, Any, TypeVar

from tilewright.mapper.compilation import is_compiled

Result = TypeVar("Result")

PATIENCE = 0.5  # seconds; the start of a process takes about one
POLL = 0.02  # seconds
STOP = None
GONE = object()


class Helpers:
    """Processes that are there when calculations go on for longer than it takes to start one.

    Parameters
    ----------
    most : int
        How many there may be.
    """

    def __init__(self, most: int) -> None:
        able = most > 0 and sys.executable and is_compiled()
        self.most = most if able else 0
        self.begin = perf_counter()
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
        helper = self.one(function.__module__)
        if helper is not None:
            answer = helper.ask(function, given, stop)
            if answer is not GONE:
                self.idle.append(helper)
                return answer  # type: ignore[no-any-return]
        return function(*given, stop)

    def one(self, module: str) -> Helper | None:
        """Return an idle process, or start one for later calculations with a module."""
        with self.lock:
            if self.idle:
                return self.idle.pop()
            if len(self.started) < self.most and perf_counter() - self.begin > PATIENCE:
                with suppress(OSError):
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
    begin : callable
        What is called with it when it is there.
    """

    def __init__(self, module: str, begin: Callable[[Helper], None]) -> None:
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": paths},
        )
        self.begin = begin
        self.answers: SimpleQueue[Any] = SimpleQueue()
        self.listener = Thread(target=self.listen, name="tilewright-helper", daemon=True)
        self.listener.start()

    def listen(self) -> None:
        """Pass on what the process says, until it is gone."""
        assert self.process.stdout is not None
        with self.process.stdout as said, suppress(EOFError, OSError, pickle.UnpicklingError):
            pickle.load(said)
            self.begin(self)
            while True:
                self.answers.put(pickle.load(said))
        self.answers.put(GONE)

    def ask(
        self, function: Callable[..., Any], given: tuple[Any, ...], stop: Callable[[], bool]
    ) -> Any:
        """Return what the process computes, or GONE."""
        stopped = False
        self.say((function, given))
        while True:
            with suppress(Empty):
                return self.answers.get(timeout=POLL)
            if not stopped and stop():
                stopped = True
                self.say(STOP)

    def say(self, what: Any) -> None:
        """Send something to the process; where that is gone, nothing happens."""
        assert self.process.stdin is not None
        with suppress(OSError, ValueError):  # the latter where it has been closed
            self.process.stdin.write(pickle.dumps(what))
            self.process.stdin.flush()

    def end(self) -> None:
        """Wait until the process has ended."""
        assert self.process.stdin is not None
        self.process.wait()
        self.listener.join()
        with suppress(OSError):
            self.process.stdin.close()


def serve() -> None:
    """Compute what is asked for on the standard input, as long as that is open."""
    import signal

    # the process that asks says when to end
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import_module(sys.argv[1])
    questions: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...], Event]] = SimpleQueue()
    Thread(target=hear, args=(sys.stdin.buffer, questions), daemon=True).start()
    answer: Any = True
    while True:
        pickle.dump(answer, answers)
        answers.flush()
        function, given, stopped = questions.get()
        answer = function(*given, stopped.is_set)


def hear(
    stream: IO[bytes], questions: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...], Event]]
) -> None:
    """Pass on questions, each with an event that is set when it shall end; exit after the last."""
    stopped = Event()
    try:
        while True:
            asked = pickle.load(stream)
            if asked is STOP:
                stopped.set()
            else:
                stopped = Event()
                questions.put((*asked, stopped))
    finally:
        os._exit(0)


if __name__ == "__main__":
    serve()
