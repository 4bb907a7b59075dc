"""Flags that stand for a problem file: declared once, for every command that takes a problem in words."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

from typer import Option

from planner.interfaces.options import LIMITS


@dataclass(frozen=True)
class _Flag:
    """One option; its name is that of the argument, with dashes."""

    metavar: str
    help: str
    repeats: bool = False
    shown: bool = True
    switch: bool = False


_METRICS = {
    "ttft": "the time to first token",
    "itl": "the gap between two tokens",
    "tpot": "the time per output token",
    "e2e": "the whole answer",
}
_STATISTICS = "-mean, -p50, -p90, -p95 or -p99"


def _limits() -> dict[str, _Flag]:
    named = {
        metric: _Flag(
            "TIME", f"Limit on {words}, such as 50ms or 1s: its P95, or with {_STATISTICS} behind the flag."
        )
        for metric, words in _METRICS.items()
    }
    return named | {limit: _Flag("TIME", f"Limit: {limit}.", shown=False) for limit in LIMITS}


FLAGS: Mapping[str, _Flag] = {
    "model": _Flag("M", "Hugging Face or catalog id, or a path to a config.json. Instead of a problem file."),
    "rps": _Flag("X", "Requests per second at the peak."),
    "concurrency": _Flag("N", "Requests in flight at the peak, instead of --rps."),
    "users": _Flag("N", "People who ask, read and ask again, instead of --rps."),
    "think_time": _Flag("TIME", "From an answer to the same user's next request; default 20 s."),
    "requests_per_day": _Flag("N", "Requests in 24 hours, instead of --rps."),
    "tokens_per_day": _Flag("N", "Tokens written in 24 hours, instead of --rps."),
    "shape": _Flag("NAME", "Hours of that day: office (default), consumer or flat."),
    "isl": _Flag("TOKENS", "Input tokens of a request, such as 800, 8k (8,192) or '600 German words'."),
    "osl": _Flag("TOKENS", "Output tokens of a request."),
    "archetype": _Flag("NAME", "Lengths and limits of a kind of work, such as chat, rag or agentic."),
    "golden": _Flag("", "With --archetype: its safe batch and KV format, not the cheapest.", switch=True),
    "prefix_cache_hit": _Flag("SHARE", "Share of prompt tokens found in the prefix cache, such as 30%."),
    **_limits(),
    "gpu": _Flag("G[=N]", "Only these GPUs, and how many there are. May repeat.", repeats=True),
    "owned": _Flag("G=N", "GPUs that are there and paid anyway. May repeat.", repeats=True),
    "budget": _Flag("MONEY", "Money at most, such as '60 USD/h'."),
    "engine": _Flag("E", "Serving engine, or several with commas; default vllm."),
    "weights": _Flag("P", "Formats of the weights to choose from, such as bf16,fp8."),
    "kv": _Flag("P", "Formats of the KV cache to choose from."),
    "name": _Flag("NAME", "Name of the problem; default: the model's."),
}


def with_problem_flags(command: Callable[..., None]) -> Callable[..., None]:
    """A command with all flags of a problem; it gets those that were given as ``stated``."""
    hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[parameter.name])
        for parameter in inspect.signature(command).parameters.values()
        if parameter.name != "stated"
    ]
    flags = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(name))
        for name in FLAGS
    ]

    def asked(**given: Any) -> None:
        stated = {name: value for name in FLAGS if (value := given.pop(name)) not in (None, [], False)}
        command(**given, stated=stated)

    keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
    signature = inspect.Signature([*keyword, *flags], return_annotation=None)
    asked.__name__, asked.__doc__ = command.__name__, command.__doc__
    asked.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()} | {"return": None}
    asked.__signature__ = signature  # type: ignore[attr-defined]
    return asked


def flag_of(name: str) -> str:
    """``ttft_p95`` as ``--ttft-p95``."""
    return f"--{name.replace('_', '-')}"


def _annotation(name: str) -> Any:
    flag = FLAGS[name]
    if flag.switch:
        return Annotated[bool | None, Option(flag_of(name), help=flag.help)]
    kind: Any = list[str] | None if flag.repeats else str | None
    option = Option(flag_of(name), metavar=flag.metavar, help=flag.help, hidden=not flag.shown)
    return Annotated[kind, option]
