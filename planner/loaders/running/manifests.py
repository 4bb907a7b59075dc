"""Servers in manifests of Kubernetes: Deployments and their kind, LeaderWorkerSets, KServe's services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner.loaders.messages import show
from planner.loaders.running.layouts import engine_of
from planner.loaders.running.shell import expanded, shell_text
from planner.loaders.running.words import server_words
from planner.schema.choice import Role
from planner.schema.running import Started

_PLAIN = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
_LABELS = ("gpu.product", "gpu.product-name", "gke-accelerator", "instance-gpu-name", "gpu-type", "gpu.model")
"""Ends of labels of nodes that name the accelerator …"""
_MACHINES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
"""… and those that name the machine."""


@dataclass
class Manifests:
    """Objects of one file, and what was found in them."""

    name: str
    folder: Path
    gpu_keys: tuple[str, ...]
    """Names under which a platform counts accelerators."""
    configs: dict[str, str] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    def servers(self, documents: Sequence[Any]) -> list[Started]:
        """The servers of all objects; lists are opened, copies that an object made itself are left out."""
        objects = list(_objects(documents))
        for item in objects:
            if item.get("kind") == "ConfigMap":
                data = _map(item.get("data"))
                self.configs.update({str(key): str(text) for key, text in data.items()})
        return [server for item in objects for server in self._servers_of(item)]

    def _servers_of(self, item: Mapping[str, Any]) -> Iterator[Started]:
        kind, spec, meta = str(item.get("kind", "")), _map(item.get("spec")), _map(item.get("metadata"))
        name = str(meta.get("name") or meta.get("generateName") or kind.lower())
        if meta.get("ownerReferences"):
            return
        if kind in _PLAIN:
            yield from self._pods(kind, name, _map(spec.get("template")), whole(spec.get("replicas"), 1))
        elif kind == "Pod":
            yield from self._pods(kind, name, item, 1)
        elif kind == "LeaderWorkerSet":
            yield from self._leaders(name, spec)
        elif kind == "LLMInferenceService":
            yield from self._llm_services(name, spec)
        elif kind in (
            "DaemonSet",
            "Job",
            "CronJob",
            "InferenceService",
            "DynamoGraphDeployment",
            "RayService",
        ):
            self.unread.append(f"{self.name}: {kind} {show(name)}: objects of this kind are not read")
        elif kind in ("HorizontalPodAutoscaler", "ScaledObject"):
            target = _map(spec.get("scaleTargetRef")).get("name")
            self.unread.append(
                f"{self.name}: {kind} {show(name)} changes the replicas of {show(str(target))}"
            )

    def _leaders(self, name: str, spec: Mapping[str, Any]) -> Iterator[Started]:
        group = _map(spec.get("leaderWorkerTemplate"))
        template = _map(group.get("leaderTemplate")) or _map(group.get("workerTemplate"))
        servers = whole(group.get("size"), 1) or 1
        yield from self._pods("LeaderWorkerSet", name, template, whole(spec.get("replicas"), 1), servers)

    def _llm_services(self, name: str, spec: Mapping[str, Any]) -> Iterator[Started]:
        """Disaggregated where ``prefill`` is stated; several servers where ``worker`` is."""
        model = str(_map(spec.get("model")).get("uri") or "")
        disaggregated = "prefill" in spec
        parts: list[tuple[str, Mapping[str, Any], Role | None]] = [
            (name, spec, "decode" if disaggregated else None)
        ]
        if disaggregated:
            parts.append((f"{name}-prefill", _map(spec.get("prefill")), "prefill"))
        for part_name, part, role in parts:
            stated = _parallelism(_map(part.get("parallelism")))
            template = {"spec": _map(part.get("template"))}
            dp, local = int(stated.get("dp", 1)), int(stated.pop("local", 0))
            servers = max(dp // local, 1) if "worker" in part and local else 1
            found = list(
                self._pods(
                    "LLMInferenceService", part_name, template, whole(part.get("replicas"), 1), servers,
                    model=model, stated=stated, role=role,
                )
            )  # fmt: skip
            yield from found

    def _pods(
        self,
        kind: str,
        name: str,
        template: Mapping[str, Any],
        replicas: int | None,
        servers: int = 1,
        *,
        model: str = "",
        stated: Mapping[str, int | bool] | None = None,
        role: Role | None = None,
    ) -> Iterator[Started]:
        pod = _map(template.get("spec"))
        source = f"{self.name}: {kind} {name}"
        if replicas is None:
            self.unread.append(f"{source}: replicas, which is no number")
        for container in _maps(pod.get("containers")):
            gpus = self._gpus(source, container)
            words = _container_words(container)
            image = str(container.get("image") or "")
            if engine_of(words, image) is None and not (model and container.get("name") == "main"):
                if gpus:
                    asked = show(" ".join(words)) if words else f"the image {show(image)}"
                    self.unread.append(f"{source}: {gpus} GPUs for {asked}, which starts no known engine")
                continue
            yield Started(
                name=name,
                source=source,
                words=words,
                replicas=replicas,
                gpus_per_server=gpus,
                servers=servers,
                products=tuple(_products(pod)),
                image=image,
                model=model,
                stated=stated or {},
                role=role,
                folder=self.folder,
                configs=self.configs,
            )

    def _gpus(self, source: str, container: Mapping[str, Any]) -> int | None:
        """GPUs that a container asks for; None where it asks for none."""
        resources = _map(container.get("resources"))
        asked = {**_map(resources.get("requests")), **_map(resources.get("limits"))}
        for key, value in asked.items():
            if str(key) in self.gpu_keys:
                return whole(value, None)
            if "/mig-" in str(key):
                self.unread.append(f"{source}: slices of GPUs ({key})")
        return None


def _objects(documents: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for document in documents:
        if isinstance(document, Mapping):
            items = document.get("items")
            if isinstance(items, list):
                yield from _objects(items)
            else:
                yield document
        elif isinstance(document, list):
            yield from _objects(document)


def _container_words(container: Mapping[str, Any]) -> tuple[str, ...]:
    """Command and arguments, with the variables of the container; what a shell is told to run is opened."""
    variables = {
        str(item["name"]): str(item["value"])
        for item in _maps(container.get("env"))
        if "name" in item and isinstance(item.get("value"), str | int | float)
    }
    listed = [str(word) for key in ("command", "args") for word in _list(container.get(key))]
    if shell_text(listed) is None:
        return tuple(expanded(word, variables) for word in listed)
    return server_words(listed, variables)


def _products(pod: Mapping[str, Any]) -> Iterator[str]:
    """What the pod asks of its nodes: selectors, and affinities to one value."""
    selector = {str(key): str(value) for key, value in _map(pod.get("nodeSelector")).items()}
    affinity = _map(_map(pod.get("affinity")).get("nodeAffinity"))
    required = _map(affinity.get("requiredDuringSchedulingIgnoredDuringExecution"))
    for term in _maps(required.get("nodeSelectorTerms")):
        for rule in _maps(term.get("matchExpressions")):
            values = _list(rule.get("values"))
            if rule.get("operator") == "In" and len(values) == 1:
                selector.setdefault(str(rule.get("key")), str(values[0]))
    for ends in (_LABELS, _MACHINES):
        for key, value in selector.items():
            if key.endswith(ends):
                yield value


def _parallelism(stated: Mapping[str, Any]) -> dict[str, int | bool]:
    names = {"tensor": "tp", "pipeline": "pp", "data": "dp", "dataLocal": "local"}
    found: dict[str, int | bool] = {
        short: number for key, short in names.items() if (number := whole(stated.get(key), None))
    }
    if str(stated.get("expert")).lower() == "true":
        found["ep"] = True
    return found


def whole(value: Any, default: int | None) -> int | None:
    """A whole number; the default where there is nothing, None where there is something else."""
    if value is None:
        return default
    text = str(value).strip()
    return int(text) if text.isdigit() and len(text) < 10 else None


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _maps(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in _list(value) if isinstance(item, Mapping)]
