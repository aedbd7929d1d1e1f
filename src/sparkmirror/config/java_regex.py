r"""Java's regular expressions in Python's `re`: same names matched, or refused by name.

MirrorMaker 2 joins a list's elements with `|` and compiles the whole once. So do we: `(eu, us)` becomes the
valid `(eu|us)`. What differs between the two languages and can stand in a topic filter:

    Java                           here
    \Q..\E                         the text, escaped
    \p{Alpha}, \p{L}, \pL          an ASCII class: Kafka's topic names are ASCII, so nothing is lost
    (?i) amid the expression       a scoped group to the end of the enclosing one, each alternative its own
    (?<name>..), \k<name>          (?P<name>..), (?P=name)
    \z, \h, \e                     \Z, [ \t], \x1b
    a{ and {,3}                    an error in both; Python alone would take it for plain text
    [a[bc]], [a&&b], \R, \X, ..    refused
"""

from __future__ import annotations

import re
from functools import lru_cache

from sparkmirror.config.name_pattern import NamePattern

_REPETITION = re.compile(r"\{\d+(,\d*)?\}")
_GROUP = re.compile(r"\((?!\?)|\(\?(?::|=|!|>|<=|<!)")
_NAMED_GROUP = re.compile(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>")
_FLAGS = re.compile(r"\(\?([a-zA-Z]*(?:-[a-zA-Z]+)?)([:)])")
_BACK_REFERENCE = re.compile(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>")
_PROPERTY = re.compile(r"\\([pP])(?:\{(?:Is|java)?(\w+)\}|([A-Z]))")
_SAME_IN_PYTHON = frozenset("dDwWsSbBAtnrfaxu123456789")
_ONE_CHARACTER = {"e": r"\x1b", "z": r"\Z", "Z": r"\Z"}

_LETTERS, _DIGITS, _PUNCTUATION = "a-zA-Z", "0-9", r"!-/:-@\[-`{-~"
_CLASSES = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": _LETTERS,
    "Digit": _DIGITS,
    "Alnum": _LETTERS + _DIGITS,
    "Punct": _PUNCTUATION,
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r"\s",
    "L": _LETTERS,
    "Lu": "A-Z",
    "Ll": "a-z",
    "N": _DIGITS,
    "Nd": _DIGITS,
    "P": r"!-#%-*,-/:;?@\[-\]_{}",
    "Alphabetic": _LETTERS,
    "Letter": _LETTERS,
    "Uppercase": "A-Z",
    "UpperCase": "A-Z",
    "Lowercase": "a-z",
    "LowerCase": "a-z",
    "LetterOrDigit": _LETTERS + _DIGITS,
}


@lru_cache(maxsize=256)
def compile_elements(elements: tuple[str, ...]) -> NamePattern | None:
    """The elements joined with `|`, for `fullmatch`; None for no elements: nothing matches.

    ValueError names the element that is wrong.
    """
    if not elements:
        return None
    try:
        return _compile("|".join(elements))
    except ValueError as error:
        raise ValueError(_blame(elements, str(error))) from None


def translate(pattern: str) -> str:
    """The same expression for Python's `re`; ValueError for what Java refuses or Python can't say."""
    # Inline flags such as (?i) that are open in each enclosing group, outermost first.
    flags: list[list[str]] = [[]]
    pieces: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            piece, at = _escape(pattern, at, in_class=False)
        elif char == "[":
            piece, at = _character_class(pattern, at)
        elif char == "(":
            piece, at = _open_group(pattern, at, flags)
        elif char in "|)":
            piece, at = _end_alternative(char, flags), at + 1
        else:
            _refuse_bare_brace(pattern, at)
            piece, at = char, at + 1
        pieces.append(piece)
    return "".join(pieces) + ")" * len(flags[-1])


def _compile(pattern: str) -> NamePattern:
    try:
        return NamePattern(translate(pattern))
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _blame(elements: tuple[str, ...], joined_error: str) -> str:
    for number, element in enumerate(elements, start=1):
        try:
            _compile(element)
        except ValueError as error:
            return f"bad regular expression {element!r} (element {number} of {len(elements)}): {error}"
    return f"bad regular expression {'|'.join(elements)!r} (all elements joined): {joined_error}"


def _open_group(pattern: str, at: int, flags: list[list[str]]) -> tuple[str, int]:
    if plain := _GROUP.match(pattern, at):
        flags.append([])
        return plain.group(), plain.end()
    if named := _NAMED_GROUP.match(pattern, at):
        flags.append([])
        return f"(?P<{named.group(1)}>", named.end()
    inline = _FLAGS.match(pattern, at)
    if inline is None:
        raise ValueError(f"Java has no group that begins with {pattern[at : at + 4]!r}")
    opening = _flag_group(inline.group(1))
    if inline.group(2) == ":":
        flags.append([])
    else:
        flags[-1].append(opening)
    return opening, inline.end()


def _flag_group(letters: str) -> str:
    refused = set(letters) - set("imsu-")
    if refused:
        raise ValueError(f"the flag {min(refused)!r} in '(?{letters})' is not supported; i, m, s, u are")
    # u widens (?i) beyond ASCII, where no topic name goes.
    return f"(?{letters.replace('u', '').rstrip('-')}:"


def _end_alternative(char: str, flags: list[list[str]]) -> str:
    closing = ")" * len(flags[-1])
    if char == "|":
        return closing + "|" + "".join(flags[-1])
    if len(flags) > 1:
        flags.pop()
    return closing + ")"


def _refuse_bare_brace(pattern: str, at: int) -> None:
    if pattern[at] == "{" and _REPETITION.match(pattern, at) is None:
        raise ValueError(
            f"illegal repetition at {pattern[at : at + 8]!r}: expected {{n}}, {{n,}} or {{n,m}} "
            "(a comma also separates the elements of the list)"
        )


def _character_class(pattern: str, at: int) -> tuple[str, int]:
    start = at + (2 if pattern.startswith("[^", at) else 1)
    pieces = [pattern[at:start]]
    at = start
    while at < len(pattern):
        char = pattern[at]
        if char == "]" and at > start:
            return "".join(pieces) + "]", at + 1
        if char == "[" or pattern[at : at + 2] in ("&&", "--"):
            raise ValueError(f"{pattern[at : at + 2]!r} inside [...] is not supported; escape it if you mean text")
        if char == "\\":
            piece, at = _escape(pattern, at, in_class=True)
        else:
            # Python warns about these when doubled, and ends the class at a bare bracket.
            piece, at = ("\\" + char if char in "]&~|" else char), at + 1
        pieces.append(piece)
    raise ValueError("unclosed character class: expected ]")


def _escape(pattern: str, at: int, *, in_class: bool) -> tuple[str, int]:
    escaped = pattern[at + 1 : at + 2]
    if escaped == "Q":
        end = pattern.find("\\E", at + 2)
        end = len(pattern) if end < 0 else end
        return re.escape(pattern[at + 2 : end]), end + 2
    if escaped in ("p", "P"):
        return _property(pattern, at, in_class=in_class)
    if escaped in ("h", "H"):
        blank = _wrap(r" \t", negated=escaped == "H", in_class=in_class)
        return blank, at + 2
    if reference := _BACK_REFERENCE.match(pattern, at):
        return f"(?P={reference.group(1)})", reference.end()
    if escaped in _ONE_CHARACTER:
        return _ONE_CHARACTER[escaped], at + 2
    if escaped in _SAME_IN_PYTHON or not (escaped.isascii() and escaped.isalnum()):
        return pattern[at : at + 2], at + 2
    raise ValueError(f"the escape '\\{escaped}' is not supported")


def _property(pattern: str, at: int, *, in_class: bool) -> tuple[str, int]:
    found = _PROPERTY.match(pattern, at)
    content = _CLASSES.get(found.group(2) or found.group(3)) if found else None
    if found is None or content is None:
        shown = found.group() if found else pattern[at : at + 12]
        raise ValueError(f"the character class {shown!r} is not supported; \\p{{Alpha}}, \\p{{L}} and the like are")
    return _wrap(content, negated=found.group(1) == "P", in_class=in_class), found.end()


def _wrap(content: str, *, negated: bool, in_class: bool) -> str:
    if in_class and negated:
        raise ValueError("a negated class such as \\P{..} or \\H inside [...] is not supported")
    return content if in_class else f"[{'^' if negated else ''}{content}]"
