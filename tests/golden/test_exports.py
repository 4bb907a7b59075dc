"""Every plan of problems/ for every target: files that hold what the plan says, or a clear no."""

import re
import shlex
import subprocess

import pytest
import yaml
from manifest_schemas import gpus, problems
from sample_plans import EACH, sample

from planner.app.export_plan import export_case
from planner.commands.shell import command_line
from planner.errors import CannotExpressError
from planner.exports.readme import readme
from planner.exports.registry import TARGETS

SCRIPTS = {"vllm": "vllm", "sglang": "sglang", "trtllm": "tensorrt-llm"}


@pytest.fixture(params=EACH)
def plan(request):
    return sample(request.param)[1]


@pytest.fixture
def case(plan, tmp_path):
    if not plan.pools:
        pytest.skip("nothing to run")
    return export_case(plan, tmp_path / "plan.json")


def made(case):
    """What each target makes of the plan, and why the others cannot."""
    found, refused = {}, {}
    for target in TARGETS:
        try:
            found[target.id] = target.build(case)
        except CannotExpressError as no:
            refused[target.id] = no.reasons
    return found, refused


def manifests(files):
    return [
        document
        for item in files
        if item.name.endswith(".yaml")
        for document in yaml.safe_load_all(item.content)
        if "kind" in document
    ]


def test_every_target_answers(case):
    found, refused = made(case)
    engines = {item.pool.engine for item in case.deployments}
    for target, engine in SCRIPTS.items():
        assert (target in found) == (engines == {engine})
    for reasons in refused.values():
        assert reasons
        assert all(re.fullmatch(r"[^\n]{20,}\.", reason) for reason in reasons)
    for target in TARGETS:
        if target.id in found:
            page = readme(case, target, found[target.id]).content.decode()
            assert all(item.name in page for item in found[target.id].files if item.name.endswith((".sh",)))


def test_the_plan_states_the_exported_commands(case, plan):
    for item in case.deployments:
        assert item.pool.command == command_line(item.launch)
        assert (item.pool.command_config or {}) == item.launch.config
        # Read back by a shell, it is the same arguments.
        words = shlex.split(item.pool.command)
        written = [word for word in item.launch.argv if isinstance(word, str)]
        assert [word for word in words if word in written] == written
    assert {pool.id for pool in plan.pools} == {item.pool.id for item in case.deployments}


def test_scripts_are_shell(case):
    found, _ = made(case)
    for target in SCRIPTS.keys() & found.keys():
        for item in found[target].files:
            if item.name.endswith(".sh"):
                assert item.executable
                checked = subprocess.run(["bash", "-n"], input=item.content, check=False, capture_output=True)
                assert checked.returncode == 0, checked.stderr


def test_manifests_keep_their_schemas(case):
    found, _ = made(case)
    checked = [
        (target, document["kind"], problems(document))
        for target, exported in found.items()
        for document in manifests(exported.files)
    ]
    assert {"kubernetes"} <= {target for target, _, _ in checked}
    assert [wrong for wrong in checked if wrong[2]] == []
    missing = sorted({kind for _, kind, wrong in checked if wrong is None})
    if missing:
        pytest.skip(f"schemas of {', '.join(missing)} are absent: these manifests stay unchecked")


def test_manifests_take_the_gpus_of_the_plan_in_its_busiest_hour(case, plan):
    found, _ = made(case)
    taken, by_gpu = {}, {}
    for item in case.deployments:
        count = item.pool.replicas
        if plan.periods:
            busiest = max(plan.periods, key=lambda period: (running(plan, period), -period.period))
            count = busiest.replicas.get(item.pool.id, 0)
        planned = item.pool.gpus_per_replica * count
        taken[item.resource] = taken.get(item.resource, 0) + planned
        by_gpu[item.pool.gpu] = by_gpu.get(item.pool.gpu, 0) + planned
    assert gpus(manifests(found["kubernetes"].files)) == taken
    # Idle GPUs of bought servers run nothing.
    assert all(count <= plan.gpus[gpu] for gpu, count in by_gpu.items() if count)


def running(plan, period):
    sizes = {pool.id: pool.gpus_per_replica for pool in plan.pools}
    return sum(sizes[name] * count for name, count in period.replicas.items())
