"""Guardrails for Envoy Gateway: rates, queues, times, tenants."""

import jsonschema
import pytest
import yaml
from export_samples import case_of, workload
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import CannotExpressError
from planner.exports.guardrails import guardrails, rate
from planner.exports.registry import target

WHOLE = {"type": "integer", "minimum": 0, "maximum": 4294967295}
LIMIT = {
    "type": "object", "additionalProperties": False, "required": ["requests", "unit"],
    "properties": {"requests": WHOLE, "unit": {"enum": ["Second", "Minute", "Hour", "Day"]}},
}  # fmt: skip
HEADER = {
    "type": "object", "additionalProperties": False, "required": ["name"],
    "properties": {"name": {"type": "string"}, "type": {"enum": ["Exact", "RegularExpression", "Distinct"]}},
}  # fmt: skip
RULES = {
    "type": "object", "additionalProperties": False,
    "properties": {"rules": {"type": "array", "items": {
        "type": "object", "additionalProperties": False, "required": ["limit"],
        "properties": {"limit": LIMIT, "clientSelectors": {"type": "array", "items": {
            "type": "object", "additionalProperties": False,
            "properties": {"headers": {"type": "array", "items": HEADER}}}}}}}},
}  # fmt: skip
POLICY = {
    "type": "object", "additionalProperties": False,
    "properties": {
        "apiVersion": {"const": "gateway.envoyproxy.io/v1alpha1"}, "kind": {"const": "BackendTrafficPolicy"},
        "metadata": {"type": "object"},
        "spec": {"type": "object", "additionalProperties": False, "required": ["targetRefs"], "properties": {
            "targetRefs": {"type": "array", "minItems": 1, "items": {
                "type": "object", "additionalProperties": False, "required": ["group", "kind", "name"],
                "properties": {key: {"type": "string"} for key in ("group", "kind", "name")}}},
            "rateLimit": {"type": "object", "additionalProperties": False, "properties": {
                "type": {"enum": ["Global", "Local"]}, "global": RULES, "local": RULES}},
            "circuitBreaker": {"type": "object", "additionalProperties": False, "properties": dict.fromkeys(
                ("maxConnections", "maxPendingRequests", "maxParallelRequests"), WHOLE)},
            "timeout": {"type": "object", "additionalProperties": False, "properties": {
                "http": {"type": "object", "additionalProperties": False, "properties": {
                    "requestTimeout": {"type": "string", "pattern": "^[0-9]+s$"}}}}},
        }},
    },
}  # fmt: skip
"""Retyped from the types of Envoy Gateway: what exports use of them."""


@pytest.fixture
def made(make_plan, tmp_path):
    def made(*pools, **keys):
        exported = guardrails(case_of(make_plan, tmp_path, pools or [{}], **keys))
        found = {item.name: list(yaml.safe_load_all(item.content)) for item in exported.files}
        for name in ("limits.yaml", "tenant-limits.yaml"):
            for document in found[name]:
                jsonschema.validate(document, POLICY)
        return found, exported

    return made


def test_limits_of_a_workload(made):
    (policy,) = made()[0]["limits.yaml"]
    assert policy["spec"]["rateLimit"] == {
        "type": "Local", "local": {"rules": [{"limit": {"requests": 48, "unit": "Second"}}]},
    }  # fmt: skip
    # 8 replicas with a batch of 96 and 12 waiting each.
    assert policy["spec"]["circuitBreaker"] == {
        "maxConnections": 864, "maxPendingRequests": 96, "maxParallelRequests": 864,
    }  # fmt: skip
    # P99 of the first token, and 601 tokens at P99.
    assert policy["spec"]["timeout"] == {"http": {"requestTimeout": "27s"}}


def test_one_tenant_takes_half_at_most(made):
    (policy,) = made()[0]["tenant-limits.yaml"]
    overall, own = policy["spec"]["rateLimit"]["global"]["rules"]
    assert overall == {"limit": {"requests": 48, "unit": "Second"}}
    assert own["limit"] == {"requests": 24, "unit": "Second"}
    assert own["clientSelectors"] == [{"headers": [{"name": "x-tenant", "type": "Distinct"}]}]


def test_answers_that_run_away(made):
    (values,) = made()[0]["engine-limits.yaml"]
    assert values["workloads"]["chat"] == {
        "max_input_tokens": 4142, "max_output_tokens": 601,
        "options": {"chat-serve-1": ["--override-generation-config", '{"max_new_tokens":601}']},
    }  # fmt: skip
    files, exported = made({"engine": "sglang"})
    assert "options" not in files["engine-limits.yaml"][0]["workloads"]["chat"]
    assert any("sglang has no option" in note for note in exported.notes)


def test_the_option_is_one_of_the_engine():
    from planner.loaders.launch_facts import load_engine_options

    assert "--override-generation-config" in load_engine_options()["vllm"].by_name


def test_policies_lead_to_the_routes_of_the_gateway(make_plan, tmp_path):
    pools = [{}, {"workload": "docs"}]
    limits = {"max_input_tokens": 10, "max_output_tokens": 10, "max_queue": 5, "max_batch": 9, "max_rps": 0.5}
    case = case_of(
        make_plan, tmp_path, pools, [workload(), workload("docs")],
        guardrails_by_workload={"chat": limits, "docs": limits},
    )  # fmt: skip
    files = {item.name: list(yaml.safe_load_all(item.content)) for item in guardrails(case).files}
    aimed = {ref["name"] for policy in files["limits.yaml"] for ref in policy["spec"]["targetRefs"]}
    routes = next(item for item in target("gateway").build(case).files if item.name == "routes.yaml")
    assert aimed == {one["metadata"]["name"] for one in yaml.safe_load_all(routes.content)}


def test_disaggregated_prefill_wait_where_they_come_in(made):
    (policy,) = made({"role": "prefill", "replicas": 2}, {"role": "decode", "replicas": 3})[0]["limits.yaml"]
    assert policy["spec"]["circuitBreaker"]["maxParallelRequests"] == 2 * 12 + 3 * 96


def test_without_guardrails(made):
    with pytest.raises(CannotExpressError) as no:
        made(guardrails=None)
    assert no.value.reasons == ("chat: the plan states no guardrails; plan it again with this version.",)


@given(st.floats(min_value=1e-3, max_value=1e6))
def test_rates_lose_little_and_admit_no_more(rps):
    seconds = {"Second": 1, "Minute": 60, "Hour": 3600, "Day": 86400}
    made = rate(rps)
    admitted = made["requests"] / seconds[made["unit"]]
    assert 0.95 * rps <= admitted <= rps * (1 + 1e-9)
