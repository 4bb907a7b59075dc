"""Docker Compose: one file for each kind of server, with every replica that stands on it.

Source: Compose specification: ``deploy.resources.reservations.devices`` gives a service GPUs by their number,
``$$`` stands for a dollar sign.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from planner import numbers
from planner.commands.dns_names import dns_names
from planner.errors import CannotExpressError
from planner.exports.case import ExportCase
from planner.exports.engine_scripts import hour_note, notes_of
from planner.exports.pods import CONFIG_FOLDER, MODELS_FOLDER, needs_models
from planner.exports.readme import plain
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile
from planner.schema.launch import Argument, Deployment

_VENDORS = ("NVIDIA", "AMD")
"""Of accelerators that Docker gives out."""
_CACHE = "weights:/root/.cache/huggingface"
"""What one container has fetched the others of the server have too, and those that follow it."""
_SHARED_MEMORY = "host"
"""The processes of a server talk through the shared memory of the host: that of a container is 64 MB."""


@dataclass
class _Server:
    """One server that is being filled."""

    kind: tuple[str, str, int]
    """GPU, place, GPUs."""
    replicas: list[Deployment] = field(default_factory=list)

    @property
    def free(self) -> int:
        return self.kind[2] - sum(item.pool.gpus_per_replica for item in self.replicas)

    @property
    def content(self) -> tuple[tuple[str, str, int], tuple[str, ...]]:
        """Equal for servers that run the same."""
        return self.kind, tuple(item.name for item in self.replicas)


def compose(case: ExportCase) -> Exported:
    """Files by kind of server; each says how many servers it is for."""
    reasons = [text for item in case.deployments for text in _refusals(item)]
    if reasons:
        raise CannotExpressError(reasons)
    servers = _servers(case.deployments)
    counts = Counter(server.content for server in servers)
    first = {server.content: server for server in reversed(servers)}
    ids = {content: f"{content[0][0]} {number}" for number, content in enumerate(counts, 1)}
    names = dns_names(ids.values())
    files, steps = [], []
    for content, count in counts.items():
        name = f"{names[ids[content]]}.yaml"
        document: dict[str, Any] = {"name": names[ids[content]], "services": dict(_services(first[content]))}
        if any(_CACHE in one.get("volumes", ()) for one in document["services"].values()):
            document["volumes"] = {_CACHE.partition(":")[0]: {}}
        files.append(ExportFile(name, documents_yaml([document]).encode()))
        gpu, place, size = content[0]
        where = f"{gpu}, {place}" if place else gpu
        steps.append(
            f"On {numbers.count(count, 'server')} with {numbers.count(size, 'GPU')} ({plain(where)}): "
            f"`docker compose -f {name} up -d`"
        )
    for item in case.deployments:
        if item.launch.config_name:
            content_ = documents_yaml([item.launch.config]).encode()
            files.append(ExportFile(item.launch.config_name, content_))
    return Exported(tuple(files), tuple(steps), tuple(dict.fromkeys(_notes(case))))


def _refusals(item: Deployment) -> Iterator[str]:
    if item.pool.role != "serve":
        yield f"{item.pool.id}: Compose gives servers no addresses under which others hand KV caches over."
    elif item.launch.servers > 1:
        yield f"{item.pool.id}: one replica takes {item.launch.servers} servers, Compose has one."
    elif item.pool.slice is not None or item.vendor not in _VENDORS:
        yield f"{item.pool.id}: Compose has no way to give out {item.pool.slice or 'GPUs of ' + item.vendor}."


def _servers(deployments: Iterable[Deployment]) -> list[_Server]:
    """Replicas in servers of their kind, the largest first, each where it fits first."""
    servers: list[_Server] = []
    for item in sorted(deployments, key=lambda one: -one.pool.gpus_per_replica):
        kind = (item.pool.gpu, item.pool.site or "", item.server_gpus)
        for _ in range(item.replicas):
            room = (s for s in servers if s.kind == kind and s.free >= item.pool.gpus_per_replica)
            server = next(room, None)
            if server is None:
                server = _Server(kind)
                servers.append(server)
            server.replicas.append(item)
    return servers


def _services(server: _Server) -> Iterator[tuple[str, dict[str, Any]]]:
    taken = 0
    numbered: Counter[str] = Counter()
    for place, item in enumerate(server.replicas):
        gpus = range(taken, taken + item.pool.gpus_per_replica)
        taken += item.pool.gpus_per_replica
        numbered[item.name] += 1
        yield f"{item.name}-{numbered[item.name]}", _service(item, gpus, item.port + place)


def _service(item: Deployment, gpus: Iterable[int], port: int) -> dict[str, Any]:
    service: dict[str, Any] = {
        "image": item.image,
        # An image may have an entry point of its own, which would come before the command.
        "entrypoint": [_word(item, argument) for argument in item.launch.argv],
        "command": [],
        "environment": {"HF_TOKEN": "${HF_TOKEN:-}"} | _environment(item),
        "ipc": _SHARED_MEMORY,
        "ports": [f"{port}:{item.port}"],
        "restart": "unless-stopped",
    }
    _give_out(service, item.vendor, [str(gpu) for gpu in gpus])
    volumes = list(_volumes(item))
    return service | ({"volumes": volumes} if volumes else {})


def _give_out(service: dict[str, Any], vendor: str, gpus: list[str]) -> None:
    """Give a service its GPUs: those of AMD are all seen, and the variable tells which ones to use."""
    if vendor == "AMD":
        service["devices"] = ["/dev/kfd:/dev/kfd", "/dev/dri:/dev/dri"]
        service["group_add"] = ["video"]
        service["environment"]["HIP_VISIBLE_DEVICES"] = ",".join(gpus)
        return
    device = {"driver": "nvidia", "device_ids": gpus, "capabilities": ["gpu"]}
    service["deploy"] = {"resources": {"reservations": {"devices": [device]}}}


def _environment(item: Deployment) -> dict[str, str]:
    return {name: _word(item, value) for name, value in item.launch.environment.items()}


def _word(item: Deployment, argument: Argument) -> str:
    assert isinstance(argument, str), "only servers with others to talk to have addresses"
    text = f"{CONFIG_FOLDER}/{argument}" if argument == item.launch.config_name else argument
    return text.replace("$", "$$")


def _volumes(item: Deployment) -> Iterator[str]:
    if item.launch.config_name:
        yield f"./{item.launch.config_name}:{CONFIG_FOLDER}/{item.launch.config_name}:ro"
    if not item.launch.weights.folder:
        yield _CACHE
    if needs_models(item):
        yield f"{MODELS_FOLDER}:{MODELS_FOLDER}:ro"


def _notes(case: ExportCase) -> Iterator[str]:
    for item in case.deployments:
        yield from notes_of(item)
    yield "Replicas listen on ports from 8000 on; spread requests over them by the shares of planner routes."
    if case.hours > 1:
        yield hour_note(case)
