"""What a Prometheus server has counted of the requests of each model, as if it were a run of a tool."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.loaders.board import Board
from planner.loaders.histogram import added
from planner.schema.benchmark import BenchmarkPoint
from planner.schema.exporter import Exporter
from planner.schema.readings import Series

_MODEL = ("model_name", "model")
_METRICS = ("ttft", "itl", "tpot", "e2e")
SOURCE = "prometheus"


def served(exporters: Sequence[Exporter], series: Iterable[Series], where: str) -> tuple[BenchmarkPoint, ...]:
    """The requests of each model, by the first exporter that times their first tokens.

    Args:
        exporters: by order.
        series: of all servers, over one window.
        where: the server, for messages.
    """
    everything = tuple(series)
    models = dict.fromkeys(_model(one) for one in everything)
    found = []
    for model in models:
        mine = [one for one in everything if _model(one) == model]
        boards = (Board(exporter, mine) for exporter in exporters)
        point = next((run for board in boards if (run := _run(board, model, where)) is not None), None)
        if point is not None:
            found.append(point)
    return tuple(found)


def _model(one: Series) -> str:
    return next((one.labels[label] for label in _MODEL if one.labels.get(label)), "")


def _run(board: Board, model: str, where: str) -> BenchmarkPoint | None:
    """None where nothing was answered in the window."""
    histograms = {
        metric: found
        for metric in _METRICS
        if metric in board.exporter.series and (found := added(board.buckets(metric)))
    }
    counted = histograms.get("ttft", {})
    requests = round(max(counted.values(), default=0.0))
    seconds = max((one.seconds or 0.0 for one in board.all()), default=0.0)
    if not requests or not seconds:
        return None
    prompts = board.totals("prompt") if "prompt" in board.exporter.series else (0.0, 0.0)
    return BenchmarkPoint(
        source=SOURCE,
        where=f"{where} ({model})" if model else where,
        raw_sha256="",
        model=model or None,
        isl_mean_tokens=prompts[0] / prompts[1] if prompts[1] else None,
        offered_rps=requests / seconds,
        requests_per_s=requests / seconds,
        completed=requests,
        histograms=histograms,
    )
