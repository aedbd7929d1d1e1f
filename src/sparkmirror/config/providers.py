"""Values that stand elsewhere: `${file:/run/secrets.properties:password}`, `${dir:/run/secrets:password}`, `${env:X}`.

As Kafka's ConfigTransformer reads them. The names `file`, `dir`, `directory` and `env` are there without being
declared; any other is declared by `config.providers` and a `config.providers.NAME.class` of Kafka's own three.
Reading files and variables is the caller's: this only says which.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from sparkmirror.config.findings import Findings
from sparkmirror.config.java_regex import compile_elements
from sparkmirror.config.properties import Entry, latest_entries, line_of, parse_properties
from sparkmirror.config.secrecy import PLACEHOLDER, is_secret
from sparkmirror.config.values import text_list
from sparkmirror.errors import ConfigError

_BUILT_IN = {"file": "File", "dir": "Directory", "directory": "Directory", "env": "EnvVar"}
_NAME = re.compile(r"[A-Za-z][\w-]*")
_CLASS = re.compile(r"(?:org\.apache\.kafka\.common\.config\.provider\.)?(File|Directory|EnvVar)ConfigProvider")
_PREFIX = "config.providers"


def _nothing_to_read(path: str) -> str:
    raise OSError(f"{path}: files are out of reach here")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a file's placeholders may ask for. `read_text` raises OSError."""

    read_text: Callable[[str], str] = _nothing_to_read
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provider:
    kind: str
    allowed_paths: tuple[str, ...] = ()
    allowed_variables: str = ""


def fill_placeholders(entries: Mapping[str, Entry], surroundings: Surroundings, findings: Findings) -> dict[str, Entry]:
    """The same entries, each value that had placeholders filled in and with the entry as written behind it."""
    providers = _providers(entries, findings)
    return {key: _fill(entry, providers, surroundings, findings) for key, entry in entries.items()}


def _providers(entries: Mapping[str, Entry], findings: Findings) -> dict[str, _Provider]:
    found = {name: _Provider(kind=kind) for name, kind in _BUILT_IN.items()}
    declared = entries.get(_PREFIX)
    for name in text_list(declared.value) if declared else ():
        entry = entries.get(f"{_PREFIX}.{name}.class")
        known = _CLASS.fullmatch(entry.value.strip()) if entry else None
        if known is None:
            where = entry or declared
            said = (
                "expected FileConfigProvider, DirectoryConfigProvider or EnvVarConfigProvider, with or without package"
            )
            findings.error(line_of(where), f"{_PREFIX}.{name}.class: {said}")
            continue
        found[name] = _Provider(
            kind=known.group(1),
            allowed_paths=text_list(_param(entries, name, "allowed.paths")),
            allowed_variables=_param(entries, name, "allowlist.pattern"),
        )
    return found


def _param(entries: Mapping[str, Entry], name: str, param: str) -> str:
    entry = entries.get(f"{_PREFIX}.{name}.param.{param}")
    return entry.value.strip() if entry else ""


def _fill(entry: Entry, providers: Mapping[str, _Provider], surroundings: Surroundings, findings: Findings) -> Entry:
    if entry.key.startswith(_PREFIX):
        return entry

    def look_up(found: re.Match[str]) -> str:
        name, path, key = found.group(1), found.group(3) or "", found.group(4)
        if name not in providers:
            shown = found.group()
            if is_secret(entry.key):  # these may be characters of a password
                name = name if found.group() == entry.value.strip() and _NAME.fullmatch(name) else "NAME"
                shown = f"${{{name}:...}}"
            declared = f"{_PREFIX} = {name} and {_PREFIX}.{name}.class"
            findings.warn(entry.line, f"{entry.key}: {shown} stays as it is: to fill it in, declare {declared}")
            return found.group()
        try:
            return _look_up(providers[name], path, key, surroundings)
        except ValueError as error:
            findings.error(entry.line, f"{entry.key}: {found.group()}: {error}")
            return ""

    filled = PLACEHOLDER.sub(look_up, entry.value)
    return entry if filled == entry.value else Entry(entry.key, filled, entry.line, (entry,))


def _look_up(provider: _Provider, path: str, key: str, surroundings: Surroundings) -> str:
    if provider.kind == "EnvVar":
        allowed = not provider.allowed_variables or _matches(provider.allowed_variables, key)
        if key not in surroundings.variables or not allowed:
            raise ValueError(f"expected an environment variable {key}" + ("" if allowed else " that is allowed"))
        return surroundings.variables[key]
    file = str(PurePath(path, key)) if provider.kind == "Directory" else path
    _require_allowed(provider, file)
    try:
        content = surroundings.read_text(file)
    except OSError as error:
        raise ValueError(f"can't read {file}: {error.strerror or error}; expected a file that can be read") from None
    return content if provider.kind == "Directory" else _property(content, file, key)


def _matches(pattern: str, key: str) -> bool:
    compiled = compile_elements((pattern,))
    return compiled is not None and compiled.fullmatch(key) is not None


def _require_allowed(provider: _Provider, file: str) -> None:
    normal = os.path.normpath(file)
    folders = [os.path.normpath(folder) for folder in provider.allowed_paths]
    if folders and not any(normal == folder or normal.startswith(folder.rstrip("/") + "/") for folder in folders):
        raise ValueError(f"{file} is not below allowed.paths: expected one of {', '.join(folders)}")


def _property(content: str, file: str, key: str) -> str:
    try:
        found = latest_entries(parse_properties(content, file), Findings(file))
    except ConfigError as error:
        raise ValueError(str(error)) from None
    if key not in found:
        raise ValueError(f"{file} has no key {key}: expected a line such as {key} = ...")
    return found[key].value
