"""Strict checks of exported manifests: of Kubernetes itself, and of resources whose schemas are at hand.

Schemas of custom resources are facts of other projects and lie beside the repository, not in it.
"""

from __future__ import annotations

import copy
import functools
import gzip
import json
from pathlib import Path

import jsonschema
import kubernetes_validate

SCHEMAS = Path(__file__).parents[2] / "shared" / "schemas"
VERSION = "1.35"
CUSTOM = {
    "LeaderWorkerSet": "crd_lws",
    "LLMInferenceService": "crd_llmisvc",
    "ScaledObject": "crd_keda",
    "InferencePool": "crd_pool",
}
"""Kind -> file."""
ELSEWHERE = {"HTTPRoute", "BackendTrafficPolicy", "DynamoGraphDeployment", "PodMonitor", "PrometheusRule"}
"""Kinds that have tests of their own, and no schema here."""


def problems(document):
    """What is wrong with a manifest; None where its schema is not at hand."""
    kind = document["kind"]
    if kind in ELSEWHERE:
        return []
    if kind in CUSTOM:
        schema = custom_schema(CUSTOM[kind])
        if schema is None:
            return None
        return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]
    try:
        kubernetes_validate.validate(document, VERSION, strict=True)
    except kubernetes_validate.ValidationError as error:
        return [error.message]
    return []


@functools.cache
def custom_schema(name):
    """The schema of a custom resource, made strict; None where it is not at hand."""
    path = SCHEMAS / f"{name}.json.gz"
    return strict(json.loads(gzip.decompress(path.read_bytes()))) if path.is_file() else None


def strict(schema):
    """A schema that refuses fields that it does not know."""
    made = copy.deepcopy(schema)
    _harden(made)
    made["properties"]["metadata"] = {"type": "object"}
    return made


def _harden(node):
    if isinstance(node, list):
        for item in node:
            _harden(item)
    if not isinstance(node, dict):
        return
    if node.get("x-kubernetes-int-or-string"):
        node.pop("type", None)
    if "properties" in node and not node.get("x-kubernetes-preserve-unknown-fields"):
        node.setdefault("additionalProperties", False)
    for value in node.values():
        _harden(value)


def pod_specs(document):
    """``(pods, spec)`` for each kind of pod of a manifest."""
    spec = document.get("spec", {})
    if document["kind"] == "Deployment":
        yield spec["replicas"], spec["template"]["spec"]
    elif document["kind"] == "LeaderWorkerSet":
        group = spec["leaderWorkerTemplate"]
        yield spec["replicas"], group["leaderTemplate"]["spec"]
        yield spec["replicas"] * (group["size"] - 1), group["workerTemplate"]["spec"]


def gpus(documents):
    """GPUs (or slices of them) that manifests take, by what Kubernetes counts."""
    found = {}
    for document in documents:
        for pods, spec in pod_specs(document):
            for container in spec["containers"]:
                for name, count in container["resources"]["limits"].items():
                    found[name] = found.get(name, 0) + pods * count
    return found
