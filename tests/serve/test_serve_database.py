"""The history in SQLite and in a real PostgreSQL: the same tables, the same answers, nothing lost."""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text

from planner.errors import InputError
from planner.serve.history import Base, History

_NUMBERS = count()


def _program(name):
    found = [shutil.which(name), *sorted(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")))]
    return next((path for path in reversed(found) if path), None)


@pytest.fixture(scope="module")
def server():
    """A PostgreSQL of this machine that listens on a socket alone, as the user that it wants."""
    if _program("initdb") is None or _program("pg_ctl") is None:
        pytest.skip("no PostgreSQL is installed: the history in it was NOT checked")
    # Short, since the path of a socket may have about a hundred letters; not below a folder of root alone.
    folder = Path("/tmp") / f"planner-pg-{os.getpid()}"
    folder.mkdir(mode=0o700)
    user = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        user = ["runuser", "-u", "postgres", "--"]

    def run(name, *words):
        subprocess.run(
            [*user, _program(name), *words], check=True, capture_output=True, timeout=120, cwd=folder
        )

    data = str(folder / "data")
    try:
        run("initdb", "-D", data, "-U", "planner", "-A", "trust", "--no-sync")
        run("pg_ctl", "-D", data, "-w", "-l", f"{folder}/log", "-o",
            f"-c listen_addresses='' -c fsync=off -k {folder}", "start")  # fmt: skip
        yield f"postgresql+psycopg://planner@/{{}}?host={folder}"
        run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/jobs.sqlite"
    form = request.getfixturevalue("server")
    admin = create_engine(form.format("postgres"), isolation_level="AUTOCOMMIT")
    name = f"jobs_{next(_NUMBERS)}"
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    admin.dispose()
    return form.format(name)


def test_migrations_make_the_tables_that_the_program_uses(url):
    History(url).close()
    engine = create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert context.get_current_revision() is not None
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_jobs_of_a_server_before_migrations_are_kept(url):
    engine = create_engine(url)
    Base.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO jobs (id, kind, digest, asked, state, starts, name, summary, created) "
                "VALUES ('a', 'plan', 'd', :asked, 'queued', 0, 'old', '', '2026-01-01')"
            ),
            {"asked": b"x\x9c\xab\xae\x05\x00\x01u\x00\xf9"},
        )
    history = History(url)
    assert [(job.id, job.question) for job in history.unfinished()] == [("a", b"{}")]
    assert inspect(engine).has_table("alembic_version")
    history.close()
    engine.dispose()


def test_tables_of_a_newer_program_are_left_alone(url):
    History(url).close()
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InputError, match="tables of version 9999"):
        History(url)
    engine.dispose()


def test_servers_that_start_at_once_make_the_tables_once(url):
    with ThreadPoolExecutor(4) as pool:
        for history in pool.map(History, [url] * 4):
            history.close()


def test_a_job_lives_through_its_states_and_a_restart(url):
    history = History(url)
    job, is_new = history.add("plan", b'{"problem": "x"}', "digest", "chat", "key")
    assert is_new
    again, is_new = history.add("plan", b"{}", "other", "chat", "key")
    assert (again.id, again.digest, is_new) == (job.id, "digest", False)
    history.start(job.id)
    assert [one.id for one in history.unfinished()] == [job.id]
    history.close()
    history = History(url)
    answer = b'{"pools": []}' * 1000
    history.finish(job.id, "done", 200, answer, "optimal")
    history.finish(job.id, "failed", 500, b"late")
    found = history.find(job.id)
    assert (found.state, found.status, found.document, found.starts) == ("done", 200, answer, 1)
    assert [(one.id, one.told().summary) for one in history.newest(5)] == [(job.id, "optimal")]
    assert not history.unfinished()
    history.forget(job.id)
    assert history.find(job.id) is None
    history.close()
