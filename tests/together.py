"""Which tests run in one process, so that what they share is made once, and which run first."""

import re
from pathlib import Path

from sample_plans import PROBLEMS
from xdist.scheduler import LoadScopeScheduling

TESTS = Path(__file__).parent
FIRST = ("verbs", "golden", "reference", "properties", "interfaces")
"""Folders whose tests take long: what comes last should be short, or one process waits for the other."""
SHARED = re.compile(
    r"tests/(interfaces|reference/test_(measurements|percentiles)|unit/(app|diagnosis|explain|report))\b"
)
"""Files whose tests share servers, plans or studies, whatever their parameters."""
_SAMPLE = re.compile(rf"\[(?:.*-)?({'|'.join(path.stem for path in PROBLEMS)})\b")


class Together(LoadScopeScheduling):
    """`--dist loadgroup` by the names of tests: its marks do nothing in pytest 9.2 (pytest-xdist #1386)."""

    def _split_scope(self, nodeid):
        return scope(nodeid)

    def remove_node(self, node):
        """The test amid which a process died has failed: it is not run again, to kill the next one too.

        Scopes that are done are not handed out again, as xdist 3.8 does: who gets nothing else waits forever.
        """
        scopes = self.assigned_work.pop(node)
        died_in = next((unit for unit in scopes.values() if not all(unit.values())), None)
        if died_in is None:
            return None
        test = next(test for test, done in died_in.items() if not done)
        died_in[test] = True
        self.workqueue.update((name, unit) for name, unit in scopes.items() if not all(unit.values()))
        for other in self.assigned_work:
            self._reschedule(other)
        return test


def scope(nodeid):
    """Tests of a sample problem, of a file that shares, of one with the same parameters, or without any."""
    file, _, test = nodeid.partition("::")
    sample = _SAMPLE.search(test)
    if sample:
        return sample.group(1)
    if SHARED.match(file):
        return file
    return file + "".join(test.partition("[")[1:])


def longest_first(item):
    """A key to sort tests by."""
    folder = item.path.relative_to(TESTS).parts[0]
    return FIRST.index(folder) if folder in FIRST else len(FIRST)
