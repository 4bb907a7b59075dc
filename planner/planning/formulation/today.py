"""The fleet of today, as a problem names it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from planner.candidates.market import find_id
from planner.errors import Fault, InputError, nearest
from planner.loaders.named_files import place
from planner.loaders.today import load_today
from planner.schema.catalog_index import Catalog
from planner.schema.fleet_answers import RatedPool, Today
from planner.schema.problem import Problem


def today_of(problem: Problem, folder: Path, catalog: Catalog, known: Mapping[str, str]) -> Today | None:
    """Today's pools and GPUs under the names of the problem; None where it names none.

    Args:
        problem: with its ``start``.
        folder: of the files that it names.
        catalog: for other names of the same GPU.
        known: GPUs of the problem by catalog id (or by name, where a table names them freely).

    Raises:
        InputError: everything wrong with the file, and GPUs that nobody knows.
    """
    if problem.start is None:
        return None

    def named(gpu: str) -> str:
        found = find_id(catalog.accelerator, gpu)
        return known.get(found, known.get(gpu, gpu))

    def is_known(gpu: str) -> bool:
        return catalog.accelerator(gpu) is not None or gpu in known or gpu in known.values()

    if isinstance(problem.start, str):
        today = load_today(place(folder, problem.start), is_known, sorted(known.values()))
    else:
        today = Today(pools=tuple(RatedPool(**pool.model_dump()) for pool in problem.start))
        names = sorted(known.values())
        faults = [
            Fault(
                "start", f"[{place}].gpu", f'"{pool.gpu}"', "a GPU of the problem", nearest(pool.gpu, names)
            )
            for place, pool in enumerate(today.pools)
            if not is_known(pool.gpu)
        ]
        if faults:
            raise InputError(faults)
    strange = sorted({gpu for gpu in (*today.gpus, *(p.gpu for p in today.pools)) if not is_known(gpu)})
    if strange:
        names = sorted(known.values())
        raise InputError(
            [Fault("start", "", f'"{gpu}"', "GPUs of the problem", nearest(gpu, names)) for gpu in strange]
        )
    pools = tuple(pool.model_copy(update={"gpu": named(pool.gpu)}) for pool in today.pools)
    gpus: dict[str, int] = {}
    for gpu, count in today.gpus.items():
        gpus[named(gpu)] = gpus.get(named(gpu), 0) + count
    if not gpus:
        for pool in pools:
            gpus[pool.gpu] = gpus.get(pool.gpu, 0) + pool.gpus
    return today.model_copy(update={"pools": pools, "gpus": gpus})
