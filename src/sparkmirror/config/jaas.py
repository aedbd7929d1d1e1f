r"""JAAS text as Kafka and Java have it: who logs in, and by which module.

    sasl.jaas.config      module flag (option "=" value)* ";"
    a JAAS file           (section "{" (module flag (option "=" value)* ";")+ "}" ";")*

Values stand in double or single quotes, with Java's escapes (\n, \", octal), or are single words. Comments are `//` and
`/* */`. Messages give the place by line and column and never a value: most of these are secrets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
KERBEROS_MODULE = "com.sun.security.auth.module.Krb5LoginModule"
MODULES = (PLAIN_MODULE, SCRAM_MODULE, OAUTH_MODULE, KERBEROS_MODULE)
CLIENT_SECTION = "KafkaClient"
FLAGS = ("required", "requisite", "sufficient", "optional")

_TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n\r]*|/\*.*?\*/)
      | (?P<quoted>"(?:\\.|[^"\\\n\r])*"|'(?:\\.|[^'\\\n\r])*')
      | (?P<sign>[=;{}])
      | (?P<word>[^\s"'=;{}]+)
      | (?P<broken>.)""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_CONTROL = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CLASS_NAME = re.compile(r"[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)+")
_JAVA_PROPERTY = re.compile(r"\$\{")


@dataclass(frozen=True, slots=True)
class LoginModule:
    """One module with its options, where passwords stand."""

    name: str
    options: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str = field(repr=False)
    start: int = 0
    end: int = 0

    def is_sign(self, sign: str) -> bool:
        return self.kind == "sign" and self.text == sign


def parse_jaas(text: str) -> LoginModule:
    """The one module of a `sasl.jaas.config`; ValueError says what is wrong, and where."""
    reader = _Reader(text)
    module = reader.take_module()
    reader.expect_end()
    return module


def jaas_text(value: str) -> str:
    """The parser of the key: the text stays as it is once it is known to be good."""
    parse_jaas(value)
    return value


def find_section(text: str, section: str = CLIENT_SECTION) -> str | None:
    """A section of a JAAS file, as `sasl.jaas.config` would have it; None where there is no such section."""
    reader = _Reader(text)
    found = None
    while not reader.is_at_end:
        name = reader.take("the name of a section", "word", "quoted").text
        start = reader.take_sign("{").end
        while not reader.peek().is_sign("}"):
            reader.take_module(is_known=name != section)
        end = reader.take_sign("}").start
        reader.take_sign(";")
        if name == section:
            found = text[start:end]
    if found is not None and _JAVA_PROPERTY.search(found):
        raise ValueError(
            f"section {section}: ${{...}} of Java's system properties is not known here: expected the value"
        )
    return found


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [
            _Token(str(found.lastgroup), found.group(), found.start(), found.end())
            for found in _TOKEN.finditer(text)
            if found.lastgroup != "blank"
        ]
        self._next = 0

    @property
    def is_at_end(self) -> bool:
        return self._next == len(self._tokens)

    def peek(self) -> _Token:
        return _Token("end", "", len(self._text)) if self.is_at_end else self._tokens[self._next]

    def take(self, wanted: str, *kinds: str) -> _Token:
        token = self.peek()
        if token.kind == "broken":
            raise self._error(token, "a quote that begins here is not closed on its line")
        if token.kind not in kinds:
            raise self._error(token, f"expected {wanted}" + (", and the text ends" if token.kind == "end" else ""))
        self._next += 1
        return token

    def take_sign(self, sign: str) -> _Token:
        if not self.peek().is_sign(sign):
            return self.take(f"'{sign}'")
        return self.take(f"'{sign}'", "sign")

    def take_module(self, *, is_known: bool = False) -> LoginModule:
        """`is_known`: it is another program's, and may be any."""
        name = self.take("the class of a login module", "word")
        flag = self.take(f"{', '.join(FLAGS[:-1])} or {FLAGS[-1]} behind the login module", "word")
        if flag.text.lower() not in FLAGS:
            raise self._error(flag, f"expected {', '.join(FLAGS[:-1])} or {FLAGS[-1]} behind the login module")
        options = dict(self._take_options())
        if not is_known and name.text not in MODULES:
            shown = f" {name.text}" if _CLASS_NAME.fullmatch(name.text) else ""
            raise self._error(name, f"the login module{shown} is not known here: expected one of {', '.join(MODULES)}")
        return LoginModule(name.text, options)

    def _take_options(self) -> list[tuple[str, str]]:
        options = []
        while not self.peek().is_sign(";"):
            name = self.take("an option, or ';' at the end of the login module", "word", "quoted")
            if not self.peek().is_sign("="):
                raise self._error(self.peek(), "expected '=' and a value behind an option")
            self.take_sign("=")
            value = self.take("the value of an option", "word", "quoted")
            options.append((_unquote(name), _unquote(value)))
        self.take_sign(";")
        return options

    def expect_end(self) -> None:
        if not self.is_at_end:
            raise self._error(self.peek(), "expected one login module, and nothing behind its ';'")

    def _error(self, token: _Token, said: str) -> ValueError:
        before = self._text[: token.start]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        return ValueError(f"JAAS line {line}, column {column}: {said}")


def _unquote(token: _Token) -> str:
    if token.kind != "quoted":
        return token.text
    return _ESCAPE.sub(_unescape, token.text[1:-1])


def _unescape(found: re.Match[str]) -> str:
    escaped = found.group(1)
    if escaped[0] in "01234567":
        return chr(int(escaped, 8))
    return _CONTROL.get(escaped, escaped)
