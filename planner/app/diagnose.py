"""The production debugger: from what was observed to causes, evidence and actions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.diagnosis import findings
from planner.diagnosis.checks import faults_of
from planner.diagnosis.graph import build
from planner.diagnosis.known import known_from
from planner.errors import InputError
from planner.loaders.debugger_rules import load_rulebook
from planner.loaders.observed import load_observed, observed_values
from planner.loaders.yaml_source import Document
from planner.schema.debugger import Rulebook
from planner.schema.diagnosis import Diagnosis
from planner.schema.observation import Observation
from planner.schema.readings import Readout


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


def diagnose_readout(readout: Readout, overlays: tuple[Path, ...] = ()) -> Diagnosis:
    """The same for what was read from live metrics, where numbers may be known within bounds only.

    Raises:
        InputError: everything wrong with the rules of an overlay.
    """
    rulebook = checked_rulebook(overlays)
    return findings.diagnose(build(rulebook), rulebook, known_from(readout))


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
    return diagnose_readout(observed_values(Document("observation", b"", values)), overlays)
