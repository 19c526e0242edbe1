"""A recording with pseudonyms replays as exactly as one without, and has no name of the cluster."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from berth.cluster.field_projection import Annotations, RequiredFields, projections
from berth.cluster.watch.resources import NODES, PODS, SERVICES
from berth.scheduling.gangs.gang import ANNOTATIONS
from berth_cli.recording.format import read_recording
from berth_cli.recording.pseudonyms import Pseudonyms
from berth_cli.recording.replay import RecordedDecisions, replay
from tests.builders.gangs import member_object
from tests.builders.nodes import node_with
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs
from tests.property.changing_clusters import APPS, NAMESPACES, Cluster, Event, Manifest, clusters, events, incoming
from tests.property.changing_clusters import NODES as NODE_NAMES
from tests.property.changing_clusters import PODS as POD_NAMES
from tests.unit.cli.recording.recorded import recording
from tests.unit.cli.recording.test_replay import VERBS

pytestmark = pytest.mark.long

FULL: Mapping[str, Any] = {"profile": "full", "decisions": "off"}
GANGS: Mapping[str, Any] = {"profile": "full", "gangs": {"enabled": True}}
REQUIRED = RequiredFields(spreading=True, images=True, pod_annotations=Annotations(ANNOTATIONS), gangs=True)
KEPT = projections(REQUIRED)

CLUSTER_NAMES = {*NODE_NAMES, *POD_NAMES, *NAMESPACES, *APPS, "asking", "unknown", "app", "team", "k", "web:latest"}

steps = st.lists(st.lists(events, min_size=1, max_size=3), min_size=1, max_size=3)
names = st.from_regex(r"[a-z]([-a-z0-9]{0,6}[a-z0-9])?", fullmatch=True)


def publish(verbs: Verbs, cluster: Cluster) -> None:
    verbs.cluster.publish("nodes", [KEPT[NODES](dict(each)) for each in cluster.nodes.values()])
    verbs.cluster.publish("pods", [KEPT[PODS](dict(each)) for each in cluster.pods.values()])
    teams = {"labels": {"team": "yes"}} if cluster.teams else {}
    verbs.cluster.publish("namespaces", [{"metadata": {"name": name, **teams}} for name in NAMESPACES])
    services = [
        {"metadata": {"name": "web", "namespace": name}, "spec": {"selector": {"app": "web"}}} for name in NAMESPACES
    ]
    verbs.cluster.publish("services", [KEPT[SERVICES](each) for each in services] if cluster.served else [])


def texts(value: object) -> Iterator[str]:
    """The words of all texts in a document, keys included. A pod's shared part is a document in a text."""
    match value:
        case str():
            yield value
            yield from re.split(r"['\"/]", value)
        case Mapping():
            for name, each in value.items():
                yield from texts(name)
                yield from texts(each)
        case list():
            for each in value:
                yield from texts(each)


def texts_of(path: Path) -> set[str]:
    """Of all lines but the policy, whose names stay."""
    lines = [orjson.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    return {text for line in lines if line[0] != "policy" for text in texts(line[1:])}


@given(clusters(), steps, st.lists(incoming, min_size=1, max_size=3))
@settings(max_examples=60)
def test_replay_has_no_difference_and_the_file_no_name(
    cluster: Cluster, changes: list[list[Event]], pods: list[Manifest]
) -> None:
    def play(verbs: Verbs) -> None:
        now = cluster
        for together in [[], *changes]:
            for event in together:
                now, _ = event(now)
            publish(verbs, now)
            for verb in VERBS:
                for pod in pods:
                    verbs.ask(verb, cache_mode([*NODE_NAMES, "unknown"], pod))

    with TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        assert recording(path, play, FULL, pseudonyms=Pseudonyms(b"key")) == []
        found = replay(RecordedDecisions(read_recording(path)))
        assert found.decisions == 3 * len(pods) * (len(changes) + 1)
        assert found.differing == 0
        assert texts_of(path).isdisjoint(CLUSTER_NAMES)


@given(
    st.lists(names, min_size=2, max_size=5, unique=True),
    st.lists(st.tuples(names, st.integers(1, 3)), min_size=2, max_size=6, unique_by=lambda each: each[0]),
    st.lists(names, min_size=1, max_size=2, unique=True),
)
@settings(max_examples=80)
def test_gangs_are_planned_in_the_same_order(
    nodes: list[str], members: list[tuple[str, int]], gangs: list[str]
) -> None:
    objects = [
        member_object(name, gangs[index % len(gangs)], 2, requests={"cpu": str(cpu)})
        for index, (name, cpu) in enumerate(members)
    ]

    def play(verbs: Verbs) -> None:
        verbs.cluster.publish(
            "nodes", [KEPT[NODES](node_with(name, allocatable={"cpu": "4", "pods": "9"})) for name in nodes]
        )
        verbs.cluster.publish("pods", [KEPT[PODS](dict(each)) for each in objects])
        for verb in ("filter", "filter_onlyone"):
            for each in objects:
                verbs.ask(verb, cache_mode(nodes, each))

    with TemporaryDirectory() as folder:
        path = Path(folder) / "r"
        assert recording(path, play, GANGS, pseudonyms=Pseudonyms(b"key")) == []
        found = replay(RecordedDecisions(read_recording(path)))
        assert (found.decisions, found.differing) == (2 * len(members), 0)
