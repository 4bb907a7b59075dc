"""Planner: the cheapest GPU fleet that keeps every limit, proved and explained.

``planner.load(path)`` gives a problem with ``.solve()``; ``planner.estimate(...)`` predicts one
configuration. Both answer with the documents that the command line prints as JSON.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.app.session import Session
    from planner.schema.diagnosis import Diagnosis
    from planner.schema.observation import Observation
    from planner.schema.plan import Estimate

__all__ = ["diagnose", "estimate", "load"]


def load(path: str | Path, catalog: tuple[str | Path, ...] = ()) -> Session:
    """A problem file, read and checked, ready to be solved.

    Args:
        path: the problem file.
        catalog: overlay folders, the last one winning.

    Raises:
        planner.errors.InputError: everything wrong with it.
    """
    from planner.app.session import Session

    return Session.load(Path(path), tuple(Path(folder) for folder in catalog))


def estimate(**asked: Any) -> Estimate:
    """One configuration at one load; see `planner.app.estimate` for the arguments.

    Raises:
        planner.errors.InputError: unknown names.
    """
    from planner.app.estimate import estimate as use_case

    return use_case(**asked)


def diagnose(
    observation: Observation | dict[str, Any] | str | Path, catalog: tuple[str | Path, ...] = ()
) -> Diagnosis:
    """What is wrong with a deployment, most likely first.

    Args:
        observation: an observation, its fields in a dictionary, or the path of an observation file.
        catalog: overlay folders, the last one winning.

    Raises:
        planner.errors.InputError: everything wrong with the observation.
    """
    from planner.app import diagnose as use_case

    overlays = tuple(Path(folder) for folder in catalog)
    if isinstance(observation, str | Path):
        return use_case.diagnose_file(Path(observation), overlays)
    if isinstance(observation, dict):
        return use_case.diagnose_values(observation, overlays)
    return use_case.diagnose(observation, overlays)
