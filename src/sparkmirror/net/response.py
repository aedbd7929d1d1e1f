"""Control messages' responses, decoded by kafka-python: whatever a broker sends, a message or a ProtocolError.

kafka-python trusts brokers. What it raises for broken bytes is many things, and it gives None for a list or a text
that must not be null, over which its reader would stumble later.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from sparkmirror.errors import ProtocolError

_NULL_CODED = frozenset({"string", "bytes"})

Answer = TypeVar("Answer")


class _Field(NamedTuple):
    """A field that can be null in the bytes, or that holds structs; `within` are such fields of theirs."""

    name: str
    nullable: bool
    within: tuple[_Field, ...]


def decode_response(response_class: Any, frame: memoryview, version: int, sender: str) -> Any:
    """The response in `frame`, after its header."""
    try:
        response = response_class.decode(frame, version=version)
    except Exception as error:  # whatever it is, it comes from these bytes
        raise ProtocolError(f"{sender} sent a {response_class.__name__} that can't be read") from error
    missing = _find_null(response, _fields_to_check(response_class, version))
    if missing is not None:
        raise ProtocolError(f"{sender} sent a {response_class.__name__} without {missing}")
    return response


def only_answer(answers: Sequence[Answer], what: str) -> Answer:
    """The answer to a request that asked for one thing."""
    if len(answers) != 1:
        raise ProtocolError(f"{what}: one answer was expected and {len(answers)} came")
    return answers[0]


def _find_null(message: Any, fields: Sequence[_Field]) -> str | None:
    for name, nullable, within in fields:
        value = getattr(message, name)
        if value is None and not nullable:
            return name
        if value is not None and within:
            for item in value if isinstance(value, list) else (value,):
                found = _find_null(item, within)
                if found is not None:
                    return f"{name}.{found}"
    return None


@functools.cache
def _fields_to_check(response_class: Any, version: int) -> tuple[_Field, ...]:
    return tuple(_select_fields(response_class._struct, version))


def _select_fields(struct_field: Any, version: int) -> Iterator[_Field]:
    for field in struct_field.fields.values():
        if not field.for_version_q(version):
            continue
        holds_structs = field.is_struct() or field.is_struct_array()
        if field.is_array() or holds_structs or field.type_str in _NULL_CODED:
            within = tuple(_select_fields(field, version)) if holds_structs else ()
            yield _Field(field.name, field.nullable_for_version_q(version), within)
