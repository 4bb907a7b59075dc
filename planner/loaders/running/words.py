"""The words of a server out of a list that a container runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.loaders.running.layouts import engine_of
from planner.loaders.running.shell import commands, shell_text


def server_words(listed: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """The command in a shell's text that starts an engine; the list itself where none does.

    A variable that the container sets is put in where the shell would do it.
    """
    text = shell_text(list(listed))
    if text is None:
        return tuple(listed)
    # What follows the text are the shell's own arguments: $0, $1, …
    found = commands(text, variables)
    return next((one.words for one in found if engine_of(one.words) is not None), tuple(listed))
