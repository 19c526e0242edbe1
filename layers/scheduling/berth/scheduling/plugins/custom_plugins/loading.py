"""Custom plugins: classes in the package `berth_plugins`, which the user's plugin layer or directory has.

A name in a configuration imports from this package only. A document cannot run other code.
"""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType

from berth.scheduling.framework.plugin import ClusterFilterPlugin, ClusterScorePlugin, FilterPlugin, Plugin, ScorePlugin
from berth.scheduling.plugins.arguments import Args, NoArgs
from berth.scheduling.plugins.custom_plugins.checked_plugin import checked_plugin, description, text_of
from berth.scheduling.plugins.registry import PluginFactory

PACKAGE = "berth_plugins"
PATTERN = re.compile(rf"{PACKAGE}(\.[a-z_][a-z0-9_]*)+:[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

MISSING_REMEDY = "give the command --plugins DIR with the module, and the stack its layer (PluginLayerArn)"
"""For a missing module: commands and functions load the same document, and each finds the package elsewhere."""

_KINDS = (FilterPlugin, ScorePlugin, ClusterFilterPlugin, ClusterScorePlugin)


class NotAPlugin(ValueError):
    """The name leads to no plugin; the message says what is missing."""


def custom_plugin(name: str) -> PluginFactory:
    """The plugin of that name, `berth_plugins.<module>:<Class>`. Its arguments are its class attribute `Args`.

    Raises NotAPlugin, also for whatever the module and the class raise, sys.exit() included. Ctrl-C passes.
    """
    if PATTERN.fullmatch(name) is None:
        raise NotAPlugin(f"{name} is no name of a plugin in {PACKAGE}")
    module_name, _, class_name = name.partition(":")
    try:
        return _factory(name, getattr(_imported(name, module_name), class_name, None))
    except (NotAPlugin, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise NotAPlugin(f"{name} cannot be loaded: {description(error)}") from error


def _imported(name: str, module_name: str) -> ModuleType:
    try:
        return import_module(module_name)
    except ImportError as error:
        remedy = MISSING_REMEDY if str(error.name).partition(".")[0] == PACKAGE else "is the module part of the layer?"
        raise NotAPlugin(f"{name}: {text_of(error)}; {remedy}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise NotAPlugin(f"{name}: its module cannot be imported: {description(error)}") from error


def _factory(name: str, found: object) -> PluginFactory:
    if not isinstance(found, type) or not issubclass(found, _KINDS):
        kinds = ", ".join(kind.__name__ for kind in _KINDS)
        raise NotAPlugin(f"{name} is not a class that extends one of {kinds}")
    if getattr(found, "__abstractmethods__", None):
        raise NotAPlugin(f"{name} lacks {', '.join(sorted(found.__abstractmethods__))}")
    return PluginFactory(checked_plugin(found, name), arguments_of(found, name))


def arguments_of(plugin: type[Plugin], name: str) -> type[Args]:
    """The type of the plugin's arguments, its class attribute `Args`. Raises NotAPlugin."""
    args = getattr(plugin, "Args", NoArgs)
    if not isinstance(args, type) or not issubclass(args, Args):
        raise NotAPlugin(f"{name}.Args does not extend berth.scheduling.plugins.arguments.Args")
    return args
