"""Jobs and their answers in a database: written before anybody is told, so that nothing told is lost."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from sqlalchemy import Engine, LargeBinary, create_engine, delete, event, select, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, defer, mapped_column
from sqlalchemy.pool import NullPool

from planner.errors import InputError, input_error
from planner.extras import install
from planner.serve.migrate import migrate
from planner.serve.told import FINISHED, JobTold

MOST_FINISHED = 1000
"""Finished jobs that are kept, the newest."""
MOST_STARTS = 2
"""A job that the server did not survive so often is not tried again."""


class Base(DeclarativeBase):
    """The tables; `migrations` makes them."""


class Job(Base):
    """One question, its state and its answer."""

    __tablename__ = "jobs"

    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    key: Mapped[str | None] = mapped_column(unique=True)
    """Idempotency key of whoever asked."""
    digest: Mapped[str]
    """Of the question."""
    asked: Mapped[bytes] = mapped_column(LargeBinary)
    state: Mapped[str] = mapped_column(index=True)
    starts: Mapped[int] = mapped_column(default=0)
    name: Mapped[str] = mapped_column(default="")
    summary: Mapped[str] = mapped_column(default="")
    created: Mapped[str] = mapped_column(index=True)
    finished: Mapped[str | None] = mapped_column(default=None)
    status: Mapped[int | None] = mapped_column(default=None)
    answer: Mapped[bytes | None] = mapped_column(LargeBinary, default=None)

    @property
    def document(self) -> bytes:
        """The answer as it is sent."""
        return b"" if self.answer is None else zlib.decompress(self.answer)

    @property
    def question(self) -> bytes:
        """What was asked, as JSON."""
        return zlib.decompress(self.asked)

    def told(self, progress: str = "") -> JobTold:
        """The job as the API shows it."""
        names = ("id", "kind", "state", "name", "summary", "created", "finished", "status")
        return JobTold.model_validate({name: getattr(self, name) for name in names} | {"progress": progress})


class History:
    """The table of jobs."""

    def __init__(self, url: str) -> None:
        """Open the database, and bring its table to this version of the program.

        Raises:
            InputError: an address that leads to no database.
        """
        engine = None
        try:
            self._engine = engine = _engine(url)
            migrate(engine)
        except InputError:
            self.close()
            raise
        except (ArgumentError, ImportError, SQLAlchemyError, OSError) as problem:
            found = f"{type(problem).__name__} ({str(problem).splitlines()[0][:200]})"
            expected = "an address such as sqlite:///jobs.sqlite or postgresql+psycopg://user@host/name"
            maybe = f'"{install("psycopg[binary]")}"' if isinstance(problem, ImportError) else ""
            if engine is not None:
                engine.dispose()
            raise input_error("planner serve", "--database", found, expected, maybe) from problem

    def add(self, kind: str, asked: bytes, digest: str, name: str, key: str | None) -> tuple[Job, bool]:
        """A new job; of a key that was used before its job, and False."""
        job = Job(
            id=uuid4().hex,
            kind=kind,
            key=key,
            digest=digest,
            asked=zlib.compress(asked),
            state="queued",
            starts=0,
            name=name,
            summary="",
            created=_now(),
        )
        with self._session() as session:
            session.add(job)
            try:
                session.commit()
            except IntegrityError:
                session.rollback()
                known = session.scalars(select(Job).where(Job.key == key)).one()
                return known, False
        return job, True

    def start(self, job_id: str) -> None:
        """Note that a worker begins."""
        self._set(job_id, state="running", starts=Job.starts + 1)

    def finish(self, job_id: str, state: str, status: int, answer: bytes, summary: str = "") -> None:
        """Keep an answer. What is finished already stays as it is."""
        values = {
            "state": state,
            "status": status,
            "answer": zlib.compress(answer),
            "summary": summary,
            "finished": _now(),
        }
        with self._session() as session:
            open_ = (Job.id == job_id, Job.state.not_in(FINISHED))
            session.execute(update(Job).where(*open_).values(**values))
            old = (
                select(Job.id).where(Job.state.in_(FINISHED)).order_by(Job.finished.desc(), Job.id)
            ).offset(MOST_FINISHED)
            session.execute(delete(Job).where(Job.id.in_(session.scalars(old).all())))
            session.commit()

    def forget(self, job_id: str) -> None:
        """Take a job away for which there was no place."""
        with self._session() as session:
            session.execute(delete(Job).where(Job.id == job_id))
            session.commit()

    def find(self, job_id: str) -> Job | None:
        """The job of an id."""
        with self._session() as session:
            return session.get(Job, job_id)

    def newest(self, limit: int) -> Sequence[Job]:
        """Jobs without their questions and answers, the newest first."""
        short = select(Job).options(defer(Job.asked, raiseload=True), defer(Job.answer, raiseload=True))
        with self._session() as session:
            return session.scalars(short.order_by(Job.created.desc(), Job.id).limit(limit)).all()

    def unfinished(self) -> Sequence[Job]:
        """What an earlier server left undone, the oldest first."""
        with self._session() as session:
            return session.scalars(
                select(Job).where(Job.state.not_in(FINISHED)).order_by(Job.created, Job.id)
            ).all()

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    def _set(self, job_id: str, **values: Any) -> None:
        with self._session() as session:
            session.execute(update(Job).where(Job.id == job_id).values(**values))
            session.commit()

    def _session(self) -> Session:
        return Session(self._engine, expire_on_commit=False)


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed, pool_pre_ping=True)
    if parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    # A connection for every use: threads come and go, and opening a file costs little.
    engine = create_engine(parsed, poolclass=NullPool, connect_args={"timeout": 30})
    event.listen(engine, "connect", _durable)
    return engine


def _durable(connection: Any, _: Any) -> None:
    cursor = connection.cursor()
    with suppress(sqlite3.OperationalError):  # another server is just about to set it: the file keeps it
        cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
