"""Servers in compose files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.loaders.messages import show
from planner.loaders.running.layouts import engine_of
from planner.loaders.running.manifests import whole
from planner.loaders.running.shell import commands, expanded
from planner.loaders.running.words import server_words
from planner.schema.running import Started


def compose_servers(
    name: str, folder: Path, document: Mapping[str, Any], unread: list[str]
) -> Iterator[Started]:
    """The services that start an engine."""
    services = document.get("services")
    for service_name, service in services.items() if isinstance(services, Mapping) else ():
        if not isinstance(service, Mapping):
            continue
        source = f"{name}: service {service_name}"
        variables = _variables(service.get("environment"))
        listed = [*_words(service.get("entrypoint"), variables), *_words(service.get("command"), variables)]
        words = server_words(listed, variables)
        image = expanded(str(service.get("image") or ""), variables)
        gpus = _gpus(service)
        if engine_of(words, image) is None:
            if gpus:
                unread.append(f"{source}: GPUs for the image {show(image)}, which starts no known engine")
            continue
        deploy = service.get("deploy")
        stated = deploy.get("replicas") if isinstance(deploy, Mapping) else None
        replicas = whole(service.get("scale") if stated is None else stated, 1)
        if replicas is None:
            unread.append(f"{source}: replicas, which is no number")
        yield Started(
            name=str(service_name),
            source=source,
            words=words,
            replicas=replicas,
            gpus_per_server=gpus,
            image=image,
            folder=folder,
        )


def _variables(environment: Any) -> dict[str, str]:
    if isinstance(environment, Mapping):
        return {str(key): str(value) for key, value in environment.items() if value is not None}
    listed = environment if isinstance(environment, list) else []
    pairs = (str(item).partition("=") for item in listed)
    return {key: value for key, mark, value in pairs if mark}


def _words(stated: Any, variables: Mapping[str, str]) -> list[str]:
    """A list of words, or a text as a shell splits it; ``$$`` is a dollar sign."""
    if isinstance(stated, list):
        return [expanded(str(word), variables).replace("$$", "$") for word in stated]
    if not isinstance(stated, str) or not stated.strip():
        return []
    text = re.sub(r"\s*\n\s*", " ", stated.strip().replace("\\\n", " "))
    found = next(iter(commands(text, variables)), None)
    return [] if found is None else list(found.words)


def _gpus(service: Mapping[str, Any]) -> int | None:
    """GPUs that are reserved; None where all of the server's are, or none."""
    place: Any = service
    for key in ("deploy", "resources", "reservations", "devices"):
        place = place.get(key) if isinstance(place, Mapping) else None
    total = 0
    for device in place if isinstance(place, list) else []:
        if isinstance(device, Mapping) and "gpu" in (device.get("capabilities") or []):
            ids = device.get("device_ids")
            total += len(ids) if isinstance(ids, list) else whole(device.get("count"), 0) or 0
    return total or None
