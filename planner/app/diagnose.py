"""The production debugger: from what was observed to causes, evidence and actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.app.predicted_steps import with_predictions, with_vendor
from planner.diagnosis import findings
from planner.diagnosis.checks import faults_of
from planner.diagnosis.graph import build
from planner.diagnosis.known import known_from
from planner.errors import InputError
from planner.loaders.debugger_rules import load_rulebook
from planner.loaders.observed import load_observed, observed_values
from planner.loaders.yaml_source import Document
from planner.schema.debugger import Rulebook
from planner.schema.diagnosis import Diagnosis, NoteShown
from planner.schema.observation import Observation, ObservedLimits
from planner.schema.readings import Reading, Readout

if TYPE_CHECKING:
    from planner.app.against_plan import PlanFile


def checked_rulebook(overlays: tuple[Path, ...] = (), examples: Path | None = None) -> Rulebook:
    """The rules, after every file and the decision graph were checked.

    Raises:
        InputError: everything wrong with them.
    """
    rulebook = load_rulebook(overlays)
    faults = faults_of(rulebook, examples)
    if faults:
        raise InputError(faults)
    return rulebook


def diagnose(observation: Observation, overlays: tuple[Path, ...] = ()) -> Diagnosis:
    """What is wrong with the deployment that was observed, most likely first.

    Raises:
        InputError: everything wrong with the rules of an overlay.
    """
    return diagnose_readout(Readout(observation), overlays)


def diagnose_readout(
    readout: Readout,
    overlays: tuple[Path, ...] = (),
    *,
    plan: PlanFile | None = None,
    slo_s: Mapping[str, float] | None = None,
) -> Diagnosis:
    """The same for what was read from live metrics, where numbers may be known within bounds only.

    Args:
        readout: what was observed.
        overlays: catalog folders of the user.
        plan: prices every action on this plan, and says where production departs from it. Its limits on
            latency hold where neither the observation nor ``slo_s`` states any.
        slo_s: limits on latency in seconds, such as ``ttft_p99_s``; they replace those of the observation.

    Raises:
        InputError: everything wrong with the rules of an overlay, or with the plan.
    """
    rulebook = checked_rulebook(overlays)
    readout = with_vendor(with_predictions(with_limits(readout, slo_s or {}), overlays), overlays)
    if plan is None:
        return _walked(rulebook, readout)
    from planner.app.against_plan import against, limits_s

    at = plan.deployment(known_from(readout))
    readout = with_vendor(readout, overlays, at.pools[0].gpu)
    stated = limits_s(at) | _limits(readout)
    return against(_walked(rulebook, with_limits(readout, stated)), plan, at)


def diagnose_file(path: Path, overlays: tuple[Path, ...] = ()) -> Diagnosis:
    """The same for an observation file.

    Raises:
        InputError: everything wrong with the file, or with the rules of an overlay.
    """
    return diagnose_readout(load_observed(path), overlays)


def diagnose_values(values: dict[str, Any], overlays: tuple[Path, ...] = ()) -> Diagnosis:
    """The same for plain values under the names of an observation.

    Raises:
        InputError: everything wrong with them, or with the rules of an overlay.
    """
    return diagnose_readout(values_read(values), overlays)


def values_read(values: dict[str, Any]) -> Readout:
    """Plain values under the names of an observation, checked.

    Raises:
        InputError: everything wrong with them.
    """
    return observed_values(Document("observation", b"", values))


def with_limits(readout: Readout, slo_s: Mapping[str, float]) -> Readout:
    """A readout in which these limits on latency hold, in the place of its own."""
    if not slo_s:
        return readout
    limits = ObservedLimits(**{**_limits(readout), **slo_s})
    exact = {f"slo.{name}": Reading.exactly(value) for name, value in slo_s.items()}
    observation = readout.observation.model_copy(update={"slo": limits})
    return replace(readout, observation=observation, readings={**readout.readings, **exact})


def _limits(readout: Readout) -> dict[str, float]:
    slo = readout.observation.slo
    return {} if slo is None else slo.model_dump(exclude_none=True)


def _walked(rulebook: Rulebook, readout: Readout) -> Diagnosis:
    found = findings.diagnose(
        build(rulebook),
        rulebook,
        known_from(readout),
        single_sample=any(note.kind == "lifetime" for note in readout.notes),
    )
    notes = tuple(NoteShown(kind=note.kind, text=note.text, metric=note.metric) for note in readout.notes)
    return found.model_copy(
        update={"exporters": readout.exporters, "origins": dict(readout.origins), "notes": notes}
    )
