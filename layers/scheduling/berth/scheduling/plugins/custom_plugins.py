"""Plugins of a user's own: a class in a module of the package `berth_plugins`, which the user adds to the layer.

A name in a configuration makes nothing else be imported: a document cannot run what is not there for it.
"""

from __future__ import annotations

import re
from importlib import import_module

from berth.scheduling.framework.plugin import ClusterFilterPlugin, ClusterScorePlugin, FilterPlugin, Plugin, ScorePlugin
from berth.scheduling.plugins.arguments import Args, NoArgs
from berth.scheduling.plugins.registry import PluginFactory

PACKAGE = "berth_plugins"
PATTERN = re.compile(rf"{PACKAGE}(\.[a-z_][a-z0-9_]*)+:[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

_KINDS = (FilterPlugin, ScorePlugin, ClusterFilterPlugin, ClusterScorePlugin)


class NotAPlugin(ValueError):
    """What a name leads to is no plugin; the message says what is missing."""


def custom_plugin(name: str) -> PluginFactory:
    """The plugin of that name, `berth_plugins.<module>:<Class>`. Its arguments are its class attribute `Args`.

    Raises NotAPlugin, also for what the module raises when it is imported.
    """
    if PATTERN.fullmatch(name) is None:
        raise NotAPlugin(f"{name} is no name of a plugin in {PACKAGE}")
    module_name, _, class_name = name.partition(":")
    try:
        module = import_module(module_name)
    except ImportError as error:
        raise NotAPlugin(f"{name}: {error}; is the module part of the layer?") from error
    except Exception as error:
        raise NotAPlugin(f"{name}: its module cannot be imported: {type(error).__name__}: {error}") from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type) or not issubclass(found, _KINDS):
        kinds = ", ".join(kind.__name__ for kind in _KINDS)
        raise NotAPlugin(f"{name} is not a class that extends one of {kinds}")
    if getattr(found, "__abstractmethods__", None):
        raise NotAPlugin(f"{name} lacks {', '.join(sorted(found.__abstractmethods__))}")
    args = getattr(found, "Args", NoArgs)
    if not isinstance(args, type) or not issubclass(args, Args):
        raise NotAPlugin(f"{name}.Args does not extend berth.scheduling.plugins.arguments.Args")
    return PluginFactory(_named(found, name), args)


def _named(found: type[Plugin], name: str) -> type[Plugin]:
    """Reasons and scores are told by plugin name; a plugin that has none goes by its own path."""
    if not isinstance(getattr(found, "name", None), str):
        found.name = name
    return found
