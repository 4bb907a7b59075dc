"""Listed batches: feasible when, infeasible when."""

import numpy as np
from candidate_samples import bits, evaluation

from planner.constraints.batch import BatchConstraint

QUICK = {metric: bits(3) for metric in ("ttft", "itl", "tpot", "e2e")}


def check(max_batch, max_sequences, slow=QUICK):
    found = evaluation(
        max_batch=np.array(max_batch), max_sequences=np.array(max_sequences), latency_violated=slow
    )
    return BatchConstraint().check(found)


def test_feasible_when_a_listed_batch_fits():
    verdict = check([64, 1, 8], [100, 1, 8])
    assert verdict.id == "max-batch:chat"
    assert not verdict.violated.any()


def test_infeasible_when_memory_holds_fewer_than_the_smallest_listed():
    verdict = check([64, 0, 0], [100, 63, 1])
    assert verdict.violated.tolist() == [False, True, True]
    assert verdict.slack.tolist() == [0, -1, -1]
    assert verdict.texts[1] == "memory holds 63 sequences"


def test_memory_and_latency_keep_their_own_verdicts():
    slow = QUICK | {"itl": bits(3, 0)}
    assert not check([0, 0, 0], [9, 0, 0], slow).violated.any()
