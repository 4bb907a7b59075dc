"""All verdicts together."""

import numpy as np
from candidate_samples import STRUCTURAL, bits, evaluation

from planner.constraints.registry import CANDIDATE_CONSTRAINTS, admitted, verdicts
from planner.loaders.rules import load_planning_rules

RULES = load_planning_rules()


def test_constraints_come_first_and_then_the_refusing_rules():
    found = verdicts(evaluation(refusals={"vendor-unsupported": bits(3, 1)}), RULES)
    assert [item.id for item in found] == [
        *(f"{constraint.id}:chat" for constraint in CANDIDATE_CONSTRAINTS),
        "vendor-unsupported",
    ]
    assert found[-1].title == "Accelerator that the engine does not run on"
    assert found[-1].slack.tolist() == [0, -1, 0]


def test_admitted_is_what_no_verdict_excludes():
    found = evaluation(
        refusals={"vendor-unsupported": bits(3, 1)},
        structural={key: bits(3) for key in STRUCTURAL} | {"precision": bits(3, 2)},
    )
    assert admitted(verdicts(found, RULES)).tolist() == [True, False, False]


def test_every_verdict_covers_every_candidate():
    for verdict in verdicts(evaluation(limits_s={"ttft_p99": 1.0}), RULES):
        columns = (verdict.value, verdict.limit, verdict.violated)
        assert {column.shape for column in columns} == {(3,)}
        assert verdict.violated.dtype == np.bool_
        assert verdict.texts is None or len(verdict.texts) == 3
        assert not (verdict.violated & (verdict.slack > 0)).any()
