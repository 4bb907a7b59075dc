"""Files that describe what runs, told apart by what they hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from planner.errors import Fault, InputError
from planner.loaders.files import STDIN, decoded, name_of, read_asked, read_bytes
from planner.loaders.json_source import read_json
from planner.loaders.running.compose import compose_servers
from planner.loaders.running.layouts import engine_of
from planner.loaders.running.manifests import Manifests
from planner.loaders.running.shell import commands
from planner.loaders.yaml_syntax import syntax_fault
from planner.schema.running import Started

MAX_BYTES = 32_000_000
MOST_DOCUMENTS = 10_000
EXPECTED = (
    "manifests of Kubernetes (Deployment, StatefulSet, LeaderWorkerSet, LLMInferenceService), kubectl get "
    "-o json, a compose file, or command lines of vllm serve, sglang or trtllm-serve"
)
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Every scalar is the text that stands there: nothing is turned into a date or a number."""


def read_running(paths: Sequence[Path], gpu_keys: Sequence[str]) -> tuple[list[Started], list[str]]:
    """The servers that files describe, and what in them could not be read.

    Args:
        paths: the files; ``-`` for standard input.
        gpu_keys: names under which platforms count accelerators, such as ``nvidia.com/gpu``.

    Raises:
        InputError: files that cannot be read, or that describe nothing that runs; all of them together.
    """
    faults: list[Fault] = []
    servers: list[Started] = []
    unread: list[str] = []
    for path in paths:
        try:
            found, left = _read(path, tuple(gpu_keys))
        except InputError as problem:
            faults += problem.faults
            continue
        servers += found
        unread += left
        if not found and not left:
            faults.append(Fault(name_of(path), "", "nothing that starts an engine", EXPECTED))
    if faults:
        raise InputError(faults)
    return servers, unread


def _read(path: Path, gpu_keys: tuple[str, ...]) -> tuple[list[Started], list[str]]:
    name = name_of(path)
    data = (
        read_asked(path, MAX_BYTES) if path == STDIN else read_bytes(path, MAX_BYTES, "a file of what runs")
    )
    text = decoded(name, data)
    if not text.strip():
        raise InputError([Fault(name, "", "an empty file", EXPECTED)])
    documents = _documents(name, text)
    if documents is None:
        return list(_command_lines(name, path.parent, text)), []
    unread: list[str] = []
    servers: list[Started] = []
    for document in documents:
        if isinstance(document, Mapping) and isinstance(document.get("services"), Mapping):
            servers += compose_servers(name, path.parent, document, unread)
    manifests = Manifests(name, path.parent, gpu_keys)
    servers += manifests.servers(documents)
    return servers, [*unread, *manifests.unread]


def _documents(name: str, text: str) -> list[Any] | None:
    """The documents of YAML or JSON; None for other text."""
    if text.lstrip()[:1] in ("{", "["):
        return [read_json(text, name, "JSON, as kubectl get -o json writes it").value]
    try:
        found = list(_loaded(text))
    except (yaml.YAMLError, RecursionError) as problem:
        if not _looks_like_yaml(text):
            return None
        if isinstance(problem, yaml.YAMLError):
            raise InputError([syntax_fault(name, text.encode(), problem)]) from problem
        raise InputError([Fault(name, "", "lists within lists without end", EXPECTED)]) from problem
    return (
        found if any(isinstance(document, dict | list) for document in found) and _has_keys(found) else None
    )


def _loaded(text: str) -> Iterator[Any]:
    for number, document in enumerate(yaml.load_all(text, Loader=_LOADER)):
        if number >= MOST_DOCUMENTS:
            return
        yield document


def _has_keys(documents: Sequence[Any]) -> bool:
    """A command line with a colon in it is YAML too, but has none of these keys."""
    return any(
        isinstance(document, Mapping) and document.keys() & {"kind", "apiVersion", "services", "items"}
        for document in documents
    )


def _looks_like_yaml(text: str) -> bool:
    return any(line.startswith(("kind:", "apiVersion:", "services:")) for line in text.splitlines())


def _command_lines(name: str, folder: Path, text: str) -> Iterator[Started]:
    for command in commands(text):
        if engine_of(command.words) is not None:
            yield Started(name="", source=f"{name}:{command.line}", words=command.words, folder=folder)
