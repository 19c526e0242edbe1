"""The reasons by which the watcher sees, in a pod's PodScheduled condition, that Berth may have rejected the pod.

Plugins state them as their constants `REASON` and `REASON_…`, custom plugins anywhere in their code; some are given for
a node whatever the plugins. The reasons of an in-tree plugin are included if the profile filters by it, because
kube-scheduler uses the same texts. A false match costs a wake-up, at most one a second. A miss leaves the pod pending
for minutes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import ModuleType

from berth.extender.outcomes import WAITING
from berth.scheduling.evaluation.evaluation import NOT_IN_CACHE
from berth.scheduling.framework.plugin import Plugin
from berth.scheduling.framework.shipped_profiles import SCHEDULER_FILTERS
from berth.scheduling.objects.node import LABELS_NOT_STRINGS, SPEC_UNREADABLE, STATUS_UNREADABLE
from berth.scheduling.plugins.custom_plugins.loading import PACKAGE
from berth.scheduling.plugins.registry import REGISTRY

IN_TREE = frozenset({*SCHEDULER_FILTERS, "NodeResourcesBalancedAllocation", "ImageLocality"})
"""The names of kube-scheduler's own plugins, as far as Berth has them."""

_CONSTANT = re.compile(r"REASON(_[A-Z_]+)?")
_ANY_WORD = re.escape("{}")  # `Insufficient {}`: any resource


def reasons_of(plugin: object) -> frozenset[str]:
    """The `reasons` of a plugin or a plugin's class, or the constants `REASON` and `REASON_…` of the modules that the
    class and its bases are in. Of a custom plugin every text in the code of its package: its reasons are among them."""
    given = getattr(plugin, "reasons", None)
    if isinstance(given, frozenset):
        return given
    bases = (plugin if isinstance(plugin, type) else type(plugin)).__mro__
    homes = {base.__module__ for base in bases if issubclass(base, Plugin)}
    homes |= {PACKAGE for home in homes if home.startswith(f"{PACKAGE}.")}
    found: set[str] = set()
    for name, module in list(sys.modules.items()):
        if name in homes or any(name.startswith(f"{home}.") for home in homes):
            found.update(_constants_of(module), () if name.startswith("berth.") else _texts_of(module))
    return frozenset(found)


def _constants_of(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        if _CONSTANT.fullmatch(name) and isinstance(value, str):
            yield value


def _texts_of(module: ModuleType) -> Iterator[str]:
    # Imported here: most configurations name no custom plugin.
    from ast import Constant, parse, walk
    from inspect import getsource

    try:
        source = getsource(module)
    except OSError:
        return  # an empty file
    yield from (node.value for node in walk(parse(source)) if isinstance(node, Constant) and type(node.value) is str)


BERTH_REASONS = frozenset().union(
    NOT_IN_CACHE.reasons,
    (LABELS_NOT_STRINGS, SPEC_UNREADABLE, STATUS_UNREADABLE),
    *(reasons_of(each.plugin) for name, each in REGISTRY.items() if name not in IN_TREE),
)
"""What Berth says whatever the profile, and its own plugins."""


def has_any_reason(message: object, reasons: Iterable[str]) -> bool:
    """Whether a message gives one of these: `0/20 nodes are available: 20 <reason>. …` (fact 17), or is filter's Error
    for a pod that waits for the cache: published at once, it is there at the pod's next attempt."""
    return isinstance(message, str) and (WAITING in message or _pattern(frozenset(reasons)).search(message) is not None)


@lru_cache(maxsize=16)
def _pattern(reasons: frozenset[str]) -> re.Pattern[str]:
    """How many nodes, the reason, and where it ends: a longer text that begins with it is another reason."""
    alternatives = "|".join(re.escape(reason).replace(_ANY_WORD, r"[^\s,]+?") for reason in sorted(reasons))
    return re.compile(rf"\b\d+ (?:{alternatives})(?=[,.]|$)")
