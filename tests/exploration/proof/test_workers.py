"""Whoever searches, and whichever of them die: the front is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.exploration.test_explore import MATMUL, NETWORK, small_space

from tilewright import load_architecture
from tilewright.errors import InputError
from tilewright.exploration import Certificate, Exploration, explore
from tilewright.exploration.proof import workers
from tilewright.exploration.proof.workers import Cluster, Processes, searched, searched_alike

MACHINE = load_architecture("simple")


class Gone:
    """A client whose scheduler has gone."""

    status = "closed"

    def submit(self, *_: Any, **__: Any) -> Any:
        raise ConnectionError

    def nthreads(self) -> dict[str, int]:
        return {}


def test_what_nobody_else_can_do_is_done_here() -> None:
    cluster = object.__new__(Cluster)
    cluster._client, cluster._lost, cluster.count = Gone(), (OSError,), 2
    (found,) = cluster.search([(MATMUL, MACHINE, "energy")])
    assert found == searched(MATMUL, MACHINE, "energy")


def test_a_worker_with_other_code_is_refused() -> None:
    with pytest.raises(InputError, match="another version"):
        searched_alike(("0.0",), MATMUL, MACHINE, "energy")


def test_an_address_without_a_scheduler_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "CONNECTING", 0.2)
    with pytest.raises(InputError, match="no scheduler of Dask answers"):
        Cluster("tcp://127.0.0.1:1")
    with pytest.raises(InputError, match="no scheduler of Dask answers"):
        Cluster("nowhere://")


@pytest.mark.slow
def test_the_work_of_a_process_that_is_killed_is_done_here() -> None:
    those = Processes(2)
    tasks = [(MATMUL, MACHINE, "energy"), (MATMUL, MACHINE, "latency")]
    expected = [searched(*task) for task in tasks]
    assert list(those.search(tasks)) == expected
    assert those._pool is not None
    for process in list(those._pool._processes.values()):
        process.kill()
        process.join()
    assert list(those.search(tasks)) == expected
    assert list(those.search(tasks)) == expected
    those.close()


def explored(**options: Any) -> Exploration:
    # for the product, bounds hand out most optima without a search
    return explore(NETWORK, small_space(""), axes=["energy", "area"], objective="energy", **options)


def dask(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler, and three workers in processes of their own that nobody starts again."""
    distributed = pytest.importorskip("distributed")
    file = str(tmp_path / "scheduler.json")
    words = ("--scheduler-file", file, "--no-dashboard")
    scheduler = dask("dask_scheduler", "--host", "127.0.0.1", "--port", "0", *words)
    own = ("--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path))
    hands = [dask("dask_worker", *words, *own) for _ in range(3)]
    try:
        while not Path(file).exists():
            assert scheduler.poll() is None
            time.sleep(0.1)
        with distributed.Client(scheduler_file=file, set_as_default=False) as client:
            client.wait_for_workers(3)
            address = client.scheduler.address
        yield address, hands
    finally:
        for process in (*hands, scheduler):
            process.kill()
            process.wait()


@pytest.mark.slow
def test_the_front_is_the_same_when_workers_of_a_cluster_die(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "PATIENCE", 0.5)
    address, hands = cluster
    alone = explored()
    helped: list[int] = []
    search = Cluster.search

    def one_dies(self: Cluster, tasks: Any) -> Iterator[Any]:
        helped.append(len(tasks))
        found = search(self, tasks)
        if len(helped) == 1:  # in the midst of its work
            os.kill(hands[0].pid, signal.SIGKILL)
        yield from found

    monkeypatch.setattr(Cluster, "search", one_dies)
    assert explored(scheduler=address).front == alone.front
    assert sum(helped) > 1

    def all_die(certificate: Certificate, front: int) -> None:
        for each in hands:
            each.kill()

    found = explored(scheduler=address, progress=all_die)
    assert found.optimal and found.front == alone.front
