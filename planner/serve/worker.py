"""A worker: a process that answers one question after the other, and that may be killed at any time.

Questions come as lines of JSON on standard input; progress and answers go out as such lines too.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import asdict
from typing import IO, Any

from planner.errors import CannotExpressError, Fault, InputError, PlannerError

ANSWERED, BAD, BUG = 200, 422, 500


def main(memory_bytes: int) -> None:
    """Answer until standard input ends.

    Args:
        memory_bytes: address space of this process at most.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its workers
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever libraries print is no answer
    _limit(memory_bytes)
    asked: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, asked), daemon=True).start()
    from planner.loaders.named_files import CONFINED

    CONFINED.set(True)
    _warm()
    while True:
        _say(out, _answered(json.loads(asked.get()), out))


def _warm() -> None:
    """Load code, catalog and rules before the first question, so that it is not the first that waits."""
    with suppress(Exception):  # whoever asks is told what is wrong
        from planner.app import curve, estimate, fit, stated_problem  # noqa: F401 - loaded, not used
        from planner.loaders.catalog import load_catalog
        from planner.loaders.rules import load_planning_rules
        from planner.report import curve_text, estimate_text, fit_text  # noqa: F401 - the same
        from planner.serve import questions  # noqa: F401 - the same

        load_catalog(())
        load_planning_rules(())


def _limit(memory_bytes: int) -> None:
    with suppress(ImportError):  # not on every system
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read(source: IO[bytes], asked: queue.Queue[bytes]) -> None:
    """Questions as they come; without the server there is nobody to work for."""
    for line in source:
        asked.put(line)
    with suppress(OSError):
        os.killpg(0, signal.SIGKILL)  # processes that a search started end too
    os._exit(0)


def _say(out: IO[bytes], told: dict[str, Any]) -> None:
    out.write(json.dumps(told).encode() + b"\n")
    out.flush()


def _answered(question: dict[str, Any], out: IO[bytes]) -> dict[str, Any]:
    from planner.serve.kinds import KINDS
    from planner.serve.questions import answer

    kind = question["kind"]
    try:
        with tempfile.TemporaryDirectory(prefix="planner-serve-") as folder:
            os.chdir(folder)
            try:
                asked = KINDS[kind].asked.model_validate(question["asked"])
                document = answer(kind, asked, lambda step: _say(out, {"progress": step}))
            finally:
                os.chdir("/")
    except InputError as problem:
        return {"status": BAD, "faults": [asdict(fault) for fault in problem.faults]}
    except CannotExpressError as problem:
        return _bad(Fault(kind, "", problem.reasons[0], "a question that can be answered"))
    except PlannerError as problem:
        return _bad(Fault(kind, "", str(problem), "a larger time_limit_s, or a smaller question"))
    except MemoryError:
        return _bad(Fault(kind, "", "more than the memory of a worker", "a smaller question")) | {
            "spent": True
        }
    except Exception as problem:
        if os.environ.get("PLANNER_DEBUG") == "1":
            import traceback

            traceback.print_exc()
        return {"status": BUG, "bug": f"{type(problem).__name__}: {problem}"[:500]}
    return {"status": ANSWERED, "document": document.decode()}


def _bad(fault: Fault) -> dict[str, Any]:
    return {"status": BAD, "faults": [asdict(fault)]}


if __name__ == "__main__":
    main(int(sys.argv[1]))
