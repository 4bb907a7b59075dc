"""Many questions: in order, once, kept in a file, and answered whatever becomes of workers."""

import json
import os
import signal
import time
from pathlib import Path

import pytest

from planner.errors import InputError, StoppedError
from planner.tasks.executor import Where
from planner.tasks.many import Task, answers


def squared(number, folder=None):
    """Answer, and note in a folder who was asked."""
    if folder is not None:
        (Path(folder) / f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    return {"square": number * number}


def dies_once(number, folder):
    """The process that is asked first ends, as for want of memory."""
    mark = Path(folder) / f"died-{number}"
    if number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"square": number * number}


def dies(number):
    os.kill(os.getpid(), signal.SIGKILL)


def fails(number):
    raise ValueError(f"no {number}")


def slow(number, folder):
    """Slow enough that a worker can be killed amid it."""
    (Path(folder) / f"began-{number}-{os.getpid()}").touch()
    time.sleep(0.3)
    return {"square": number * number}


def _tasks(function, *more, count=8):
    return [Task(f"task {number}", function, (number, *more)) for number in range(count)]


EXPECTED = [{"square": number * number} for number in range(8)]


@pytest.mark.parametrize("processes", [1, 2])
def test_answers_come_in_the_order_of_the_questions(processes):
    told = []
    assert answers(_tasks(squared), Where(processes), progress=told.append) == EXPECTED
    assert told[0].endswith("0 of 8")
    assert told[-1] == f"[{'#' * 20}] 8 of 8"


def test_a_file_of_results_is_not_asked_again(tmp_path):
    file, asked = tmp_path / "results.jsonl", tmp_path / "asked"
    asked.mkdir()
    answers(_tasks(squared, str(asked), count=5), Where(), results=file)
    whole = file.read_bytes()
    # The run was cut off amid its last line.
    file.write_bytes(whole[: len(whole) - 10])
    assert answers(_tasks(squared, str(asked)), Where(), results=file) == EXPECTED
    assert len(list(asked.iterdir())) == 5 + 4
    named = [json.loads(line)["task"] for line in file.read_text().splitlines()]
    assert named == [f"task {number}" for number in range(8)]


def test_a_file_of_something_else_is_refused(tmp_path):
    (tmp_path / "plan.json").write_text('{"schema": 1}\n')
    with pytest.raises(InputError, match="results of planner"):
        answers(_tasks(squared), Where(), results=tmp_path / "plan.json")


def test_a_lost_worker_loses_no_result(tmp_path):
    file = tmp_path / "results.jsonl"
    assert answers(_tasks(dies_once, str(tmp_path)), Where(2), results=file) == EXPECTED
    assert len(file.read_text().splitlines()) == 8


def test_work_that_kills_every_worker_ends():
    with pytest.raises(StoppedError, match="workers were lost"):
        answers(_tasks(dies, count=1), Where(2))


def test_faults_of_the_work_come_through():
    with pytest.raises(ValueError, match="no 0"):
        answers(_tasks(fails, count=1), Where(2))


def test_no_cluster_is_told():
    with pytest.raises(InputError, match="Dask scheduler"):
        answers(_tasks(squared), Where(scheduler="nonsense://"))


@pytest.mark.filterwarnings("ignore")  # of the cluster, about its own pipes
def test_a_cluster_answers_although_a_worker_is_killed(tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        killed = []

        def kill(_):
            """After the first answer, the process of a task that runs."""
            began = sorted(tmp_path.glob("began-*"), key=lambda path: path.stat().st_mtime_ns)
            if began and not killed:
                killed.append(int(began[-1].name.rpartition("-")[2]))
                os.kill(killed[0], signal.SIGKILL)

        where = Where(scheduler=cluster.scheduler_address)
        found = answers(_tasks(slow, str(tmp_path)), where, results=tmp_path / "r.jsonl", progress=kill)
        assert found == EXPECTED
        assert killed
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 8
