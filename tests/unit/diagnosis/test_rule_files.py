"""The debugger's rules as they are shipped: examples, healthy twins, names, and how they hang together."""

from pathlib import Path
from typing import get_args

import pytest

from planner.app.diagnose import checked_rulebook
from planner.diagnosis import findings
from planner.diagnosis.graph import build
from planner.diagnosis.known import known_from
from planner.loaders.observed import load_observed
from planner.loaders.rules import load_planning_rules
from planner.schema.debugger_words import LAYERS, Knob

ROOT = Path(__file__).parents[3]
BOOK = checked_rulebook(examples=ROOT / "tests" / "rules")
EXAMPLES = sorted(path for name in BOOK.rules for path in (ROOT / "tests" / "rules" / name).glob("*.yaml"))
GRAPH = build(BOOK)
OBSERVATIONS = sorted((ROOT / "problems" / "observations").glob("*.yaml"))


def diagnosed(known):
    return findings.diagnose(GRAPH, BOOK, known)


def known(path):
    return known_from(load_observed(path))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_rules_fire_first_or_stay_silent_as_their_examples_say(path):
    found = [finding.rule for finding in diagnosed(known(path)).findings]
    if path.stem.startswith("fires-"):
        assert found[0] == path.parent.name
    else:
        assert path.stem.startswith("silent-")
        assert path.parent.name not in found


@pytest.mark.parametrize("path", OBSERVATIONS, ids=lambda path: path.stem)
def test_observations_have_findings_unless_they_are_healthy(path):
    found = diagnosed(known(path))
    if "healthy" in path.stem:
        assert (found.findings, found.symptoms, found.need) == ((), (), ())
    elif "half-seen" in path.stem:
        assert found.findings == ()
        assert found.need
    else:
        assert found.findings


@pytest.mark.parametrize("path", OBSERVATIONS, ids=lambda path: path.stem)
def test_taking_a_metric_away_adds_no_finding_but_doubtful_ones(path):
    values = known(path)
    before = {finding.rule for finding in diagnosed(values).findings}
    for name in values:
        if not name.startswith("slo."):  # without a limit a usual value takes its place
            less = {key: value for key, value in values.items() if key != name}
            after = [finding for finding in diagnosed(less).findings if not finding.ranking.in_doubt]
            assert {finding.rule for finding in after} <= before


def test_every_layer_has_a_rule():
    assert {rule.layer for rule in BOOK.rules.values()} == set(LAYERS)


def test_ids_differ_from_those_of_planning_rules():
    assert not set(BOOK.rules) & {rule.id for rule in load_planning_rules()}


def test_every_knob_of_the_contract_is_described():
    assert set(BOOK.knobs) == set(get_args(Knob))
