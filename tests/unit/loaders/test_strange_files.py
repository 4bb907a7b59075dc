"""Files that are not what they were named for: none is repeated, waited for, or read without end."""

import os
from pathlib import Path

import pytest

import planner
from planner.errors import InputError
from planner.interfaces import cli
from planner.loaders.benchmarks import read_benchmarks
from planner.loaders.catalog import load_catalog
from planner.loaders.exposition import MAX_BYTES, read_page
from planner.loaders.files import read_bytes
from planner.loaders.hf_config import read_hf_config
from planner.loaders.measurements import read_measurements
from planner.loaders.named_files import roots
from planner.loaders.problem import load_problem
from planner.loaders.today import load_today
from planner.loaders.traces import read_trace
from planner.loaders.worker_table import read_workers

SECRETS = {
    "passwd": "sesame:x:0:0:sesame:/root:/bin/bash\n",
    "key": "-----BEGIN SESAME PRIVATE KEY-----\nb3BlbnNzaC1sesame\n",
    "ini": "[sesame]\nuser = sesame\n",
    "yaml": "sesame: 1\nsesame: 2\nother: &sesame !sesame 1e99999\nlist: *sesame2\n",
    "broken-yaml": "sesame: 1\nsesame: 2\n  - ]sesame\n",
    "json": '{"sesame": {"sesame": "sesame"}, "sesame": 1}',
    "json-list": '["sesame", {"sesame": 1}]',
    "json-lines": '{"sesame": 1}\n"sesame"\n',
    "csv": "sesame;gpu\nsesame;1\n",
    "bytes": b"\xffsesame\n",
}
READERS = {
    "workers": read_workers,
    "trace": read_trace,
    "start": load_today,
    "model": read_hf_config,
    "metrics": lambda path: read_page(read_bytes(path, MAX_BYTES), str(path), ()),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("secret", SECRETS)
def test_nothing_of_another_file_is_repeated(tmp_path, secret, reader):
    path = tmp_path / "other"
    content = SECRETS[secret]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        READERS[reader](path)
    assert "sesame" not in str(caught.value).lower()
    assert str(path) in str(caught.value)


PROBLEM = """name: p
workloads:
  - name: chat
    demand: {demand}
    lengths: {lengths}
    model: {model}
{more}
"""


def problem(folder, demand="{peak_rps: 1}", lengths="{trace: t.csv}", model="llama-3.1-8b", more=""):
    text = PROBLEM.format(demand=demand, lengths=lengths, model=model, more=more)
    (folder / "p.yaml").write_text(text)
    (folder / "t.csv").write_text("num_prefill_tokens,num_decode_tokens\n10,10\n")
    return folder / "p.yaml"


def named(folder, name):
    """A problem for every key that names a file."""
    yield problem(folder, demand=f"{{trace: '{name}'}}")
    yield problem(folder, lengths=f"{{trace: '{name}'}}")
    yield problem(folder, more=f"start: '{name}'")
    yield problem(folder, more=f"workers: '{name}'")
    yield problem(folder, model=f"'{name}'")


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/stdin", "pipe", ".", "/proc/self/nothing", "~nobody/x"])
def test_a_problem_names_regular_files_only(tmp_path, catalog, name):
    os.mkfifo(tmp_path / "pipe")
    for path in named(tmp_path, name):
        with pytest.raises(InputError) as caught:
            load_problem(path, catalog, ())
        assert "p.yaml:" in str(caught.value)


def test_confined_files_stay_in_the_folder(tmp_path, catalog):
    home, away = tmp_path / "home", tmp_path / "away"
    (home / "model").mkdir(parents=True)
    away.mkdir()
    (away / "t.csv").write_text("num_prefill_tokens,num_decode_tokens\n10,10\n")
    (away / "config.json").write_text("{}")
    (home / "link").symlink_to(away / "t.csv")
    (home / "model" / "config.json").symlink_to(away / "config.json")
    # What is told does not depend on whether the file is there.
    for name in ("../away/t.csv", str(away / "t.csv"), "link", "../away/none"):
        for path in named(home, name):
            with pytest.raises(InputError, match="outside the folder of the problem"):
                load_problem(path, catalog, (), roots(home, True))
    with pytest.raises(InputError, match='found "model"'):
        load_problem(problem(home, model="model"), catalog, (), roots(home, True))
    assert load_problem(problem(home), catalog, (), roots(home, True)).name == "p"
    assert load_problem(problem(home, lengths="{trace: ../away/t.csv}"), catalog, ()).name == "p"


def test_changes_are_confined_too(tmp_path):
    session = planner.load(problem(tmp_path), confine=True)
    with pytest.raises(InputError, match="outside the folder"):
        session.changed({"workloads.chat.lengths": {"trace": "../away/t.csv"}})


def test_confinement_by_option_and_by_the_environment(tmp_path, capsys, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "t.csv").write_text("num_prefill_tokens,num_decode_tokens\n10,10\n")
    more = "fleet: {accelerators: [no-such-gpu]}"
    path = problem(tmp_path / "home", lengths="{trace: ../t.csv}", more=more)
    assert cli.run(["--confine", "plan", str(path)]) == 2
    assert "outside the folder of the problem" in capsys.readouterr().err
    monkeypatch.setenv("PLANNER_CONFINE", "1")
    assert cli.run(["plan", str(path)]) == 2
    assert "outside the folder" in capsys.readouterr().err
    monkeypatch.delenv("PLANNER_CONFINE")
    assert cli.run(["plan", str(path)]) == 2
    assert "outside the folder" not in capsys.readouterr().err


def read_benchmark(path):
    return read_benchmarks([path])


EVERY = (*READERS.values(), read_measurements, read_benchmark)


@pytest.mark.parametrize("read", EVERY)
def test_devices_and_folders_are_refused_at_once(read):
    for path in (Path("/dev/zero"), Path("/dev/null"), Path("/dev")):
        with pytest.raises(InputError) as caught:
            read(path)
        assert str(path) in str(caught.value)


def test_a_file_is_refused_by_its_size_before_it_is_read(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(10**13)
    for read in EVERY:
        with pytest.raises(InputError, match="bytes"):
            read(path)


def test_a_pipe_that_the_user_names_is_read():
    reading, writing = os.pipe()
    os.write(writing, b"name: p\n")
    os.close(writing)
    assert read_bytes(Path(f"/dev/fd/{reading}"), 100) == b"name: p\n"
    os.close(reading)
