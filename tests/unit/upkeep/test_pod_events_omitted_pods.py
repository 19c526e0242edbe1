"""One event for each pod that the cache lacks in whole or in part, at each change of it."""

from __future__ import annotations

from collections.abc import Mapping

from berth.nodecache.feed.changes import Key, Object, OmissionReason
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.leader import Publication
from berth.upkeep.pod_events import OmittedPods, PodEventReason

KEY = ("pods", "ml/a")


def publication(omissions: Mapping[Key, OmissionReason], uid: str = "uid-a") -> Publication:
    objects: Mapping[Key, Object] = {KEY: {"metadata": {"uid": uid}}, ("nodes", "n"): {"metadata": {"name": "n"}}}
    return Publication(1, (), objects, True, Observation("cluster", {}), omissions)


def reasons(omitted: OmittedPods, omissions: Mapping[Key, OmissionReason], uid: str = "uid-a") -> list[str]:
    return [event.reason for event in omitted.new(publication(omissions, uid))]


def test_reports_pod_once_until_it_changes() -> None:
    omitted = OmittedPods()
    reduced = {KEY: OmissionReason.REDUCED}
    assert reasons(omitted, {}) == []
    assert reasons(omitted, reduced) == [PodEventReason.POD_REDUCED]
    assert reasons(omitted, reduced) == []
    assert reasons(omitted, {KEY: OmissionReason.TOO_LARGE}) == [PodEventReason.POD_OMITTED]
    assert reasons(omitted, reduced) == [PodEventReason.POD_REDUCED]
    assert reasons(omitted, reduced, "uid-of-another-pod") == [PodEventReason.POD_REDUCED]
    assert reasons(omitted, {}) == []
    assert reasons(omitted, reduced) == [PodEventReason.POD_REDUCED]


def test_does_not_report_nodes_or_deleted_pods() -> None:
    omissions = {("nodes", "n"): OmissionReason.TOO_LARGE, ("pods", "ml/gone"): OmissionReason.TOO_LARGE}
    assert reasons(OmittedPods(), omissions) == []
