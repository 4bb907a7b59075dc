"""Command lines of the pools as scripts, one a pool, for those who start servers themselves."""

from __future__ import annotations

from collections.abc import Iterator

from planner import numbers
from planner.errors import CannotExpressError
from planner.exports.case import ExportCase
from planner.exports.readme import plain
from planner.exports.script import script
from planner.loaders.write import documents_yaml
from planner.schema.exported import Exported, ExportFile
from planner.schema.launch import Deployment

_TARGETS = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "trtllm"}
"""Engine -> target."""
ROUTERS = {
    "vllm": "Put a router in front that sends a prompt to a prefill server and its answer to a decode "
    "server: vllm-router (--vllm-pd-disaggregation), or the scheduler of llm-d.",
    "sglang": "Put the router in front: python3 -m sglang_router.launch_router --pd-disaggregation, with "
    "--prefill URL 8998 for each prefill server and --decode URL for each decode server.",
    "tensorrt-llm": "Put the addresses of the servers into the urls of disaggregated-*.yaml and start "
    "trtllm-serve disaggregated -c FILE.",
}
"""How disaggregated prefill and decode come together, by engine."""


def vllm(case: ExportCase) -> Exported:
    """Scripts for vLLM."""
    return _scripts(case, "vllm")


def sglang(case: ExportCase) -> Exported:
    """Scripts for SGLang."""
    return _scripts(case, "sglang")


def trtllm(case: ExportCase) -> Exported:
    """Scripts and configuration files for TensorRT-LLM."""
    return _scripts(case, "tensorrt-llm")


def _scripts(case: ExportCase, engine: str) -> Exported:
    others = [item.pool for item in case.deployments if item.pool.engine != engine]
    if others:
        raise CannotExpressError(
            f"{pool.id} runs {pool.engine}: export it to {_TARGETS.get(pool.engine, 'kubernetes')}."
            for pool in others
        )
    files: list[ExportFile] = []
    steps: list[str] = []
    for item in case.deployments:
        made = script(item)
        files.append(made)
        if item.launch.config_name:
            content = documents_yaml([item.launch.config]).encode()
            files.append(ExportFile(item.launch.config_name, content))
        steps.append(_step(item, made.name))
    notes = [note for item in case.deployments for note in notes_of(item)]
    if case.disaggregated:
        notes.append(ROUTERS[engine])
        if engine == "tensorrt-llm":
            files += _disaggregated(case)
    return Exported(tuple(files), tuple(steps), tuple(dict.fromkeys(notes)))


def hour_note(case: ExportCase) -> str:
    """Which hour's replicas an export has."""
    return (
        f"Replicas are those of hour {case.deployments[0].hour} (from 0); --period N exports another, and "
        "planner schedule shows all."
    )


def notes_of(item: Deployment) -> Iterator[str]:
    """What the operator must know of a pool."""
    if item.launch.weights.note:
        yield item.launch.weights.note
    yield from item.launch.notes
    longer_s = (item.start_s or 0.0) - (item.pool.cold_start_s or 0.0)
    if longer_s > 0:
        yield (
            f"{item.name}: fetching the weights adds {numbers.seconds(longer_s)} to a start of "
            f"{numbers.seconds(item.pool.cold_start_s or 0.0)}: probes wait for both; a filled cache on the "
            "server's own drive saves it."
        )
    if item.pool.role == "prefill" and item.pool.local_prefill_tokens:
        longest = numbers.count(item.pool.local_prefill_tokens, "token")
        yield (
            f"{item.name} is sized for prompts above {longest}: the router must send shorter ones straight to"
            " decode servers, which compute them (in Dynamo: conditional disaggregation)."
        )


def _step(item: Deployment, script_name: str) -> str:
    servers, gpus, gpu = item.launch.servers, item.launch.gpus_per_server, plain(item.pool.gpu)
    least, most = item.least_replicas, item.most_replicas
    replicas = numbers.count(most, "replica")
    if least < most:
        replicas = f"{least} to {replicas}"
    if servers == 1:
        each = item.pool.slice or numbers.count(gpus, "GPU")
        return f"`{script_name}`: {replicas}, each on {each} of its own ({gpu})."
    return (
        f"`{script_name}` on {servers} servers for each of {replicas}, with `LEADER_ADDRESS` and "
        f"`SERVER_RANK` (0 to {servers - 1}) set; {gpus} GPUs a server ({gpu})."
    )


def _disaggregated(case: ExportCase) -> Iterator[ExportFile]:
    """The file of the server in front of context and generation servers, one a workload."""
    for workload in case.disaggregated:
        document = {
            "hostname": "0.0.0.0",
            "port": 8001,
            "backend": "pytorch",
            "context_servers": _servers(case.of_workload(workload, "prefill")),
            "generation_servers": _servers(case.of_workload(workload, "decode")),
        }
        name = f"disaggregated-{case.workloads[workload]}.yaml"
        yield ExportFile(name, documents_yaml([document]).encode())


def _servers(pools: tuple[Deployment, ...]) -> dict[str, object]:
    urls = [f"{item.name}-{number}:{item.port}" for item in pools for number in range(item.replicas)]
    return {"num_instances": len(urls), "urls": urls}
