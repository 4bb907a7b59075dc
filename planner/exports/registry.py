"""Every target of ``planner export``: one module and one line here."""

from __future__ import annotations

from planner.exports import engine_scripts
from planner.exports.benchmark import benchmark
from planner.exports.case import Target
from planner.exports.compose import compose
from planner.exports.dynamo import dynamo
from planner.exports.gateway import gateway
from planner.exports.grafana import grafana
from planner.exports.guardrails import guardrails
from planner.exports.keda import keda
from planner.exports.kserve import kserve
from planner.exports.kubernetes import kubernetes
from planner.exports.llm_d import llm_d
from planner.exports.prometheus import prometheus
from planner.exports.skypilot import skypilot

TARGETS: tuple[Target, ...] = (
    Target("vllm", "start scripts of vLLM", engine_scripts.vllm),
    Target("sglang", "start scripts of SGLang", engine_scripts.sglang),
    Target("trtllm", "start scripts and configuration files of TensorRT-LLM", engine_scripts.trtllm),
    Target("compose", "files for Docker Compose", compose),
    Target("kubernetes", "Deployments, LeaderWorkerSets, Services and autoscalers", kubernetes),
    Target("kserve", "LLMInferenceServices of KServe", kserve),
    Target("gateway", "routes and pools of an inference gateway", gateway),
    Target("llm-d", "values of the chart llm-d-modelservice", llm_d),
    Target("dynamo", "DynamoGraphDeployments", dynamo),
    Target("keda", "ScaledObjects of KEDA", keda),
    Target("guardrails", "limits of rates, queues and times for Envoy Gateway", guardrails),
    Target("skypilot", "services of SkyPilot", skypilot),
    Target("grafana", "dashboard: the plan against reality", grafana),
    Target("prometheus", "recording and alert rules of Prometheus", prometheus),
    Target("benchmark", "load tests of the planned peak", benchmark),
)


def target(name: str) -> Target:
    """The target of a name.

    Raises:
        KeyError: there is none.
    """
    return {item.id: item for item in TARGETS}[name]
