"""What runs today, out of manifests and command lines, as pools that a problem may start from."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.characters import spelled
from planner.errors import InputError, nearest
from planner.loaders.catalog import load_catalog
from planner.loaders.files_out import check_target, write_whole
from planner.loaders.launch_facts import load_engine_options, load_platform
from planner.loaders.messages import show
from planner.loaders.running import read_running
from planner.loaders.running.layouts import Layout, engine_of, layout_of, with_auto
from planner.planning.requests import Names
from planner.schema.catalog import Model
from planner.schema.catalog_index import Catalog
from planner.schema.engine_options import EngineOptions, Platform
from planner.schema.running import Running, RunningPool, Started

WHERE = "planner today"
PLATFORM = "kubernetes"
_PREFIXES = ("nvidia-tesla-", "nvidia-", "tesla-", "amd-")


def today(paths: Sequence[Path], gpu: str | None = None, overlays: tuple[Path, ...] = ()) -> Running:
    """The pools that files describe.

    Args:
        paths: manifests, compose files, command lines.
        gpu: the accelerator where no label of a node names one.
        overlays: catalog folders of the user.

    Raises:
        InputError: an unknown accelerator, and everything wrong with the files.
    """
    catalog, platform = load_catalog(overlays), load_platform(PLATFORM, overlays)
    names = Names(catalog, WHERE)
    own = None if gpu is None else names.accelerator(gpu)
    tables = load_engine_options(overlays)
    keys = [device.resource for device in platform.devices.values()]
    servers: list[Started] = []
    unread: list[str] = []
    try:
        servers, unread = read_running(paths, keys)
    except InputError as problem:
        names.faults += problem.faults
    names.done()
    reader = _Reader(catalog, platform, tables, None if own is None else str(gpu))
    pools = tuple(pool for server in servers if (pool := reader.pool(server)) is not None)
    left_out = [pool.name for pool in pools if not _may_start(pool)]
    return Running(pools=pools, unread=(*unread, *reader.unread), left_out=tuple(left_out))


@dataclass
class _Reader:
    """Looks everything up that servers name."""

    catalog: Catalog
    platform: Platform
    tables: Mapping[str, EngineOptions]
    gpu: str | None

    def __post_init__(self) -> None:
        self.unread: list[str] = []
        self._names: set[str] = set()
        self._seen: set[tuple[str, tuple[str, ...]]] = set()

    def pool(self, server: Started) -> RunningPool | None:
        """One pool; what it does not say is null, and told. None for further servers of a replica."""
        found = engine_of(server.words, server.image) or ("vllm", server.words)
        layout = layout_of(server, *found, self.tables)
        # The branches of one script that starts every server of a replica say the same.
        again = (server.source.rpartition(":")[0], server.words)
        if layout.follows or (layout.servers > 1 and not server.name and again in self._seen):
            return None
        self._seen.add(again)
        name = self._name(server, layout)
        notes = list(layout.unread)
        gpus = self._gpus(server, layout, notes)
        copies = layout.copies
        replicas = None if server.replicas is None or copies is None else server.replicas * copies
        pool = RunningPool(
            name=name,
            model=self._model(layout, notes),
            engine=layout.engine,
            gpu=self._gpu(server, notes),
            tp=layout.tp,
            pp=layout.pp,
            ep=layout.ep,
            attention_dp=layout.attention_dp,
            replicas=replicas,
            gpus_per_replica=gpus,
            weights=self._weights(layout, notes),
            kv=self._kv(layout, notes),
            role=server.role or layout.role,
            source=server.source,
        )
        self.unread += [f"{server.source}: {note}" for note in notes]
        return pool

    def _name(self, server: Started, layout: Layout) -> str:
        """The object's own name; of a command line the model's. Each once."""
        model = (layout.served_as or layout.model or layout.engine).split()[0].rstrip("/").rsplit("/", 1)[-1]
        base = server.name or re.sub(r"[^\w.-]+", "-", model).strip("-").lower() or layout.engine
        name, number = base, 2
        while name in self._names:
            name, number = f"{base}-{number}", number + 1
        self._names.add(name)
        return name

    def _gpus(self, server: Started, layout: Layout, notes: list[str]) -> int | None:
        """GPUs of one replica: those it is given, else those its command uses."""
        used = layout.gpus
        across = server.servers if server.servers > 1 else layout.servers
        given = None if server.gpus_per_server is None else server.gpus_per_server * across
        if given is not None and layout.copies and layout.copies > 1 and given % layout.copies == 0:
            given //= layout.copies
        if given is not None and used is not None and given != used:
            notes.append(f"it is given {given} GPUs, and its command uses {used}; {given} are counted")
        return used if given is None else given

    def _gpu(self, server: Started, notes: list[str]) -> str | None:
        """By the labels of its nodes, else ``--gpu``."""
        for product in server.products:
            found = self._by_label(product)
            if found is not None:
                return found
        if server.products:
            notes.append(f"the catalog knows no GPU by the label {show(server.products[0])}")
        if self.gpu is None:
            notes.append("no label of a node names its GPU; --gpu does")
        return self.gpu

    def _by_label(self, product: str) -> str | None:
        plain = re.sub(r"-(SHARED|MIG-[\w.]+)$", "", product).replace("_", "-").casefold()
        for accelerator, label in self.platform.products.items():
            if label.replace("_", "-").casefold() == plain:
                return accelerator
        for prefix in ("", *_PREFIXES):
            if plain.startswith(prefix):
                entry = self.catalog.accelerator(plain.removeprefix(prefix))
                if entry is not None:
                    return entry.id
        return self._by_machine(product)

    def _by_machine(self, product: str) -> str | None:
        """The accelerator of an instance type, where all price lists mean the same."""
        known = {offer.accelerator for _, offer in self.catalog.offers() if offer.instance == product}
        entry = self.catalog.accelerator(known.pop()) if len(known) == 1 else None
        return None if entry is None else entry.id

    def _model(self, layout: Layout, notes: list[str]) -> str | None:
        if layout.model is None:
            notes.append("its model, which the command line does not name")
            return None
        known = self._known(layout.model)
        if known is None:
            hint = nearest(layout.model.rsplit("/", 1)[-1], self.catalog.names("models"))
            maybe = f"; maybe {hint}" if hint else ""
            notes.append(f"the catalog knows no model {show(layout.model)}{maybe}")
            return layout.model
        return known.id

    def _known(self, name: str) -> Model | None:
        return self.catalog.model(name) or self.catalog.model(name.rstrip("/").rsplit("/", 1)[-1])

    def _weights(self, layout: Layout, notes: list[str]) -> str | None:
        """The format that the command line asks for, else that of the checkpoint."""
        asked = with_auto(layout.quantization)
        entry = None if asked is None else self.catalog.number_format(asked)
        known = None if layout.model is None else self._known(layout.model)
        if entry is not None and entry.weights:
            return str(entry.id)
        if known is not None and (asked is None or known.native_format not in ("bf16", "fp16")):
            return str(known.native_format)
        if asked is not None:
            notes.append(f"the format of the weights behind the quantization {show(asked)}")
        return None

    def _kv(self, layout: Layout, notes: list[str]) -> str | None:
        asked = with_auto(layout.kv)
        if asked is None:
            return None
        for name in (asked, asked.partition("_")[0]):
            entry = self.catalog.number_format(name)
            if entry is not None and entry.kv:
                return str(entry.id)
        notes.append(f"the format {show(asked)} of the KV cache")
        return None


def _may_start(pool: RunningPool) -> bool:
    return pool.gpu is not None and pool.replicas is not None and pool.gpus_per_replica is not None


def write_start(pools: Iterable[RunningPool], out: Path) -> None:
    """The pools as a file for the key ``start`` of a problem.

    Raises:
        InputError: a place that cannot be written.
    """
    rows = [pool.model_dump(exclude_none=True) for pool in pools if _may_start(pool)]
    text = json.dumps({"pools": rows}, indent=2, ensure_ascii=False) + "\n"
    check_target("--out", out)
    write_whole(out, "\n".join(spelled(line) for line in text.split("\n")).encode())
