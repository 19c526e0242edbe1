"""The fields of each resource that Berth keeps, from the API server's answer to the cache. Other fields are dropped.

`projections` has the fields by resource; pods are in `scheduling/objects/projection`. Finished pods do not use
resources, so only their identity and phase are kept. Annotations are kept if they define counted amounts or contain the
name of a gang. Volumes are kept if they are images. The creationTimestamp of pending pods is kept if gangs are enabled.

Reasons of a rejection by Berth: plugins define them as their constants `REASON` and `REASON_…`, custom plugins anywhere
in their code; some reasons do not come from plugins. The reasons of an in-tree plugin are included if the profile
filters with it, because kube-scheduler uses the same texts. A false match costs a wake-up, at most one per second. A
missed match leaves the pod pending for minutes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from types import ModuleType
from typing import Self
from zlib import crc32

from berth.cluster.watch.resources import (
    GANG_RESOURCES,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    SPREAD_RESOURCES,
    Projection,
    Resource,
)
from berth.extender.outcomes import WAITING
from berth.nodecache.feed.cluster import KubernetesObject
from berth.scheduling.evaluation.verdicts import NOT_IN_CACHE
from berth.scheduling.fields.reading import condition_in, part
from berth.scheduling.framework.plugin import Plugin
from berth.scheduling.framework.shipped_profiles import SCHEDULER_FILTERS
from berth.scheduling.gangs.gang import ANNOTATIONS as GANG_ANNOTATIONS
from berth.scheduling.gangs.gang import REASONS as GANG_REASONS
from berth.scheduling.gangs.gang import GangWait
from berth.scheduling.managed_resources.floating import POOL_REASONS
from berth.scheduling.objects import trimmed_node
from berth.scheduling.objects.node import LABELS_NOT_STRINGS, SPEC_UNREADABLE, STATUS_UNREADABLE
from berth.scheduling.objects.pod_group import SPEC_FIELDS as POD_GROUP_SPEC
from berth.scheduling.objects.projection import (
    REJECTED,
    UNDECIDED,
    WAITS_FOR_POOL,
    compact_pod,
    is_placed,
    select_fields,
    with_replacement,
    with_state,
)
from berth.scheduling.plugins.custom_plugins import PACKAGE
from berth.scheduling.plugins.registry import SHIPPED_PLUGINS, shipped_plugin
from berth.scheduling.policy import Policy

IN_TREE = frozenset({*SCHEDULER_FILTERS, "NodeResourcesBalancedAllocation", "ImageLocality"})
"""The names of kube-scheduler's in-tree plugins that Berth implements."""

_CONSTANT = re.compile(r"REASON(_[A-Z_]+)?")
_ANY_WORD = re.escape("{}")  # `Insufficient {}`: any resource


def reasons_of(plugin: object) -> frozenset[str]:
    """Return the `reasons` of a plugin or its class. By default, these are the constants `REASON` and `REASON_…` in the
    modules of the class and its bases, and for a custom plugin all strings in the code of its package."""
    given = getattr(plugin, "reasons", None)
    bases = (plugin if isinstance(plugin, type) else type(plugin)).__mro__
    # A custom plugin that extends a shipped one has more reasons than those that it inherits.
    is_inherited = any(vars(base).get("reasons") is given for base in bases[1:] if base.__module__.startswith("berth."))
    if isinstance(given, frozenset) and not is_inherited:
        return given
    homes = {base.__module__ for base in bases if issubclass(base, Plugin)}
    homes |= {PACKAGE for home in homes if home.startswith(f"{PACKAGE}.")}
    found: set[str] = set()
    for name, module in list(sys.modules.items()):
        if name in homes or any(name.startswith(f"{home}.") for home in homes):
            constants = (value for each, value in vars(module).items() if _CONSTANT.fullmatch(each))
            found.update(value for value in constants if isinstance(value, str))
            found.update(() if name.startswith("berth.") else _texts_of(module))
    return frozenset(found)


def _texts_of(module: ModuleType) -> Iterator[str]:
    # Only custom plugins need these imports.
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
    *(reasons_of(shipped_plugin(name).plugin) for name in SHIPPED_PLUGINS if name not in IN_TREE),
)
"""The reasons that Berth gives under every profile, and the reasons of its own plugins."""


def has_any_reason(message: object, reasons: Iterable[str]) -> bool:
    """Return whether a message contains one of these reasons, as in `0/20 nodes are available: 20 <reason>. …` (fact
    17), or filter's Error for a pod that waits for newer state. That state is then published at once, before the pod's
    next attempt."""
    return isinstance(message, str) and (WAITING in message or _pattern(frozenset(reasons)).search(message) is not None)


def waits_for_pool(message: object) -> bool:
    """Return whether a message reports that a floating pool has too little left for the pod, or for its gang."""
    return isinstance(message, str) and _pattern(POOL_REASONS | {GangWait.FOR_POOL}).search(message) is not None


@lru_cache(maxsize=16)
def _pattern(reasons: frozenset[str]) -> re.Pattern[str]:
    """Match the number of nodes, the reason, and the reason's end: a longer text with this prefix is another reason."""
    alternatives = "|".join(re.escape(reason).replace(_ANY_WORD, r"[^\s,]+?") for reason in sorted(reasons))
    return re.compile(rf"\b\d+ (?:{alternatives})(?=[,.]|$)")


PROJECTION_VERSION = 2
"""Increase this if more fields are kept, or fields have another form: the watcher then lists everything again."""

_FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Annotations(Container[str]):
    """The names of the annotations that are kept; None: all annotations."""

    names: frozenset[str] | None = frozenset()

    def __contains__(self, name: object) -> bool:
        return self.names is None or name in self.names


NO_ANNOTATIONS = Annotations()
ALL_ANNOTATIONS = Annotations(None)


@dataclass(frozen=True, slots=True)
class RequiredFields:
    """The fields that a policy reads in addition to the fields that every policy reads. spreading: services and
    controllers, for the default constraints of PodTopologySpread. images: the images on nodes, for ImageLocality.
    gangs: PodGroups, and creation times of pods. berth_reasons: reasons of rejections by Berth. floats: whether there
    are floating pools. explanations: fields that explain why pods wait. replacements: the node selection of placed
    pods."""

    spreading: bool = False
    images: bool = False
    berth_reasons: frozenset[str] = BERTH_REASONS
    pod_annotations: Annotations = NO_ANNOTATIONS
    node_annotations: Annotations = NO_ANNOTATIONS
    gangs: bool = False
    floats: bool = False
    explanations: bool = False
    replacements: bool = False

    @classmethod
    def of(cls, policy: Policy) -> Self:
        filters = [plugin for profile in policy.all_profiles for plugin in profile.filters]
        scores = [plugin for profile in policy.all_profiles for plugin, _ in profile.scores]
        names = {plugin.name for plugin in (*filters, *scores)}
        own = BERTH_REASONS.union(*map(reasons_of, filters))
        counting, gangs = policy.counting, policy.gangs.enabled
        pod_annotations = counting.pod_annotations | (GANG_ANNOTATIONS if gangs else frozenset())
        return cls(
            "PodTopologySpread" in names,
            "ImageLocality" in names,
            own | (GANG_REASONS if gangs else frozenset()),
            Annotations(pod_annotations),
            Annotations(counting.node_annotations),
            gangs,
            counting.floating.exist,
        )


def projection_id(required: RequiredFields) -> str:
    """Return the identity of a projection. Objects of another projection lack fields, or have another form."""
    reasons = crc32("".join(sorted(required.berth_reasons)).encode())
    counted = "".join(
        f"+{kind}:{crc32(' '.join(sorted(annotations.names)).encode()):x}"
        for kind, annotations in (("pods", required.pod_annotations), ("nodes", required.node_annotations))
        if annotations.names
    )
    spreading = "+spreading" if required.spreading else ""
    images = "+images" if required.images else ""
    gangs = "+gangs" if required.gangs else ""
    explanations = "+explanations" if required.explanations else ""
    replacements = "+replacements" if required.replacements else ""
    return f"{PROJECTION_VERSION}{spreading}{images}{gangs}{explanations}{replacements}{counted}+{reasons:x}"


def projections(required: RequiredFields) -> Mapping[Resource, Projection]:
    return {
        NODES: partial(_node, required=required),
        PODS: partial(_pod, required=required),
        POD_DISRUPTION_BUDGETS: partial(_only, spec=("selector",), status=("disruptionsAllowed", "disruptedPods")),
        PRIORITY_CLASSES: partial(_only, top=("value", "globalDefault", "preemptionPolicy")),
        NAMESPACES: partial(_only, metadata=("labels",)),
        **(dict.fromkeys(SPREAD_RESOURCES, partial(_only, spec=("selector",))) if required.spreading else {}),
        **(dict.fromkeys(GANG_RESOURCES, _pod_group) if required.gangs else {}),
    }


def _only(
    obj: KubernetesObject,
    metadata: tuple[str, ...] = (),
    spec: tuple[str, ...] = (),
    status: tuple[str, ...] = (),
    top: tuple[str, ...] = (),
) -> KubernetesObject:
    projected = select_fields(obj, top)
    for field, names in (("metadata", ("name", "namespace", *metadata)), ("spec", spec), ("status", status)):
        value = obj.get(field)
        some = select_fields(value, names) if isinstance(value, dict) else value
        # A part of the wrong type is kept, so that the decoder can report it.
        if names and some not in (None, {}):
            projected[field] = some
    return projected


_pod_group = partial(_only, metadata=("creationTimestamp",), spec=POD_GROUP_SPEC)


def _node(obj: KubernetesObject, required: RequiredFields) -> KubernetesObject:
    status = obj.get("status")
    if not required.images and isinstance(status, dict):
        obj = obj | {"status": {name: status[name] for name in status if name != "images"}}
    return trimmed_node(obj, required.node_annotations)


def _pod(obj: KubernetesObject, required: RequiredFields) -> KubernetesObject:
    status = obj.get("status")
    if isinstance(status, dict) and status.get("phase") in _FINISHED:
        return _only(obj, metadata=("uid",), status=("phase",))
    projected = compact_pod(obj, required.pod_annotations, images=required.images)
    if is_placed(obj):
        return with_replacement(projected, obj) if required.replacements else projected
    condition = condition_in(part(obj, "status"), "PodScheduled")
    if condition.get("status") == "False" and has_any_reason(condition.get("message"), required.berth_reasons):
        projected[REJECTED] = True
        if required.floats and waits_for_pool(condition.get("message")):
            projected[WAITS_FOR_POOL] = True
    if (undecided := _undecided(obj, condition)) is not None:
        projected[UNDECIDED] = undecided
    if required.gangs and (created := select_fields(part(obj, "metadata"), ("creationTimestamp",))):
        projected["metadata"] = part(projected, "metadata") | created
    return with_state(projected, obj) if required.explanations else projected


_FAILED_CALL = re.compile(r"/scheduler/(?:filter|filter_onlyone|prioritize|bind|preempt)\b")
"""A part of the URL in an error of HTTPExtender.send, after no response or a status other than 200. Errors of Berth do
not contain it. https://github.com/kubernetes/kubernetes/blob/master/pkg/scheduler/extender.go"""


def _undecided(obj: KubernetesObject, condition: KubernetesObject) -> KubernetesObject | None:
    """Return the value of UNDECIDED if no scheduler has tried the pod, or a call of a verb for it failed. None for any
    other pod, and for a pod that is gated, nominated or being deleted."""
    metadata, spec, status = (part(obj, name) for name in ("metadata", "spec", "status"))
    if metadata.get("deletionTimestamp") or spec.get("schedulingGates") or status.get("nominatedNodeName"):
        return None
    message, created = condition.get("message"), metadata.get("creationTimestamp")
    call_failed = isinstance(message, str) and _FAILED_CALL.search(message) is not None
    if (condition and not call_failed) or not isinstance(created, str):
        return None
    return {"createdAt": created, "callFailed": call_failed, "scheduler": spec.get("schedulerName")}
