"""Brings the tables of a database to those of this program."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect, text

from planner.errors import input_error

_FOLDER = Path(__file__).parent / "migrations"
_FIRST = "0001"
"""The tables that servers made before there were migrations."""
_LOCK = 7_265_611
"""Of PostgreSQL, for the time of a migration: any number that nobody else takes."""


def migrate(engine: Engine) -> None:
    """Make the tables, or change those that are there; one server at a time.

    Raises:
        InputError: a newer program has changed the tables.
    """
    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    with engine.connect() as connection:
        _wait_for_others(connection)
        at = MigrationContext.configure(connection).get_current_revision()
        if at is not None and at not in known:
            expected = f"one of {', '.join(sorted(known))}, or a newer planner"
            raise input_error("planner serve", "--database", f"tables of version {at}", expected)
        config.attributes["connection"] = connection
        if at is None and inspect(connection).has_table("jobs"):
            command.stamp(config, _FIRST)
        command.upgrade(config, "head")
        connection.commit()


def _wait_for_others(connection: Connection) -> None:
    """Hold what two servers that start at once would both do."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    elif connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
