"""Where work is given to processes: a `concurrent.futures.Executor`, here or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from planner.errors import input_error
from planner.extras import check_extra

_CONNECT_S = 20.0


@dataclass(frozen=True)
class Where:
    """Who does the work."""

    processes: int = 1
    """On this machine; 1: this process itself."""
    scheduler: str | None = None
    """Address of a Dask scheduler, whose workers have the planner installed; in place of processes."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def executor(where: Where) -> Iterator[Executor]:
    """Processes of this machine, or those of a cluster.

    Raises:
        InputError: the cluster cannot be reached, or the extra ``cluster`` is not installed.
    """
    if where.scheduler is not None:
        with _cluster(where.scheduler) as found:
            yield found
        return
    pool = ProcessPoolExecutor(
        where.processes, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_terminal
    )
    try:
        yield pool
    except BaseException:
        for child in multiprocessing.active_children():
            child.kill()  # what they are doing is of no use to anybody now
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_terminal() -> None:
    """Ctrl-C ends a worker without words: the process that waits for it speaks."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def check_cluster(address: str) -> None:
    """Refuse a cluster where what reaches one is missing.

    Raises:
        InputError: the extra ``cluster`` is not installed.
    """
    check_extra("--scheduler", "", address, "cluster", ("distributed",))


@contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    check_cluster(address)
    import distributed

    connect: Any = distributed.Client

    try:
        client = connect(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as problem:
        expected = "the address of a Dask scheduler that runs, such as tcp://10.0.0.5:8786"
        raise input_error("--scheduler", "", f'"{address}"', expected) from problem
    with client:
        yield client.get_executor(pure=False)
