"""Planner: the cheapest GPU fleet that keeps every limit, proved and explained.

``planner.plan(model=..., rps=..., isl=..., osl=...)`` plans in one call; ``planner.load(path)`` gives a
problem with ``.solve()``, and so does a dictionary; ``planner.estimate(...)`` predicts one configuration. All
answer with the documents that the command line prints as JSON, as objects with ``to_dict()`` and
``to_frame()``.
"""

from __future__ import annotations

# Nothing is imported here: the command line takes over interrupts before anything else loads.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from planner.app.asked_in_python import capacity, diagnose, export, load, plan
    from planner.app.curve import curve
    from planner.app.estimate import estimate
    from planner.app.fit import fit

__all__ = ["capacity", "curve", "diagnose", "estimate", "export", "fit", "load", "plan"]

_ROOMS = {"curve": "curve", "estimate": "estimate", "fit": "fit"}
"""Modules of `planner.app` by name; the other functions stand in one."""


def __getattr__(name: str) -> object:
    """A function of the package, loaded when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = import_module(f"planner.app.{_ROOMS.get(name, 'asked_in_python')}")
    function = globals()[name] = getattr(module, name)
    return function


def __dir__() -> list[str]:
    """What can be asked for."""
    return sorted({*globals(), *__all__})
