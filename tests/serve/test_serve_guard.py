"""Who may ask, from where, and how much."""

import pytest
from service_samples import service

from planner.errors import InputError
from planner.interfaces import cli
from planner.serve.desk import Limits
from planner.serve.server import is_loopback, read_tokens

TOKEN = "a-token-of-enough-characters"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with service(tmp_path_factory.mktemp("jobs"), Limits(workers=1, body_bytes=10_000)) as client:
        yield client


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    with service(tmp_path_factory.mktemp("jobs"), tokens=(TOKEN,)) as client:
        yield client


def test_other_hosts_and_origins_are_refused(client):
    assert client.get("/healthz", headers={"host": "evil.example"}).status_code == 400
    assert client.get("/api/v1/jobs", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.get("/api/v1/jobs", headers={"origin": "http://testserver"}).status_code == 200


def test_no_other_page_may_read_or_embed(client):
    told = client.get("/api/v1/jobs", headers={"origin": "http://testserver"}).headers
    assert "access-control-allow-origin" not in told
    assert told["x-content-type-options"] == "nosniff"
    assert told["x-frame-options"] == "DENY"
    assert told["content-security-policy"].startswith("default-src 'none'")


def test_large_bodies_are_refused(client):
    told = client.post("/api/v1/fit", content=b" " * 10_001, headers=JSON)
    assert told.status_code == 413

    def parts():
        yield from [b" " * 6_000] * 3

    assert client.post("/api/v1/fit", content=parts(), headers=JSON).status_code == 413


def test_only_json_is_taken(client):
    told = client.post("/api/v1/fit", content=b"{}", headers={"content-type": "text/plain"})
    assert told.status_code == 415


@pytest.mark.parametrize(
    "path", ["/nowhere", "/api/v1/../../etc/passwd", "/api/v1/jobs/..%2f..%2fetc%2fpasswd"]
)
def test_unknown_paths_are_not_found(client, path):
    assert client.get(path).status_code == 404


def test_without_a_token_nothing_is_told(locked):
    assert locked.get("/healthz").status_code == 200
    for path in ("/api/v1/jobs", "/metrics", "/api/v1/openapi.json"):
        told = locked.get(path)
        assert told.status_code == 401
        assert told.headers["www-authenticate"] == "Bearer"
    assert locked.get("/api/v1/jobs", headers={"authorization": "Bearer x"}).status_code == 401
    assert locked.get("/api/v1/jobs", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_browser_enters_with_the_token_once(locked):
    assert locked.get("/", headers={"accept": "text/html"}).url.path == "/login"
    wrong = locked.post("/login", data={"token": "x"})
    assert (wrong.status_code, "not known" in wrong.text) == (401, True)
    entered = locked.post("/login", data={"token": TOKEN}, follow_redirects=False)
    cookie = entered.headers["set-cookie"].lower()
    assert entered.status_code == 303
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert locked.get("/api/v1/jobs").status_code == 200
    locked.cookies.clear()


def test_tokens_stand_in_a_file(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"# team\n\n{TOKEN}\n")
    assert read_tokens(file) == (TOKEN,)
    file.write_text("short\n")
    with pytest.raises(InputError, match="at least 16 characters"):
        read_tokens(file)
    with pytest.raises(InputError, match="FileNotFoundError"):
        read_tokens(tmp_path / "none")


@pytest.mark.parametrize(
    ("host", "own"), [("127.0.0.1", 1), ("::1", 1), ("localhost", 1), ("0.0.0.0", 0), ("x", 0)]
)
def test_loopback_is_known(host, own):
    assert is_loopback(host) == bool(own)


def test_beyond_this_machine_tokens_are_needed(capsys):
    assert cli.run(["serve", "--host", "0.0.0.0"]) == 2
    assert "--token-file FILE" in capsys.readouterr().err


def test_without_the_extra_a_command_says_how_to_get_it(capsys, monkeypatch):
    monkeypatch.setattr("planner.interfaces.serve_command.NEEDED", ("nicegui_that_is_not_there",))
    assert cli.run(["serve"]) == 2
    assert "-m pip install --constraint constraints.txt 'llm-fleet-planner[serve]'" in capsys.readouterr().err


def test_a_database_that_is_none_is_refused(capsys):
    assert cli.run(["serve", "--port", "0", "--database", "nonsense"]) == 2
    assert "--database" in capsys.readouterr().err
