"""Logs as chunks of whole lines, in bounded memory: plain or gzip, without colors, from files or a pipe."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from planner.errors import input_error
from planner.loaders.files import NO_FILE, STDIN, name_of, opened, reason

CHUNK_BYTES = 1 << 19
"""One chunk: small beside any log, large beside the work for each."""
MAX_BYTES = 1 << 44
"""Of one file on the disk; nothing of it is kept."""
LONGEST_LINE = 1 << 16
"""Bytes of a line; what follows in a longer one is not read."""
EXPECTED = "a log of an engine as text, plain or gzip, - for standard input"
_GZIP = b"\x1f\x8b"
_COLOR = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\n]*\x07)")
Read = Callable[[int], bytes]


def chunks(path: Path) -> Iterator[bytes]:
    r"""The log in pieces that end with a line, ``\r\n`` or bare ``\r`` between lines as it may be.

    Escape sequences of terminals are taken out, so that colors split no word.

    Raises:
        InputError: a file that cannot be read; gzip that is broken from its beginning.
    """
    if path == STDIN:
        if sys.stdin is None:
            raise input_error(name_of(path), "", "it closed", EXPECTED)
        yield from _lines(_inflated(sys.stdin.buffer.read, name_of(path)))
        return
    with opened(path, MAX_BYTES, EXPECTED) as file:
        yield from _lines(_inflated(lambda size: file.read(size) or b"", str(path)))


def _inflated(read: Read, name: str) -> Iterator[bytes]:
    """The bytes of a file, or of all members of a gzip file; one that is cut off gives what it holds."""
    try:
        data = read(CHUNK_BYTES)
        if not data.startswith(_GZIP):
            while data:
                yield data
                data = read(CHUNK_BYTES)
            return
        given = False
        unpack = zlib.decompressobj(wbits=31)
        while data:
            try:
                piece = unpack.decompress(data, CHUNK_BYTES)
            except zlib.error as problem:
                if given:
                    return
                raise input_error(name, "", f"broken gzip ({problem})", EXPECTED) from problem
            given = given or bool(piece)
            if piece:
                yield piece
            data = unpack.unconsumed_tail or (unpack.unused_data if unpack.eof else b"")
            if unpack.eof:
                unpack = zlib.decompressobj(wbits=31)
                data = data.lstrip(b"\0")
            data = data or read(CHUNK_BYTES)
    except OSError as problem:
        raise input_error(name, "", reason(problem) or NO_FILE, EXPECTED) from problem


def _lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces cut between lines; of a line without end only its beginning stays."""
    rest = b""
    for piece in pieces:
        whole = rest + piece
        end = whole.rfind(b"\n") + 1
        if end:
            yield _plain(whole[:end])
            rest = whole[end:]
        else:
            rest = whole
        if len(rest) > LONGEST_LINE:
            rest = rest[:LONGEST_LINE]
    if rest:
        yield _plain(rest)


def _plain(chunk: bytes) -> bytes:
    return _COLOR.sub(b"", chunk) if b"\x1b" in chunk else chunk
