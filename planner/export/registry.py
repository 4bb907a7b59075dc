"""Every target of ``planner export``: one module and one line here."""

from __future__ import annotations

from planner.export import engine_scripts
from planner.export.benchmark import benchmark
from planner.export.case import Target
from planner.export.compose import compose
from planner.export.dynamo import dynamo
from planner.export.gateway import gateway
from planner.export.grafana import grafana
from planner.export.guardrails import guardrails
from planner.export.keda import keda
from planner.export.kserve import kserve
from planner.export.kubernetes import kubernetes
from planner.export.llm_d import llm_d
from planner.export.prometheus import prometheus
from planner.export.skypilot import skypilot

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
