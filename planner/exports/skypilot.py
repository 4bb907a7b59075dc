"""Services of SkyPilot, one a pool: the provider, the place and the instance of the plan.

Source: SkyPilot 0.14.1, task and service YAML (its own schemas) and variables of distributed jobs. One
replica of a service is a cluster of its own: whole instances, of which the first answers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from planner.errors import CannotExpressError
from planner.exports.case import ExportCase
from planner.exports.engine_scripts import notes_of
from planner.exports.pods import longest_start_s
from planner.exports.script import commands
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile
from planner.schema.launch import Deployment

_FOLDER = "~/planner"
"""Where configuration files of engines go."""
_REGION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
"""A name of a region; price lists also say "not stated"."""
_VARIABLES = (
    'OWN_ADDRESS="$(hostname -I | cut -d " " -f 1)"',
    'LEADER_ADDRESS="$(echo "$SKYPILOT_NODE_IPS" | head -n 1)"',
    'SERVER_RANK="$SKYPILOT_NODE_RANK"',
)


def skypilot(case: ExportCase) -> Exported:
    """One service a pool."""
    reasons = [reason for item in case.deployments for reason in _reasons(case, item)]
    if reasons:
        raise CannotExpressError(reasons)
    files = [
        ExportFile(f"{item.name}.yaml", documents_yaml([_task(case, item)]).encode())
        for item in case.deployments
    ]
    files += [
        ExportFile(item.launch.config_name, documents_yaml([item.launch.config]).encode())
        for item in case.deployments
        if item.launch.config_name
    ]
    return Exported(tuple(files), tuple(_steps(case)), tuple(dict.fromkeys(_notes(case))))


def _reasons(case: ExportCase, item: Deployment) -> Iterator[str]:
    pool, launch = item.pool, item.launch
    if pool.role != "serve":
        yield f"{pool.id}: SkyPilot's balancer sends a request to one replica; prefill needs a router."
    if pool.slice is not None:
        yield f"{pool.id}: SkyPilot knows no slices of a GPU ({pool.slice})."
    elif _gpu(case, item) is None:
        yield f"{pool.id}: SkyPilot lists no {pool.gpu}."
    if pool.offer is not None and launch.gpus_per_server != pool.offer.gpus:
        yield (
            f"{pool.id}: a replica of SkyPilot takes whole instances; the plan puts several on one "
            f"{pool.offer.instance} of {pool.offer.gpus} GPUs."
        )


def _gpu(case: ExportCase, item: Deployment) -> str | None:
    """The accelerator as SkyPilot calls it, at its provider."""
    names, offer = case.skypilot, item.pool.offer
    own = {} if offer is None else names.cloud_products.get(offer.provider, {})
    return own.get(item.accelerator) or names.products.get(item.accelerator)


def _task(case: ExportCase, item: Deployment) -> dict[str, Any]:
    launch = item.launch
    task: dict[str, Any] = {
        "name": item.name,
        "resources": _resources(case, item),
        "num_nodes": launch.servers,
        "secrets": {"HF_TOKEN": ""},
    }
    if launch.config_name:
        task["file_mounts"] = {f"{_FOLDER}/{launch.config_name}": f"./{launch.config_name}"}
    task["service"] = _service(case, item)
    lines = [*_VARIABLES, *([f"cd {_FOLDER}"] if launch.config_name else []), *commands(launch)]
    task["run"] = "\n".join(lines) + "\n"
    return task


def _resources(case: ExportCase, item: Deployment) -> dict[str, Any]:
    offer = item.pool.offer
    found: dict[str, Any] = {}
    if offer is not None and offer.provider in case.skypilot.clouds:
        cloud = case.skypilot.clouds[offer.provider]
        known = _REGION.fullmatch(offer.region)
        found["infra"] = f"{cloud}/{offer.region}" if known else cloud
        found["instance_type"] = offer.instance
    found["accelerators"] = f"{_gpu(case, item)}:{item.launch.gpus_per_server}"
    found["image_id"] = f"docker:{item.image}"
    found["ports"] = item.port
    if _spot(case, item):
        found["use_spot"] = True
    return found


def _spot(case: ExportCase, item: Deployment) -> bool:
    """Everything that the plan buys of this GPU may be taken away."""
    terms = {line.term for line in case.plan.supply if line.gpu == item.pool.gpu and line.gpus}
    return terms == {"spot"}


def _service(case: ExportCase, item: Deployment) -> dict[str, Any]:
    probes = case.skypilot.probes
    service: dict[str, Any] = {
        "readiness_probe": {
            "path": item.health_path,
            "initial_delay_seconds": math.ceil(longest_start_s(probes, item)),
        }
    }
    if item.least_replicas == item.most_replicas:
        return service | {"replicas": item.most_replicas}
    policy = {
        "min_replicas": item.least_replicas,
        "max_replicas": item.most_replicas,
        "target_qps_per_replica": float(f"{item.pool.load_rps:.6g}"),
    }
    return service | {"replica_policy": policy}


def _steps(case: ExportCase) -> Iterator[str]:
    yield "Gated models need a token: `--secret HF_TOKEN` on each of these commands, from your environment."
    for item in case.deployments:
        yield f"`sky serve up -n {item.name} {item.name}.yaml`"
    yield "`sky serve status` until all are ready."


def _notes(case: ExportCase) -> Iterator[str]:
    for item in case.deployments:
        offer = item.pool.offer
        yield from notes_of(item)
        if offer is not None and offer.provider not in case.skypilot.clouds:
            yield f"{item.name}: SkyPilot does not know {offer.provider}: it takes the cheapest place."
        if offer is None and item.pool.site:
            yield f"{item.name} stands at {item.pool.site} in the plan: name it (infra), or it is not kept."
    if any(item.least_replicas < item.most_replicas for item in case.deployments):
        yield "SkyPilot has no clock: replicas follow the load between the least and the most of the hours."
    if len(case.deployments) > len(case.workloads):
        yield "Every service has an address of its own: share requests out as the plan's routing says."
