"""Loads custom plugins from the package `berth_plugins`. A configuration cannot import other code.

Custom plugins run with checks: if a plugin raises an exception or returns a wrong type, PluginFailed is raised. The
checks take little time: verdicts and scores are cached by pod shape, so plugins are rarely called.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from berth.scheduling.framework.plugin import (
    SUCCESS,
    ClusterEvent,
    ClusterFilter,
    ClusterFilterPlugin,
    ClusterScore,
    ClusterScorePlugin,
    Code,
    FilterPlugin,
    Plugin,
    PluginFailed,
    PluginState,
    ScorePlugin,
    Status,
)
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.arguments import Args, NoArgs
from berth.scheduling.plugins.registry import PluginFactory
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.parts import SnapshotPart
from berth.scheduling.snapshot.snapshot import Snapshot


@cache
def checked_plugin(plugin: type[Plugin], path: str) -> type[Plugin]:
    """Return a subclass with the checks. path: `<module>:<Class>`. Messages contain it, and it is the plugin's name if
    the plugin does not set one."""
    methods: dict[str, Any] = {
        "__module__": plugin.__module__,
        "with_counting": _checked(path, plugin, "with_counting", _with_counting),
        "shape": _checked(path, plugin, "shape", _shape),
    }
    if getattr(plugin, "name", None) is None:
        methods["name"] = path
    if issubclass(plugin, FilterPlugin):
        methods["pre_filter"] = _checked(path, plugin, "pre_filter", _state)
        methods["filter"] = _checked(path, plugin, "filter", lambda asked, found, _: asked.status(found))
    if issubclass(plugin, ScorePlugin):
        methods["pre_score"] = _checked(path, plugin, "pre_score", _state)
        methods["score"] = _checked(path, plugin, "score", _score)
        methods["normalize"] = _normalize(path, plugin.normalize)
    if issubclass(plugin, ClusterFilterPlugin):
        methods["pre_filter"] = _checked(
            path, plugin, "pre_filter", lambda asked, found, _: asked.rejection(found) or asked.cluster_filter(found)
        )
    if issubclass(plugin, ClusterScorePlugin):
        methods["pre_score"] = _checked(
            path,
            plugin,
            "pre_score",
            lambda asked, found, _: None if found is None else asked.rejection(found) or asked.cluster_score(found),
        )
    return type(plugin.__name__, (plugin,), methods)


def call(path: str, method: str, run: Callable[..., Any], *args: object, node: str = "") -> Any:
    """Call a method of a plugin. Raises PluginFailed for any exception, even for sys.exit(), so that a plugin cannot
    end a command or a function. Ctrl-C still ends it."""
    try:
        return run(*args)
    except (PluginFailed, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise PluginFailed(path, method, description(error), node) from error


def built_plugin(path: str, plugin: Callable[[Any], Plugin], args: object) -> Plugin:
    """Build the plugin with these arguments. Raises PluginFailed."""
    built = call(path, "__init__", plugin, args)
    if not isinstance(built, Plugin):
        raise _Call(path, "__init__").wrong(built, "a plugin")
    return _with_checked_attributes(path, built)


def _with_checked_attributes(path: str, plugin: Plugin) -> Plugin:
    """Check the plugin's attributes and return the plugin. A constructor may set wrong values; a property may raise."""
    for attribute, (is_valid, wanted) in _ATTRIBUTES.items():
        if attribute != "normalized" or isinstance(plugin, ScorePlugin):
            found = call(path, attribute, getattr, plugin, attribute)
            if not is_valid(found):
                raise PluginFailed(path, attribute, f"it is {_shown(found)}, not {wanted}")
    return plugin


def _is_boolean(found: object) -> bool:
    return isinstance(found, bool)


def _all_of(kind: type) -> Callable[[object], bool]:
    return lambda found: isinstance(found, frozenset) and all(isinstance(each, kind) for each in found)


_ATTRIBUTES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "name": (lambda found: isinstance(found, str), "a text"),
    "reads": (_all_of(SnapshotPart), "NODES_ONLY or NODES_AND_PODS of berth.scheduling.framework"),
    "events_to_register": (_all_of(ClusterEvent), "a frozenset of ClusterEvent of berth.scheduling.framework"),
    "applies_to_exempt_pods": (_is_boolean, "a boolean"),
    "is_reserved": (_is_boolean, "a boolean"),
    "normalized": (_is_boolean, "a boolean"),
}


def description(error: BaseException) -> str:
    """Describe the error, as in `ZeroDivisionError: division by zero (team_nodes.py, line 32)`."""
    place, trace = "", error.__traceback__
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__}: {text_of(error)}{f' ({place})' if place else ''}"


def text_of(error: BaseException) -> str:
    """Return the error's message. The `str` of a plugin's exception may raise another exception."""
    return _text(str, error)


def _text(show: Callable[[object], str], found: object) -> str:
    try:
        return " ".join(line.strip() for line in show(found).splitlines())
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return f"<its text raises {type(error).__name__}>"


def _shown(found: object) -> str:
    text = _text(repr, found)
    return f"{text if len(text) <= 60 else f'{text[:60]}…'} ({type(found).__name__})"


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of a plugin's method, and the checks of its result. node: empty if the call is not for a single node."""

    path: str
    method: str
    node: str = ""

    def run(self, run: Callable[..., Any], *args: object) -> Any:
        return call(self.path, self.method, run, *args, node=self.node)

    def wrong(self, found: object, wanted: str) -> PluginFailed:
        return self._failed(f"it returned {_shown(found)}, not {wanted}")

    def _failed(self, problem: str) -> PluginFailed:
        return PluginFailed(self.path, self.method, problem, self.node)

    def status(self, found: object) -> Status:
        # The framework compares SUCCESS by identity.
        if found is SUCCESS:
            return SUCCESS
        if not isinstance(found, Status):
            raise self.wrong(found, "a Status")
        if defect := self.run(_defect, found):
            raise self._failed(f"it returned a Status with {defect}")
        return SUCCESS if found.code is Code.SUCCESS else found

    def rejection(self, found: object) -> Status | None:
        """Return the result if it is a Status that rejects, else None."""
        status = self.status(found) if isinstance(found, Status) else SUCCESS
        return None if status is SUCCESS else status

    def integers(self, found: object, length: int) -> list[int]:
        if not isinstance(found, list) or len(found) != length:
            raise self.wrong(found, f"a list of {length} integers")
        if not {*map(type, found)} <= {int}:
            odd = next(each for each in found if type(each) is not int)
            raise self._failed(f"it returned a list with {_shown(odd)}, not with integers alone")
        return cast(list[int], found)

    def cluster_filter(self, found: object) -> ClusterFilter:
        if not isinstance(found, ClusterFilter):
            raise self.wrong(found, "a ClusterFilter")
        return _CheckedClusterFilter(self.path, found)

    def cluster_score(self, found: object) -> ClusterScore:
        if not isinstance(found, ClusterScore):
            raise self.wrong(found, "a ClusterScore")
        return _CheckedClusterScore(self.path, found)


def _defect(status: Any) -> str:
    """Describe the field with a wrong type; empty if all types are correct. A common mistake is a text instead of a
    tuple."""
    if not isinstance(status.code, Code):
        return f"the code {_shown(status.code)}, not a Code"
    if not isinstance(status.reasons, tuple) or not all(isinstance(each, str) for each in status.reasons):
        return f"the reasons {_shown(status.reasons)}, not a tuple of texts"
    if not all(isinstance(each, ReasonCode) for each in status.reason_codes):
        return f"the reason codes {_shown(status.reason_codes)}, not a tuple of ReasonCode"
    return "" if isinstance(status.plugin, str) else f"the plugin {_shown(status.plugin)}, not a text"


def _is_names(found: object) -> bool:
    if found is None:
        return True
    return isinstance(found, Collection) and not isinstance(found, str) and all(isinstance(each, str) for each in found)


def _checked(
    path: str, plugin: type[Plugin], method: str, check: Callable[[_Call, Any, Any], object]
) -> Callable[..., object]:
    """Return the method with a check. check: receives the call, its result and the plugin, and returns the result."""
    original = getattr(plugin, method)

    def checked(self: Plugin, *args: object) -> object:
        node = args[-1].name if isinstance(args[-1], NodeInfo) else ""
        asked = _Call(path, method, node)
        return check(asked, asked.run(original, self, *args), self)

    return checked


def _with_counting(asked: _Call, found: object, plugin: Plugin) -> Plugin:
    if not isinstance(found, type(plugin)):
        raise asked.wrong(found, f"a {type(plugin).__name__}")
    return _with_checked_attributes(asked.path, found)


def _shape(asked: _Call, found: object, _: Plugin) -> object:
    try:
        hash(found)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise asked.wrong(found, f"something hashable ({text_of(error)})") from error
    return found


def _state(asked: _Call, found: object, _: Plugin) -> object:
    if found is None or asked.rejection(found) is not None:
        return found
    names = found.node_names if isinstance(found, PluginState) else ()
    if not isinstance(names, frozenset | None) or not _is_names(names):
        raise asked.wrong(found, "a PluginState, a Status that rejects, or None")
    return found


def _score(asked: _Call, found: object, _: Plugin) -> int:
    if type(found) is not int:
        raise asked.wrong(found, "an integer")
    return found


def _normalize(path: str, original: Callable[..., object]) -> Callable[..., list[int]]:
    def normalize(self: Plugin, scores: list[int]) -> list[int]:
        # Read the length first: the plugin may change the list.
        asked, length = _Call(path, "normalize"), len(scores)
        return asked.integers(asked.run(original, self, scores), length)

    return normalize


class _CheckedClusterFilter(ClusterFilter):
    def __init__(self, path: str, state: ClusterFilter) -> None:
        self._path, self._state = path, state

    @property
    def skips(self) -> bool:
        asked = _Call(self._path, "skips")
        found = asked.run(getattr, self._state, "skips")
        if type(found) is not bool:
            raise asked.wrong(found, "a boolean")
        return found

    def filter(self, node: NodeInfo) -> Status:
        asked = _Call(self._path, "filter", node.name)
        return asked.status(asked.run(self._state.filter, node))

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        asked = _Call(self._path, "updated_to")
        found = asked.run(self._state.updated_to, snapshot, delta)
        if not isinstance(found, tuple) or len(found) != 2 or not asked.run(_is_names, found[1]):
            raise asked.wrong(found, "a ClusterFilter and names of nodes")
        return asked.cluster_filter(found[0]), found[1]

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        asked = _Call(self._path, "with_pod", node.name)
        return asked.cluster_filter(asked.run(self._state.with_pod, pod, node))

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        asked = _Call(self._path, "without_pod", node.name)
        return asked.cluster_filter(asked.run(self._state.without_pod, pod, node))


class _CheckedClusterScore(ClusterScore):
    def __init__(self, path: str, state: ClusterScore) -> None:
        self._path, self._state = path, state

    def scores(self, candidates: NodeRefs, snapshot: Snapshot) -> list[int]:
        asked = _Call(self._path, "scores")
        return asked.integers(asked.run(self._state.scores, candidates, snapshot), len(candidates))

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> ClusterScore:
        asked = _Call(self._path, "updated_to")
        return asked.cluster_score(asked.run(self._state.updated_to, snapshot, delta))


PACKAGE = "berth_plugins"
PATTERN = re.compile(rf"{PACKAGE}(\.[a-z_][a-z0-9_]*)+:[A-Za-z_][A-Za-z0-9_]*", re.ASCII)

MISSING_REMEDY = "give the command --plugins DIR with the module, and the stack its layer (PluginLayerArn)"
"""The remedy for a missing module: commands and functions find the package in different places."""

_KINDS = (FilterPlugin, ScorePlugin, ClusterFilterPlugin, ClusterScorePlugin)


class NotAPlugin(ValueError):
    """No plugin can be loaded by this name; the message has the cause."""


def custom_plugin(name: str) -> PluginFactory:
    """Import the plugin `berth_plugins.<module>:<Class>`, with its class attribute `Args` as the type of its arguments.
    Raises NotAPlugin, also if the module or the class raises an exception, even for sys.exit(), but not for Ctrl-C."""
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
    """Return the type of the plugin's arguments, its class attribute `Args`. Raises NotAPlugin."""
    args = getattr(plugin, "Args", NoArgs)
    if not isinstance(args, type) or not issubclass(args, Args):
        raise NotAPlugin(f"{name}.Args does not extend berth.scheduling.plugins.arguments.Args")
    return args
