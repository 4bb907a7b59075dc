"""HTTPRoute documents: names, matches, weights, and what the Gateway API refuses."""

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planner.commands.dns_names import dns_names
from planner.errors import InputError
from planner.exports.http_routes import http_routes_yaml
from planner.schema.fleet_out import Routes

LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")


def routes(*workloads):
    """``(workload, role, {bucket: {pool: weight}})`` as routes."""
    return Routes.model_validate(
        {
            "problem": "p",
            "period": None,
            "periods": 1,
            "workloads": [
                {
                    "workload": name,
                    "role": role,
                    "buckets": [
                        {
                            "bucket": bucket,
                            "pools": [{"pool": p, "share": w / 1000, "weight": w} for p, w in pools.items()],
                        }
                        for bucket, pools in buckets.items()
                    ],
                }
                for name, role, buckets in workloads
            ],
        }
    )


def documents(*workloads, **options):
    return list(yaml.safe_load_all(http_routes_yaml(routes(*workloads), "plan.json", **options)))


def test_one_bucket_of_one_workload_needs_no_header():
    (route,) = documents(("chat", "serve", {"all": {"chat/serve/1": 600, "chat/api/x": 400}}), port=80)
    assert route == {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "chat"},
        "spec": {
            "parentRefs": [{"name": "gateway"}],
            "rules": [
                {
                    "backendRefs": [
                        {"name": "chat-serve-1", "port": 80, "weight": 600},
                        {"name": "chat-api-x", "port": 80, "weight": 400},
                    ]
                }
            ],
        },
    }


def test_buckets_and_workloads_are_told_apart_by_headers():
    found = documents(
        ("chat", "serve", {"short": {"chat/serve/1": 1000}, "on": {"chat/serve/1": 1000}}),
        ("code", "serve", {"all": {"code/serve/1": 1000}}),
        gateway="edge",
    )
    assert [route["metadata"]["name"] for route in found] == ["chat", "code"]
    assert found[0]["spec"]["parentRefs"] == [{"name": "edge"}]
    headers = [rule["matches"][0]["headers"] for route in found for rule in route["spec"]["rules"]]
    assert [[(h["name"], h["value"], h["type"]) for h in row] for row in headers] == [
        [("x-workload", "chat", "Exact"), ("x-prompt-class", "short", "Exact")],
        # YAML readers take a bare "on" for a yes
        [("x-workload", "chat", "Exact"), ("x-prompt-class", "on", "Exact")],
        [("x-workload", "code", "Exact")],
    ]


def test_requests_come_in_at_prefill():
    found = documents(
        ("chat", "prefill", {"all": {"chat/prefill/1": 1000}}),
        ("chat", "decode", {"all": {"chat/decode/1": 1000}}),
    )
    assert [route["metadata"]["name"] for route in found] == ["chat-prefill"]


def test_pools_without_weight_get_no_traffic():
    (route,) = documents(("chat", "serve", {"all": {"a": 1000, "b": 0}}))
    assert [ref["name"] for ref in route["spec"]["rules"][0]["backendRefs"]] == ["a"]


def test_more_than_sixteen_buckets_take_more_than_one_route():
    found = documents(("chat", "serve", {f"b{n}": {"a": 1000} for n in range(40)}))
    assert [route["metadata"]["name"] for route in found] == ["chat", "chat-2", "chat-3"]
    assert [len(route["spec"]["rules"]) for route in found] == [16, 16, 8]


def test_what_the_gateway_api_cannot_hold_is_refused_at_once():
    with pytest.raises(InputError) as refused:
        documents(("chat", "serve", {"b\n": {"a": 1000}, "many": {f"p{n}": 50 for n in range(20)}}))
    assert [fault.key for fault in refused.value.faults] == ["bucket of chat", "chat/many"]
    assert "at most 16" in str(refused.value)


def test_equal_pools_do_not_become_anchors():
    text = http_routes_yaml(routes(("chat", "serve", {"s": {"a": 1000}, "l": {"a": 1000}})), "plan.json")
    assert b"&" not in text
    assert b"*" not in text


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("chat/serve/1", "chat-serve-1"),
        ("Chat 70B", "chat-70b"),
        ("70b", "p-70b"),
        ("über", "ber"),
        ("--", "p"),
    ],
)
def test_names_become_labels(name, label):
    assert dns_names([name]) == {name: label}


@given(st.lists(st.text(max_size=80), unique=True, max_size=12))
def test_names_are_labels_and_unique(names):
    found = dns_names(names)
    assert list(found) == names
    assert len(set(found.values())) == len(names)
    assert all(LABEL.fullmatch(label) for label in found.values())
