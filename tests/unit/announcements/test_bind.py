"""Judging and announcing a pod that is being bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count

import pytest

from berth.announcements.bind import RETENTION_SECONDS, TOO_LARGE, TRIM_EVERY, LogAnnouncements
from berth.announcements.reader import AnnouncementReader
from berth.configuration.store import Configurations
from berth.extender.bind import bind
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import Assignment, Binding, Created, FoundPod, PodBinder, Refused, Unanswered
from berth.extender.prepared_bind import BindRules
from berth.nodecache.binds_under_way import BindsUnderWay
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.snapshot_view import SnapshotView
from berth.nodecache.warm_node_cache import WarmNodeCache
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.embedded_store.announcement_log import InMemoryAnnouncementLog
from berth_cli.embedded_store.configuration_store import InMemoryConfigurationStore
from tests.builders.announcements import announcement
from tests.builders.pods import pod_with
from tests.fakes.published import PublishedCluster

FULL = BerthConfiguration.model_validate({"profile": "full"})
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
        ]
    }
}
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"

Answer = Callable[[Binding], Created | Refused | Unanswered]


class World(PodBinder):
    """Pods that must not share a node, a published cache without them, and the API server."""

    def __init__(self, configuration: BerthConfiguration = FULL) -> None:
        self.log = InMemoryAnnouncementLog()
        self.published = PublishedCluster()
        self.published.publish("nodes", [_node("node-a"), _node("node-b")])
        reader = NodeCacheReader(self.published.table, SnapshotView(), lambda seconds: None)
        store = InMemoryConfigurationStore(self.published.item)
        self.cache = WarmNodeCache(
            self.published.table,
            reader,
            Configurations(store, lambda: configuration),
            self.published.clock,
            pytest.fail,
            BindsUnderWay(None, AnnouncementReader(self.log)),
            latest_only=True,
        )
        self.answer: Answer = lambda binding: Created()
        self.version = "7"
        self.labels: Mapping[str, str] = {}
        ids = count(1)
        self._announcements = LogAnnouncements(
            self.log, self.cache, lambda: f"attempt-{next(ids)}", self.published.clock.wall
        )

    def bind(self, name: str, on: str = "node-a", seconds: float = 4.0) -> BindResult:
        deadline = Deadline(seconds, lambda: 0.0)
        return bind(
            Binding("default", name, f"uid-{name}", on), self, deadline, BindRules(announcements=self._announcements)
        )

    def announced(self) -> list[tuple[int, str, bool]]:
        return [(each.position, each.pod.name, each.withdrawn) for each in self.log.read(1)]

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        return self.answer(binding)

    def assignment(self, namespace: str, pod_name: str, timeout: float) -> Assignment:
        return Assignment(f"uid-{pod_name}", "")

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod:
        content = pod_with(pod_name, {"app": "db", **self.labels}, affinity=APART)
        return FoundPod(self.assignment(namespace, pod_name, timeout), self.version, False, content)


def _node(name: str) -> Mapping[str, object]:
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    conditions = [{"type": "Ready", "status": "True"}]
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": allocatable, "conditions": conditions},
    }


def test_announces_pod_before_its_binding() -> None:
    world = World()
    seen: list[list[tuple[int, str, bool]]] = []

    def created(binding: Binding) -> Created:
        seen.append(world.announced())
        return Created()

    world.answer = created
    assert world.bind("p").outcome is BindOutcome.BOUND
    assert seen == [[(1, "p", False)]]


def test_rejects_pod_that_an_announced_pod_excludes() -> None:
    world = World()
    world.bind("p")
    assert world.bind("q") == BindResult(BindOutcome.REJECTED, ANTI_AFFINITY)
    assert world.bind("q", on="node-b").outcome is BindOutcome.BOUND
    assert world.announced() == [(1, "p", False), (2, "q", False)]


def test_binds_unjudged_when_the_configuration_in_force_has_no_rule_about_pods() -> None:
    """Its log is not read then. bind looks at the configuration every 10 s, and at the node cache in each call."""
    world = World(BerthConfiguration.model_validate({"profile": "label-priority"}))
    assert world.bind("p").outcome is BindOutcome.BOUND
    assert world.announced() == []


@pytest.mark.parametrize(
    ("labels", "result"),
    [
        pytest.param(500, BindResult(BindOutcome.BOUND), id="more labels than any pod needs"),
        pytest.param(5_000, TOO_LARGE, id="more than one announcement may have"),
        pytest.param(20_000, TOO_LARGE, id="more than an item of DynamoDB may have"),
    ],
)
def test_refuses_only_the_pod_that_is_too_large_to_be_announced(labels: int, result: BindResult) -> None:
    world = World()
    world.labels = {f"label-{number}": "v" * 10 for number in range(labels)}
    assert world.bind("large") == result
    world.labels = {}
    assert world.bind("small", on="node-b").outcome is BindOutcome.BOUND
    announced = [name for _, name, _ in world.announced()]
    assert announced == (["small"] if result is TOO_LARGE else ["large", "small"])


def test_ignores_own_announcement() -> None:
    world = World()
    world.bind("p")
    assert world.bind("p").outcome is BindOutcome.BOUND


def test_judges_again_when_position_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier, world, append = World(), World(), InMemoryAnnouncementLog.append
    earlier.bind("other")
    excluding = replace(earlier.log.read(1)[0], attempt="another's")

    def first_comes_another(self, mine):  # type: ignore[no-untyped-def]
        append(self, excluding)
        return append(self, mine)

    monkeypatch.setattr(InMemoryAnnouncementLog, "append", first_comes_another)
    assert world.bind("p").outcome is BindOutcome.REJECTED


@pytest.mark.parametrize(
    ("answer", "outcome", "withdrawn"),
    [
        pytest.param(Created(), BindOutcome.BOUND, False, id="the cache has to show it first"),
        pytest.param(Refused(403, "no"), BindOutcome.REFUSED, True, id="no Binding takes effect"),
        pytest.param(Refused(404, "gone"), BindOutcome.POD_GONE, True, id="nor of a pod that is gone"),
        pytest.param(Unanswered("lost"), BindOutcome.ALREADY_BOUND, False, id="the Binding may be on its way"),
    ],
)
def test_withdraws_only_what_cannot_take_effect(
    answer: Created | Refused | Unanswered, outcome: BindOutcome, withdrawn: bool
) -> None:
    world = World()
    world.answer = lambda binding: answer
    found = world.bind("p").outcome
    assert found is outcome or isinstance(answer, Unanswered)
    assert [each[2] for each in world.announced()] == [withdrawn]


def test_announces_again_when_pod_has_changed() -> None:
    world = World()

    def changes(binding: Binding) -> Refused | Created:
        if world.version == binding.resource_version == "7":
            world.version = "8"
            return Refused(409, "the pod has changed")
        return Created()

    world.answer = changes
    assert world.bind("p").outcome is BindOutcome.BOUND
    assert world.announced() == [(1, "p", True), (2, "p", False)]


def test_refuses_bind_without_cache() -> None:
    world = World()
    world.published.clock.advance(1_000)
    result = world.bind("p")
    assert result.outcome is BindOutcome.NOT_JUDGED
    assert "node cache" in result.reason
    assert world.announced() == []


def test_binds_unjudged_where_stale_cache_passes() -> None:
    world = World(BerthConfiguration.model_validate({"profile": "full", "nodeCache": {"whenStale": "pass"}}))
    world.published.clock.advance(1_000)
    assert world.bind("p").outcome is BindOutcome.BOUND


def test_deletes_old_announcements_now_and_then() -> None:
    world = World()
    now = world.published.clock.wall()
    old = [
        announcement(position, resource_version="1", until=now - RETENTION_SECONDS - 1)
        for position in range(1, TRIM_EVERY)
    ]
    for each in old:
        world.log.append(each)
    world.published.publish("nodes", [_node("node-a"), _node("node-b")])
    world.cache.current()
    assert world.bind("p").outcome is BindOutcome.BOUND
    assert [position for position, _, _ in world.announced()] == [TRIM_EVERY - 1, TRIM_EVERY]


def count_calls(owner: object, name: str, calls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    method = getattr(owner, name)

    def counted(*args: object) -> object:
        calls.append(name)
        return method(*args)

    monkeypatch.setattr(owner, name, counted)


def test_makes_two_reads_and_one_write_when_uncontended(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.cache.current()
    calls: list[str] = []
    for name in ("read", "append", "withdraw", "trim"):
        count_calls(world.log, name, calls, monkeypatch)
    count_calls(world.published.table, "head", calls, monkeypatch)
    world.bind("p")
    assert calls == ["read", "head", "append"]


@pytest.mark.parametrize(
    ("profile", "reads"),
    [
        pytest.param("label-priority", [], id="its plugins look at nodes alone"),
        pytest.param("resource-segregation", [], id="so do these"),
        pytest.param("managed-resources", [], id="the ledger counts what these look at"),
        pytest.param("full", ["read"], id="some look at pods"),
    ],
)
def test_verbs_read_announcements_only_for_profiles_that_look_at_pods(
    profile: str, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(BerthConfiguration.model_validate({"profile": profile}))
    world.cache.current()
    calls: list[str] = []
    count_calls(world.log, "read", calls, monkeypatch)
    world.cache.current()
    assert calls == reads


def test_filter_sees_announced_pods_that_cache_does_not_show() -> None:
    world = World()
    world.bind("p")
    context = world.cache.current()
    assert isinstance(context.cluster, Snapshot)
    pod = read_pod(pod_with("q", {"app": "db"}, affinity=APART))
    assert isinstance(pod, Pod)
    found = context.policy.feasibility(pod, ["node-a", "node-b"], context.cluster)
    assert found.feasible == ["node-b"]
    assert {name: status.message for name, status in found.rejected.items()} == {"node-a": ANTI_AFFINITY}


def test_refuses_bind_when_plugin_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise PluginFailed("berth_plugins.mine:Mine", "filter", "KeyError: 'team'", "node-a")

    monkeypatch.setattr(Policy, "rejects_bind", fails)
    world = World()
    assert world.bind("db-0") == BindResult(
        BindOutcome.NOT_JUDGED,
        "pod default/db-0: plugin berth_plugins.mine:Mine failed in filter on node node-a: KeyError: 'team'",
    )
    assert world.announced() == []
