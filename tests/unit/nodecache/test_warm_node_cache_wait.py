"""A cache that is milliseconds behind waits for the version of a request's pod."""

from __future__ import annotations

import pytest

from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.nodecache.warm_node_cache import PAUSE_SECONDS, PAUSES
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import labelled
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs

SEEN, NEWER = "100", "101"
LATE = 3
"""The number of pauses until the cache has the newer version."""


class LatePublication:
    """Publishes a changed node, and all pods up to the version NEWER, in the cache's pause with the number `after`."""

    def __init__(self, after: int | None) -> None:
        self.verbs = Verbs(pause=self.pause)
        self._publish("10", SEEN)
        self.pauses = 0
        self._after = after

    def pause(self, seconds: float) -> None:
        self.verbs.clock.advance(seconds)
        self.pauses += 1
        if self.pauses == self._after:
            self._publish("20", NEWER)

    def _publish(self, priority: str, pods_version: str) -> None:
        self.verbs.cluster.pods_version = pods_version
        self.verbs.cluster.publish_nodes([labelled("n1", priority)])

    def priority(self, pod_version: str, deadline: Deadline = NO_DEADLINE) -> str:
        """Return the node's label in the snapshot that a call for a pod of this version uses."""
        found = self.verbs.cache.current(deadline, pod_version=pod_version).cluster
        assert isinstance(found, Snapshot)
        return next(iter(dict(found.nodes["n1"].labels).values()))


@pytest.mark.parametrize(
    ("pod_version", "after", "pauses", "priority"),
    [
        pytest.param(NEWER, LATE, LATE, "20", id="it is published"),
        pytest.param(NEWER, None, PAUSES, "10", id="it is not published"),
        pytest.param(SEEN, LATE, 0, "10", id="the cache has it"),
        pytest.param("", LATE, 0, "10", id="the request has no version"),
        pytest.param("x", LATE, 0, "10", id="the version cannot be compared"),
    ],
)
def test_waits_until_the_cache_has_the_pods_version(
    pod_version: str, after: int | None, pauses: int, priority: str
) -> None:
    publication = LatePublication(after)
    assert (publication.priority(pod_version), publication.pauses) == (priority, pauses)


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone", "prioritize"])
def test_verbs_wait_for_the_version_in_their_request(verb: str) -> None:
    publication = LatePublication(LATE)
    pod = {**pod_object("p"), "metadata": {"name": "p", "namespace": "ns", "uid": "u", "resourceVersion": NEWER}}
    publication.verbs.ask(verb, cache_mode(["n1"], pod))
    assert publication.pauses == LATE


def test_does_not_wait_again_while_the_watch_stalls() -> None:
    publication = LatePublication(PAUSES + LATE)
    publication.priority(NEWER)
    assert publication.priority(NEWER) == "10"
    assert publication.pauses == PAUSES


def test_does_not_wait_beyond_the_deadline() -> None:
    publication = LatePublication(None)
    clock = publication.verbs.clock
    publication.priority(NEWER, Deadline(PAUSES * PAUSE_SECONDS / 2, clock.monotonic))
    assert publication.pauses < PAUSES / 2
