"""Alertmanager's webhook: a diagnosis of the configured server, whatever addresses a notification names."""

import itertools
import json

import pytest
from service_samples import service

from planner.interfaces import cli
from planner.serve.desk import Limits
from tests.prometheus_server import CALM, FULL, prometheus_of

TOKEN = "a-token-of-enough-characters"
PATH = "/api/v1/alertmanager"


def notification(**more):
    """As Alertmanager 0.27 sends it."""
    labels = {"alertname": "SlowAnswers", "model_name": 'm"', "severity": "warning", "job": "vllm"}
    alert = {
        "status": "firing",
        "labels": labels,
        "annotations": {"summary": "slow"},
        "startsAt": "2026-11-23T10:00:00Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://127.0.0.1:9/graph?g0.expr=1",
        "fingerprint": "a1",
    }
    return {
        "version": "4",
        "groupKey": '{}:{alertname="SlowAnswers"}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "planner",
        "groupLabels": {"alertname": "SlowAnswers"},
        "commonLabels": labels,
        "commonAnnotations": {},
        "externalURL": "http://169.254.169.254/latest/meta-data",
        "alerts": [alert],
    } | more


@pytest.fixture(scope="module")
def asked():
    return []


@pytest.fixture(scope="module")
def client(tmp_path_factory, asked):
    with prometheus_of(itertools.repeat(FULL).__next__, asked) as url:
        limits = Limits(workers=1, prometheus=url, body_bytes=100_000)
        with service(tmp_path_factory.mktemp("jobs"), limits, tokens=(TOKEN,)) as found:
            found.headers["authorization"] = f"Bearer {TOKEN}"
            yield found


def test_a_notification_is_answered_with_the_diagnosis_of_the_command_line(client, asked, capsys):
    told = client.post(PATH, json=notification())
    assert told.status_code == 200, told.text
    with prometheus_of(itertools.repeat(FULL).__next__) as url:
        assert cli.run(["diagnose", "--prometheus", url, "--selector", 'model_name="m\\""', "--json"]) == 0
    assert told.json() == json.loads(capsys.readouterr().out)
    # Labels select quoted; a job would leave out the exporters beside the engine.
    assert any('model_name="m\\""' in query for query in asked)
    assert not any("job=" in query for query in asked)


def test_slack_gets_blocks_within_its_limits(client):
    told = client.post(f"{PATH}-slack", json=notification())
    assert told.status_code == 200, told.text
    header, *others = told.json()["blocks"]
    assert header["type"] == "header"
    assert len(header["text"]["text"]) <= 150
    assert {one["type"] for one in others} == {"section", "context"}
    assert "kv_usage_ratio" in json.dumps(others)


def test_a_notification_may_not_name_a_server(client):
    for key in ("prometheus", "url", "server"):
        told = client.post(PATH, json=notification(**{key: "http://169.254.169.254/"}))
        assert told.status_code == 200  # passed over, as all that Alertmanager adds over time
        assert told.json()["findings"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (notification(version="3"), "version"),
        ({"version": "4"}, "status"),
        (notification(commonLabels={"model_name": "x" * 501}), "commonLabels"),
        (notification(alerts="many"), "alerts"),
    ],
)
def test_what_is_no_notification_is_refused_in_words(client, body, words):
    told = client.post(PATH, json=body)
    assert told.status_code == 422
    assert words in told.text


def test_tokens_and_sizes_hold_here_too(client):
    assert client.post(PATH, json=notification(), headers={"authorization": "Bearer no"}).status_code == 401
    large = notification(receiver="x" * 100_000)
    assert client.post(PATH, json=large).status_code == 413


def test_without_a_server_it_says_how_to_name_one(tmp_path):
    with service(tmp_path, Limits(workers=1)) as plain:
        told = plain.post(PATH, json=notification())
    assert told.status_code == 422
    assert "--prometheus URL" in told.text


def test_a_calm_server_is_no_alarm(tmp_path):
    with (
        prometheus_of(itertools.repeat(CALM).__next__) as url,
        service(tmp_path, Limits(workers=1, prometheus=url)) as plain,
    ):
        told = plain.post(f"{PATH}-slack", json=notification(status="resolved"))
    assert "healthy" in told.json()["text"]


def test_the_option_takes_an_address(capsys):
    assert cli.run(["serve", "--prometheus", "file:///etc/passwd"]) == 2
    assert "no address of http" in capsys.readouterr().err
