"""Shell text as simple commands: words by the shell's own rules, with the variables that the text sets."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_SHELLS = ("sh", "bash", "zsh", "dash", "ash")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_OPERATORS = re.compile(r"[;&|()]+")
_REDIRECTIONS = re.compile(r"\d?[<>]")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?[-=]([^}]*))?\}|\((\w+)\))")
_DEEPEST = 4
"""Shells within shells."""
MOST_LINES = 200
"""Of one command."""


@dataclass(frozen=True)
class Command:
    """A simple command."""

    line: int
    """Of its first word in the text, from 1."""
    words: tuple[str, ...]


def commands(text: str, known: Mapping[str, str] | None = None, depth: int = 0) -> Iterator[Command]:
    """The simple commands of a text, in its order; those that a shell is told to run, in its place.

    Variables that the text sets before are put in, with their defaults; others stay as written.

    Args:
        text: with line continuations, quotes, ``&&``, ``;``, pipes and comments.
        known: variables that are set already.
        depth: shells around this one.
    """
    variables = dict(known or {})
    for line, words in _logical_lines(text):
        for simple in _split(words):
            yield from _one(line, simple, variables, depth)


def _one(line: int, words: list[str], variables: dict[str, str], depth: int) -> Iterator[Command]:
    own = {**variables}
    while words and (_ASSIGNED.match(words[0]) or words[0] in ("export", "env")):
        if words[0] not in ("export", "env"):
            name, _, value = words[0].partition("=")
            own[name] = expanded(value, own)
        elif words[0] == "export":
            variables.update(_exported(words[1:], own))
        words = words[1:]
    if not words:
        variables.update(own)
        return
    put_in = [expanded(word, own) for word in words]
    inner = shell_text(put_in)
    if inner is not None and depth < _DEEPEST:
        for found in commands(inner, own, depth + 1):
            yield Command(line, found.words)
    else:
        yield Command(line, tuple(put_in))


def _exported(words: list[str], known: Mapping[str, str]) -> dict[str, str]:
    pairs = (word.partition("=") for word in words if _ASSIGNED.match(word))
    return {name: expanded(value, known) for name, _, value in pairs}


def shell_text(words: list[str]) -> str | None:
    """What ``sh -c TEXT`` runs; None for any other command."""
    for place, word in enumerate(words[:-1]):
        if word.rsplit("/", 1)[-1] in _SHELLS:
            flags = words[place + 1 :]
            for number, flag in enumerate(flags[:-1]):
                if not flag.startswith(("-", "+")):
                    break
                if re.fullmatch(r"-\w*c", flag):
                    return flags[number + 1]
    return None


def expanded(word: str, known: Mapping[str, str]) -> str:
    """A word with known variables put in: ``$A``, ``${A}``, ``${A:-default}``, ``$(A)`` of manifests."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[4]
        if name in known:
            return known[name]
        return match[0] if match[3] is None else match[3]

    return _VARIABLE.sub(value, word)


def _logical_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Words of every line with its number; a quote or a backslash at its end carries on to the next."""
    waiting, first = "", 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if not waiting:
            first = number
            line = re.sub(r"^\s*[$%>]\s+", "", line)
            if line.lstrip().startswith("#"):
                continue
        waiting += line
        if waiting.endswith("\\"):
            waiting = waiting[:-1] + " "
            continue
        words = _words(waiting)
        if words is None and number - first < MOST_LINES:
            waiting += "\n"
            continue
        if words:
            yield first, words
        waiting = ""
    words = _words(waiting) if waiting.strip() else None
    if words:
        yield first, words


def _words(text: str) -> list[str] | None:
    """Words and operators; None where a quote is open."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";&|()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[str] = []
    try:
        for word in lexer:
            if word.startswith("#"):
                break
            found.append(word)
    except ValueError:
        return None
    return found


def _split(words: list[str]) -> Iterator[list[str]]:
    """Simple commands between operators, without redirections."""
    simple: list[str] = []
    skip = False
    for word in words:
        if _OPERATORS.fullmatch(word):
            yield simple
            simple = []
        elif skip:
            skip = False
        elif _REDIRECTIONS.match(word):
            skip = bool(re.fullmatch(r"\d?(<|>|>>)", word))
        else:
            simple.append(word)
    yield simple
