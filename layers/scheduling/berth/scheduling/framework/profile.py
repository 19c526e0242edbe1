"""A profile: the plugins that decide on a pod, in order, with their weights."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from berth.scheduling.framework.plugin import (
    NODE_EVENTS,
    SUCCESS,
    ClusterEvents,
    ClusterFilterPlugin,
    ClusterScorePlugin,
    FilterPlugin,
    ScorePlugin,
    Status,
    error_status,
    unresolvable,
)
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.parts import NODES_ONLY, Parts, SnapshotPart

if TYPE_CHECKING:
    from berth.scheduling.snapshot.snapshot import Snapshot

AnyFilter = FilterPlugin[Any] | ClusterFilterPlugin
AnyScore = ScorePlugin[Any] | ClusterScorePlugin


class Scale(Enum):
    """The scale of prioritize's scores.

    AS_IS: the weighted sum of the plugins' scores, without normalization.
    TOTALS: the sum of normalized scores (0 to 100) times weights, as in kube-scheduler. All differences between nodes
    remain, but totals may exceed the extender's range of 0 to 10, so they weigh more in the scheduler's sum.
    EXTENDER: the totals, scaled to the extender's 0 to 10 (see score_scaling).
    """

    AS_IS = "as-is"
    TOTALS = "totals"
    EXTENDER = "extender"


@dataclass(frozen=True, slots=True)
class Profile:
    """The plugins of a profile. scores: the score plugins with their weights. Filters run in order: first the filters
    that look at one node, then the filters that look at all nodes."""

    name: str
    filters: tuple[AnyFilter, ...]
    scores: tuple[tuple[AnyScore, int], ...]
    scale: Scale = Scale.AS_IS
    local_filters: tuple[FilterPlugin[Any], ...] = field(init=False)
    cluster_filters: tuple[ClusterFilterPlugin, ...] = field(init=False)
    local_scores: tuple[tuple[ScorePlugin[Any], int], ...] = field(init=False)
    cluster_scores: tuple[tuple[ClusterScorePlugin, int], ...] = field(init=False)

    def __post_init__(self) -> None:
        for name, found in (
            ("local_filters", tuple(plugin for plugin in self.filters if isinstance(plugin, FilterPlugin))),
            ("cluster_filters", tuple(plugin for plugin in self.filters if isinstance(plugin, ClusterFilterPlugin))),
            ("local_scores", tuple(pair for pair in self.scores if isinstance(pair[0], ScorePlugin))),
            ("cluster_scores", tuple(pair for pair in self.scores if isinstance(pair[0], ClusterScorePlugin))),
        ):
            object.__setattr__(self, name, found)

    @property
    def reads(self) -> Parts:
        return NODES_ONLY.union(*(each.reads for each in self.filters), *(each.reads for each, _ in self.scores))

    @property
    def events_to_register(self) -> ClusterEvents:
        """The events that can make a rejected pod fit, always with node events: the cache may have lacked a node."""
        return NODE_EVENTS.union(*(each.events_to_register for each in self.filters))

    def shapes(self, pod: Pod) -> tuple[Hashable, Hashable]:
        local = (
            tuple([plugin.shape(pod) for plugin in self.local_filters]),
            tuple([plugin.shape(pod) for plugin, _ in self.local_scores]),
        )
        cluster = (
            tuple([plugin.shape(pod) for plugin in self.cluster_filters]),
            tuple([plugin.shape(pod) for plugin, _ in self.cluster_scores]),
        )
        return local, cluster

    def pre_filter(self, pod: Pod) -> LocalFilters:
        filters = []
        names: frozenset[str] | None = None
        narrowing: list[str] = []
        reads_pods = False
        for plugin in self.local_filters:
            prepared = plugin.pre_filter(pod)
            if prepared is None:
                continue
            if isinstance(prepared, Status):
                return LocalFilters(rejected=prepared)
            filters.append((plugin.filter, prepared.state))
            reads_pods = reads_pods or SnapshotPart.PODS in plugin.reads
            if prepared.node_names is not None:
                names = prepared.node_names if names is None else names & prepared.node_names
                narrowing = sorted((*narrowing, plugin.name))
                if not names:
                    one = f"plugin {plugin.name}"
                    together = f"plugin(s) [{' '.join(narrowing)}] simultaneously"
                    return LocalFilters(rejected=_not_selected(narrowing, together if len(narrowing) > 1 else one))
        outside = _not_selected(narrowing, f"plugin(s) [{' '.join(narrowing)}]")
        return LocalFilters(tuple(filters), None, names, outside, reads_pods)

    def for_exempt_pods(self) -> Profile:
        filters = tuple(plugin for plugin in self.filters if plugin.applies_to_exempt_pods)
        return Profile(f"{self.name} (exempt)", filters, ())

    def with_filters(self, filters: Iterable[AnyFilter]) -> Profile:
        return Profile(f"{self.name} (gangs)", (*self.filters, *filters), self.scores, self.scale)

    def seen_by(self, pod: Pod, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot for the profile's plugins. Plugins that look at all nodes need assumed pods on their
        nodes. Other plugins get assumed pods one node at a time, so that the verdicts on other nodes stay cached."""
        looks_at_all_nodes = self.cluster_filters or self.cluster_scores
        return snapshot.placing_assumed(without=pod.uid) if looks_at_all_nodes else snapshot

    @property
    def reads_other_pods(self) -> bool:
        """Return whether a verdict or a score depends on other pods, and so on pods that are being bound."""
        return any(map(_depends_on_other_pods, (*self.filters, *(plugin for plugin, _ in self.scores))))

    def for_bind(self) -> Profile:
        """Return the part of the profile that bind applies again: the filters that read other pods."""
        return Profile(f"{self.name} (bind)", tuple(filter(_depends_on_other_pods, self.filters)), ())

    def skips(self, pod: Pod) -> bool:
        """Return whether no filter applies to this pod. Filters that look at all nodes always apply."""
        if self.cluster_filters:
            return False
        prepared = self.pre_filter(pod)
        return prepared.rejected is None and not prepared.filters


def _depends_on_other_pods(plugin: AnyFilter | AnyScore) -> bool:
    """Return whether the plugin reads pods. With `is_reserved`, return False: the ledger tracks other binds."""
    return SnapshotPart.PODS in plugin.reads and not plugin.is_reserved


@dataclass(frozen=True, slots=True)
class LocalFilters:
    """The filters that look at one node, with their states for pods of one shape. rejected: the verdict on every node,
    if a filter rejects the pod on all of them. outside: the verdict on nodes that are not in `node_names`."""

    filters: tuple[tuple[Callable[[Any, NodeInfo], Status], Any], ...] = ()
    rejected: Status | None = None
    node_names: frozenset[str] | None = None
    outside: Status = SUCCESS
    reads_pods: bool = False

    def filter(self, node: NodeInfo) -> Status:
        """Return the first status other than SUCCESS, as in kube-scheduler."""
        if self.rejected is None and self.node_names is not None and node.name not in self.node_names:
            return self.outside
        return self.filter_nominated(node)

    def filter_nominated(self, node: NodeInfo) -> Status:
        """Filter like `filter`, but ignore `node_names`: the nominated node may not be in it."""
        if self.rejected is not None:
            return self.rejected
        if node.defect is not None:
            return error_status("", node.defect, reason_code=ReasonCode.NODE_UNREADABLE)
        for run, state in self.filters:
            status = run(state, node)
            if status is not SUCCESS:
                return status
        return SUCCESS


def _not_selected(plugins: Sequence[str], text: str) -> Status:
    return unresolvable(",".join(plugins), f"node(s) didn't satisfy {text}", reason_code=ReasonCode.NODE_NOT_SELECTED)
