"""Where the servers of all engines listen."""

PORT = 8000
"""One for all engines, so that a Service or a route need not know which engine answers."""


def address() -> tuple[str, ...]:
    """The options that say so; they have the same names everywhere."""
    return ("--host", "0.0.0.0", "--port", str(PORT))
