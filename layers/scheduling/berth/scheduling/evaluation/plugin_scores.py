"""What each plugin adds to the totals of a pod's candidates. It serves explanations, and keeps nothing."""

from __future__ import annotations

from collections.abc import Sequence

from berth.scheduling.framework.plugin import ClusterScorePlugin
from berth.scheduling.framework.profile import AnyScore, Profile, Scale
from berth.scheduling.framework.status import Status
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.node_positions import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot


def weighted_scores(profile: Profile, pod: Pod, snapshot: Snapshot, nodes: NodeRefs) -> dict[str, Sequence[int]]:
    """What each plugin adds to the totals of these feasible nodes. A plugin that fails adds nothing."""
    found: dict[str, Sequence[int]] = {}
    for plugin, weight in profile.scores:
        scores = plugin_scores(plugin, pod, snapshot, nodes, profile.scale)
        if not isinstance(scores, Status):
            found[plugin.name] = [score * weight for score in scores]
    return found


def plugin_scores(
    plugin: AnyScore, pod: Pod, snapshot: Snapshot, nodes: NodeRefs, scale: Scale = Scale.TOTALS
) -> list[int] | Status:
    """Scores without weights, normalized as the scale says; 0 for all nodes if the plugin skips the pod."""
    if isinstance(plugin, ClusterScorePlugin):
        state = plugin.pre_score(pod, snapshot)
        if isinstance(state, Status):
            return state
        return [0] * len(nodes) if state is None else state.scores(nodes, snapshot)
    prepared = plugin.pre_score(pod)
    if isinstance(prepared, Status):
        return prepared
    if prepared is None:
        return [0] * len(nodes)
    scores = [plugin.score(prepared.state, snapshot.nodes[name]) for name in nodes]
    return scores if scale is Scale.AS_IS else plugin.normalize(scores)
