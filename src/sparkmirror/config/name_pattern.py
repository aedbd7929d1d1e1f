r"""Matches whole names in a time that grows with their length, whatever the expression: names are any client's choice.

Python's `re` tries one way after the other and holds the interpreter's lock meanwhile: `.*-.*-.*x` takes hours for a
group id of 32 KB. RE2 walks all ways at once. It matches the same names, with these differences put right here:

    re, in ASCII                RE2
    \Z                          \z
    \s                          lacks \v
    \u00e9                      \x{00e9}
    \_, \é                      only signs may be escaped
    $ before a final \n         at the end only: the same, where nothing follows that could be this \n
    (?i) in ASCII               in all languages: two signs of Unicode are s and k as well

What RE2 can't say (look-around, back references, possessive and atomic groups, {1001}) is left to `re`, for names of
at most `LONGEST_TRIED` characters, which a topic's never exceed.
"""

from __future__ import annotations

import re
from typing import Any

import re2

LONGEST_TRIED = 249
_SPACE = r"\t-\r "
_AT_END = re.compile(r"\)*(\||\Z)")
_HALF = re.compile("[\ud800-\udfff]")  # of a character; no broker sends one
_FOLDING = re.compile(r"\(\?[a-z]*i")
# The long s and the Kelvin sign; what stands for them is a letter of nobody's.
_FOLDED = str.maketrans("\u017f\u212a", "\ue000\ue000")


class NamePattern:
    """A compiled expression. `groups`: how many it has."""

    def __init__(self, expression: str) -> None:
        """In the language of `re`; re.error and the like for what is none."""
        # ASCII: in Java \w, \d, \s and (?i) know ASCII only unless told otherwise.
        self._tried = re.compile(expression, re.ASCII)
        self._expression = expression
        self._linear = _compile_linear(expression)
        self._folds = _FOLDING.search(expression) is not None
        self.groups = self._tried.groups

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamePattern) and self._expression == other._expression

    def __hash__(self) -> int:
        return hash(self._expression)

    def __reduce__(self) -> tuple[type[NamePattern], tuple[str]]:
        return NamePattern, (self._expression,)

    @property
    def is_linear(self) -> bool:
        return self._linear is not None

    def fullmatch(self, name: str) -> Any:
        """A match, whose groups are those of `re`, or None."""
        if self._linear is not None and name.isascii():
            return self._linear.fullmatch(name)
        if self._linear is not None and _HALF.search(name) is None:
            return self._linear.fullmatch(name.translate(_FOLDED) if self._folds else name)
        return self._tried.fullmatch(name) if len(name) <= LONGEST_TRIED else None


def _compile_linear(expression: str) -> Any:
    if _FOLDING.search(expression) and not expression.isascii():
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(_for_re2(expression), options)
    except (re2.error, ValueError):
        return None


def _for_re2(expression: str) -> str:
    """ValueError for what can't be said."""
    pieces: list[str] = []
    at, depth, in_class = 0, 0, False
    while at < len(expression):
        char = expression[at]
        if char == "\\":
            piece, at = _escape(expression, at, in_class=in_class)
            pieces.append(piece)
            continue
        if in_class:
            in_class = char != "]"
        else:
            in_class = char == "["
            depth += (char == "(") - (char == ")")
            if char == "$":
                _refuse_unless_last(expression, at + 1, depth)
        pieces.append(char)
        at += 1
    return "".join(pieces)


def _escape(expression: str, at: int, *, in_class: bool) -> tuple[str, int]:
    escaped = expression[at + 1]
    if escaped == "u":
        return rf"\x{{{expression[at + 2 : at + 6]}}}", at + 6
    if escaped == "s":
        return _SPACE if in_class else f"[{_SPACE}]", at + 2
    if escaped == "S":
        return (r"\x{0}-\x08\x0e-\x1f!-\x{10ffff}" if in_class else f"[^{_SPACE}]"), at + 2
    if escaped == "b" and in_class:
        return r"\x08", at + 2
    if escaped == "Z":
        return r"\z", at + 2
    if escaped == "_" or not escaped.isascii():
        return escaped, at + 2
    return expression[at : at + 2], at + 2


def _refuse_unless_last(expression: str, at: int, depth: int) -> None:
    rest = _AT_END.match(expression, at)
    if rest is None or rest.group().count(")") != depth:
        raise ValueError("a name that ends with a line end would be told otherwise")
