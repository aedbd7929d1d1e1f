"""A user's own policies and filters: Python classes, loaded only from files below `plugin.path`.

    replication.policy.class = my_names.Upper        <plugin.path>/my_names.py, class Upper
    topic.filter.class = acme.mirror.Filter          <plugin.path>/acme/mirror.py, class Filter

A name in the configuration can't reach any other module, whether it is installed or loaded already. As Kafka does with
its Configurable plugins, an object that has a method `configure` gets the flow's settings once, before it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from sparkmirror.errors import ConfigError


def load_plugin(key: str, name: str, plugin_path: Sequence[str], settings: Mapping[str, str]) -> object:
    """An object of the class `name`, configured; `key` is the setting that names it."""
    module_name, _, class_name = name.rpartition(".")
    if not module_name:
        raise ConfigError(f"{key}={name}: expected one of Kafka's own classes, or module.Class of a Python class")
    if not plugin_path:
        raise ConfigError(
            f"{key}={name} is none of Kafka's own classes: write it as a Python class, "
            "and name its folder in plugin.path"
        )
    module = _load_module(key, module_name, plugin_path)
    kind = getattr(module, class_name, None)
    if not isinstance(kind, type):
        raise ConfigError(f"{key}={name}: {module.__file__} has no class {class_name}")
    try:
        plugin: Any = kind()
        configure = find_method(plugin, "configure")
        if configure is not None:
            configure(dict(settings))
    except Exception as error:
        raise ConfigError(f"{key}={name} can't be made: {type(error).__name__}: {error}") from error
    return plugin


def find_method(plugin: object, name: str) -> Callable[..., Any] | None:
    """By our name or by Java's: `topic_source` or `topicSource`."""
    first, *others = name.split("_")
    for spelling in (name, first + "".join(word.capitalize() for word in others)):
        method = getattr(plugin, spelling, None)
        if callable(method):
            return method  # type: ignore[no-any-return]
    return None


def require_methods(key: str, plugin: object, names: Sequence[str]) -> dict[str, Callable[..., Any]]:
    """ConfigError says which method is missing."""
    found = {name: find_method(plugin, name) for name in names}
    missing = [name for name, method in found.items() if method is None]
    if missing:
        raise ConfigError(f"{key}: {type(plugin).__name__} has no method {missing[0]}")
    return {name: method for name, method in found.items() if method is not None}


def _load_module(key: str, name: str, plugin_path: Sequence[str]) -> ModuleType:
    """The module and the packages it is in, one after the other."""
    places: Sequence[str] | None = [str(Path(folder).resolve()) for folder in plugin_path]
    whole = ""
    for part in name.split("."):
        whole = f"{whole}.{part}" if whole else part
        spec = PathFinder.find_spec(whole, places) if places else None
        if spec is None or spec.origin is None or spec.loader is None:
            raise ConfigError(f"{key}: there is no module {whole} below plugin.path {', '.join(plugin_path)}")
        module = _execute(key, whole, spec)
        places = spec.submodule_search_locations
    return module


def _execute(key: str, name: str, spec: ModuleSpec) -> ModuleType:
    known = sys.modules.get(name)
    if known is not None:
        if getattr(known, "__file__", None) == spec.origin:
            return known
        raise ConfigError(f"{key}: the module {spec.origin} has a name that is taken, {name}: call it otherwise")
    module = module_from_spec(spec)
    assert spec.loader is not None
    sys.modules[name] = module  # where its own relative imports look for it
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise ConfigError(f"{key}: {spec.origin} can't be loaded: {type(error).__name__}: {error}") from error
    return module
