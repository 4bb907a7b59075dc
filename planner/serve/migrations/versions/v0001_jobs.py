"""The table of jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the table and its indices."""
    op.create_table(
        "jobs",
        sa.Column("id", sa.String(), primary_key=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("key", sa.String(), unique=True),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("asked", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("starts", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("summary", sa.String(), nullable=False),
        sa.Column("created", sa.String(), nullable=False),
        sa.Column("finished", sa.String()),
        sa.Column("status", sa.Integer()),
        sa.Column("answer", sa.LargeBinary()),
    )
    op.create_index("ix_jobs_state", "jobs", ["state"])
    op.create_index("ix_jobs_created", "jobs", ["created"])


def downgrade() -> None:
    """Take the table away."""
    op.drop_table("jobs")
