"""What must hold for every answer of a command, whatever was asked."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PROGRAM = Path(sys.executable).parent / "planner"
_ONE = re.compile(r"(?<![\w.,:/×-])(?<!to )1 ([A-Za-z][A-Za-z-]*s)\b(?![./])")
_NOT_PLURAL = {"is", "was", "has", "as", "us", "ms", "across", "allows", "carries", "holds", "keeps", "needs"}


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str

    def faults(self, refused=""):
        """What is wrong with it, in words; empty where all is well."""
        said = " ".join(self.arguments)
        allowed = (2,) if refused else (0, 1, 3)
        if self.code not in allowed or "Traceback" in self.err or "this is a bug" in self.err:
            return [f"{said}: exit {self.code}: {self.err.strip()[-400:]}"]
        if refused:
            return (
                [] if refused in self.err else [f"{said}: expected {refused!r} in {self.err.strip()[-400:]}"]
            )
        printed = self.out if self.code != 3 else self.out + self.err
        found = [] if printed.strip() else [f"{said}: nothing was printed"]
        return found + [f"{said}: {word!r} of one" for word in one_of_many(self.out)]


def one_of_many(text):
    """Nouns in the plural after a one: ``1 replicas``."""
    return [f"1 {word}" for word in _ONE.findall(text) if word not in _NOT_PLURAL]


def not_json(path):
    """What is wrong with a document in a file; empty where it is JSON and nothing else."""
    try:
        json.loads(Path(path).read_bytes(), parse_constant=_refuse)
    except (OSError, ValueError) as problem:
        return [f"{path}: {problem}"]
    return []


def _refuse(name):
    raise ValueError(f"{name} is no JSON")


def as_program(arguments, folder, timeout_s=None):
    """The command as a process of its own."""
    environment = {**os.environ, "PYTHONUTF8": "1"}
    done = subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder, capture_output=True, text=True, timeout=timeout_s, check=False, env=environment,
    )  # fmt: skip
    return Ended(tuple(arguments), done.returncode, done.stdout, done.stderr)


def in_process(arguments, capsys, monkeypatch):
    """The entry point of the command with its arguments, and what it wrote; one start of Python less."""
    from planner.interfaces import cli

    monkeypatch.setattr(sys, "argv", ["planner", *arguments])
    capsys.readouterr()
    code = None
    try:
        cli.main()
    except SystemExit as ended:
        code = ended.code or 0
    shown = capsys.readouterr()
    return Ended(tuple(arguments), code, shown.out, shown.err)
