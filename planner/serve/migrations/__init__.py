"""The tables of the history, from one version of the program to the next (Alembic)."""
