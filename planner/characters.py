"""Characters of names that people choose, made harmless for terminals, tables and pictures.

Control characters and lone surrogates steer terminals or break formats; marks of writing direction (bidi)
show a text in another order than it has (CVE-2021-42574); U+2028 and U+2029 end lines for some readers.
"""

from __future__ import annotations

import re
from html import escape

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_ENDS = "\u2028\u2029"
_NONE = "\ud800-\udfff\ufeff\ufffe\uffff"
STEERING = re.compile(f"[\x00-\x1f\x7f-\x9f{_BIDI}{_ENDS}{_NONE}]")
"""Every character that does more than stand there."""
_STEERING_LINES = re.compile(f"[\x00-\x09\x0b-\x1f\x7f-\x9f{_BIDI}{_ENDS}{_NONE}]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def masked(text: str) -> str:
    """Text for a terminal: such characters as ``?``, line breaks as they are."""
    return _STEERING_LINES.sub("?", text)


def spelled(text: str) -> str:
    r"""Text for formats: such characters spelled out, ``\u202e``."""
    return STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def xml(text: str) -> str:
    """Text for an element or an attribute in quotes."""
    return escape(spelled(text))


def cell(text: str) -> str:
    """Text for a cell of CSV: what a spreadsheet would take for a formula has an apostrophe in front.

    Source: OWASP, CSV injection. For text only; numbers may begin with a sign.
    """
    return spelled(f"'{text}" if text.startswith(_FORMULA) else text)
