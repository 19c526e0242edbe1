"""A custom plugin that fails: the message names plugin, method, node and cause, and other pods are decided as usual."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from berth.scheduling.feasibility import Exemption
from berth.scheduling.framework import (
    SUCCESS,
    ClusterFilter,
    ClusterFilterPlugin,
    ClusterScore,
    ClusterScorePlugin,
    Code,
    FilterPlugin,
    Plugin,
    PluginState,
    ScorePlugin,
    Status,
    unschedulable,
)
from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.framework.profile import Scale
from berth.scheduling.framework.shipped_profiles import build
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.custom_plugins import checked_plugin
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import node
from tests.builders.pods import pod

PATH = "berth_plugins.mine:Mine"
NAMES = ["a", "b"]
BAD = "bad"


class Filters(FilterPlugin):
    """Fails for the pod `bad` on node b."""

    name = "Filters"
    found: Any = None

    def shape(self, pod: Pod) -> Any:
        return pod.name

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        return self.found if state.name == BAD and node.name == "b" else SUCCESS


class Raises(Filters):
    error: BaseException = KeyError("team")

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        if state.name == BAD and node.name == "b":
            raise self.error
        return SUCCESS


class Unreadable(Exception):
    """Raises in both its string form and its hash."""

    def __str__(self) -> str:
        raise LookupError("no text")

    __repr__ = __str__

    def __hash__(self) -> int:
        raise self


class UnreadableNames(list[str]):
    def __iter__(self) -> Any:
        raise LookupError("no names")


class OddShape(Filters):
    def shape(self, pod: Pod) -> Any:
        return Unreadable() if pod.name == BAD else 1


class PreparesNothing(Filters):
    def pre_filter(self, pod: Pod) -> Any:
        return [] if pod.name == BAD else PluginState(pod)


class RejectsWithAText(Filters):
    def pre_filter(self, pod: Pod) -> Any:
        return Status(Code.UNSCHEDULABLE, "no") if pod.name == BAD else PluginState(pod)  # type: ignore[arg-type]


class NamesAList(Filters):
    def pre_filter(self, pod: Pod) -> Any:
        return PluginState(pod, ["a"]) if pod.name == BAD else PluginState(pod)  # type: ignore[arg-type]


class Scores(ScorePlugin):
    name = "Scores"
    found: Any = 0.5

    def shape(self, pod: Pod) -> Any:
        return pod.name

    def score(self, state: Pod, node: NodeInfo) -> int:
        return self.found if state.name == BAD and node.name == "b" else 7


class Normalizes(Scores):
    normalized = True
    found = 1
    normal: Any = ()

    def normalize(self, scores: list[int]) -> list[int]:
        return self.normal if 1 in scores else scores


class CountsFilter(ClusterFilter):
    def __init__(self, pod: Pod) -> None:
        self.pod = pod

    def filter(self, node: NodeInfo) -> Status:
        return None if self.pod.name == BAD else SUCCESS  # type: ignore[return-value]

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        return None, None  # type: ignore[return-value]

    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self

    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        return self


class Counts(ClusterFilterPlugin):
    name = "Counts"

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter:
        return CountsFilter(pod)


class SkipsFilter(CountsFilter):
    @property
    def skips(self) -> bool:
        if self.pod.name == BAD:
            raise KeyError("team")
        return True


class Skips(Counts):
    def shape(self, pod: Pod) -> Any:
        return pod.name

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter:
        return SkipsFilter(pod)


class SkipsWord(Skips):
    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter:
        return with_value(CountsFilter, "skips", "no")(pod) if pod.name == BAD else SkipsFilter(pod)


class NoState(Counts):
    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> Any:
        return SUCCESS if pod.name == BAD else CountsFilter(pod)


class SpreadsScore(ClusterScore):
    def __init__(self, pod: Pod) -> None:
        self.pod = pod

    def scores(self, candidates: NodeRefs, snapshot: Snapshot) -> list[int]:
        return [True] * len(candidates) if self.pod.name == BAD else [5] * len(candidates)

    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> ClusterScore:
        return self


class Spreads(ClusterScorePlugin):
    name = "Spreads"

    def shape(self, pod: Pod) -> Any:
        return pod.name

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> ClusterScore:
        return SpreadsScore(pod)


def policy(plugin: type[Plugin]) -> Policy:
    return Policy(build("mine", Scale.TOTALS, [(checked_plugin(plugin, PATH)(), 1)]), Exemption())


def decide(policy: Policy, name: str, snapshot: Snapshot | None = None) -> tuple[list[str], list[int]]:
    cluster = snapshot or Snapshot.of([node(each) for each in NAMES])
    decided = pod(name, uid=name)
    return policy.feasibility(decided, NAMES, cluster).feasible, policy.scores(decided, NAMES, cluster)


def with_value(plugin: Any, attribute: str, value: object) -> Any:
    return type(plugin.__name__, (plugin,), {attribute: value})


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        pytest.param(Raises, r"filter on node b: KeyError: 'team' \(test_checked_plugin.py, line \d+\)", id="raises"),
        pytest.param(
            OddShape,
            r"shape: it returned .*, not something hashable \(<its text raises LookupError>",
            id="a shape without a hash",
        ),
        pytest.param(Filters, r"filter on node b: it returned None \(NoneType\), not a Status", id="returns no result"),
        pytest.param(
            with_value(Filters, "found", Status(Code.UNSCHEDULABLE, "full")),  # type: ignore[arg-type]
            r"filter on node b: it returned a Status with the reasons 'full' \(str\), not a tuple of texts",
            id="a string as reasons",
        ),
        pytest.param(
            with_value(Filters, "found", Status("Success")),  # type: ignore[arg-type]
            r"filter on node b: it returned a Status with the code 'Success' \(str\), not a Code",
            id="a string as code",
        ),
        pytest.param(
            with_value(Filters, "found", unschedulable("Filters", "full", reason_code="F")),  # type: ignore[arg-type]
            r"filter on node b: it returned a Status with the reason codes \('F',\) \(tuple\), not a tuple of Reason",
            id="a string as reason code",
        ),
        pytest.param(
            with_value(Filters, "found", unschedulable(None, "full")),  # type: ignore[arg-type]
            r"filter on node b: it returned a Status with the plugin None \(NoneType\), not a text",
            id="does not name a plugin",
        ),
        pytest.param(
            PreparesNothing,
            r"pre_filter: it returned \[\] \(list\), not a PluginState, a Status that rejects, or None",
            id="a state of another type",
        ),
        pytest.param(RejectsWithAText, "pre_filter: it returned a Status with the reasons 'no'", id="rejects by text"),
        pytest.param(NamesAList, "pre_filter: it returned PluginState.*, not a PluginState", id="a list of node names"),
        pytest.param(Scores, r"score on node b: it returned 0.5 \(float\), not an integer", id="a fraction"),
        pytest.param(
            with_value(Scores, "found", True),
            r"score on node b: it returned True \(bool\), not an integer",
            id="true as score",
        ),
        pytest.param(
            with_value(Normalizes, "normal", [1]),
            r"normalize: it returned \[1\] .*not a list of 2 integers",
            id="too few scores",
        ),
        pytest.param(Counts, r"filter on node a: it returned None \(NoneType\), not a Status", id="cluster filter"),
        pytest.param(Skips, "skips: KeyError: 'team'", id="skips raises"),
        pytest.param(SkipsWord, r"skips: it returned 'no' \(str\), not a boolean", id="skips is not a boolean"),
        pytest.param(NoState, r"pre_filter: it returned Status.*, not a ClusterFilter", id="success without state"),
        pytest.param(Spreads, r"scores: it returned a list with True \(bool\)", id="cluster score"),
    ],
)
def test_failing_plugin_fails_only_its_pod_and_names_node_and_cause(plugin: type[Plugin], message: str) -> None:
    decided = policy(plugin)
    decide(decided, "good")
    for _ in range(2):
        with pytest.raises(PluginFailed, match=f"^plugin {PATH} failed in {message}"):
            decide(decided, BAD)
    feasible, scores = decide(decided, "good")
    assert feasible == NAMES
    assert set(map(type, scores)) == {int}


@pytest.mark.parametrize(
    ("later", "message"),
    [
        pytest.param(lambda state: None, r"it returned None \(NoneType\), not a", id="nothing"),
        pytest.param(lambda state: (state,), "not a ClusterFilter and names of nodes", id="no names"),
        pytest.param(lambda state: (state, "node-b"), "not a ClusterFilter and names of nodes", id="one name"),
        pytest.param(lambda state: (state, [5]), "not a ClusterFilter and names of nodes", id="numbers"),
        pytest.param(lambda state: (state, UnreadableNames()), "LookupError: no names", id="names that raise"),
    ],
)
def test_fails_pod_if_the_updated_plugin_state_is_invalid(later: Callable[[object], Any], message: str) -> None:
    class Later(CountsFilter):
        def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> Any:
            return later(self)

    class FollowsWrongly(Counts):
        def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter:
            return Later(pod)

    decided, first = policy(FollowsWrongly), Snapshot.of([node(each) for each in NAMES])
    decide(decided, "good", first)
    with pytest.raises(PluginFailed, match=f"failed in updated_to: .*{message}"):
        decide(decided, "good", first.with_changes(Changes(nodes=[node("b", {"new": "label"})])))


def test_passes_keyboard_interrupt_through() -> None:
    class Interrupted(Filters):
        def filter(self, state: Pod, node: NodeInfo) -> Status:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decide(policy(Interrupted), "good")


@pytest.mark.parametrize(
    ("counted", "message"),
    [
        pytest.param(lambda self, counting: None, "it returned None", id="nothing"),
        pytest.param(lambda self, counting: 1 / 0, "ZeroDivisionError", id="raises"),
    ],
)
def test_error_names_plugin_that_fails_in_with_counting(counted: object, message: str) -> None:
    plugin = checked_plugin(with_value(Filters, "with_counting", counted), PATH)()
    with pytest.raises(PluginFailed, match=f"^plugin {PATH} failed in with_counting: {message}"):
        plugin.with_counting(Counting())


def test_accepts_any_status_with_success_code() -> None:
    plugin = with_value(Filters, "found", Status(Code.SUCCESS))
    assert decide(policy(plugin), BAD)[0] == NAMES


def test_returns_the_rejection_of_the_plugin() -> None:
    plugin = with_value(Filters, "found", unschedulable("Filters", "node(s) were full"))
    found = policy(plugin).feasibility(pod(BAD), NAMES, Snapshot.of([node(each) for each in NAMES]))
    assert found.feasible == ["a"]
    assert found.rejected["b"].reasons == ("node(s) were full",)


def test_checked_plugin_is_a_subclass_of_the_original() -> None:
    found = checked_plugin(Filters, PATH)
    assert issubclass(found, Filters)
    assert found is checked_plugin(Filters, PATH)
    assert found.name == "Filters"
