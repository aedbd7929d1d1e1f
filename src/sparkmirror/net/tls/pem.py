"""PEM text: blocks of base64 with a label. Values of a properties file may have blanks where lines would end."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import NamedTuple

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_LINE = 64
CERTIFICATE = "CERTIFICATE"


class Block(NamedTuple):
    """`content` is DER."""

    label: str
    content: bytes

    @property
    def is_key(self) -> bool:
        return self.label.endswith("PRIVATE KEY")


def split_blocks(text: str) -> Iterator[Block]:
    """ValueError where a block is not base64."""
    for label, body in _BLOCK.findall(text):
        try:
            yield Block(label, base64.b64decode("".join(body.split()), validate=True))
        except binascii.Error:
            raise ValueError(f"the block {label} is not base64") from None


def join_block(label: str, content: bytes) -> str:
    coded = base64.b64encode(content).decode()
    lines = (coded[i : i + _LINE] for i in range(0, len(coded), _LINE))
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])
