"""Recordings with pseudonyms: the replay is the same, and names stay unknown."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from berth.reservations.ledger.entry import OpenReservation, PodKey
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.embedded_store.ledger_table import InMemoryLedgerTable
from berth_cli.recording.format import State, read_recording
from berth_cli.recording.pseudonyms import Pseudonyms
from tests.builders.pods import pod_object
from tests.builders.requests import cache_mode
from tests.fakes.verbs import Verbs
from tests.unit.cli.recording.recorded import recording
from tests.unit.cli.recording.test_replay import (
    COUNTED,
    GANGS,
    LABELLED,
    YOUNG,
    GivenOpenGangs,
    replayed,
    two_gangs,
)

SIZES: Mapping[str, Any] = {
    "profile": "managed-resources",
    "managedResources": [{"name": "example.com/gpu", "devices": {"sizes": {"nodeLabel": "acme.com/sizes"}}}],
}


def sized_nodes(verbs: Verbs) -> None:
    labels = {"acme.com/sizes": "16_8", "acme.com/owner": "vienna"}
    verbs.cluster.publish("nodes", [{"metadata": {"name": "gpu-node", "labels": labels}}])
    answer = verbs.ask("filter", cache_mode(["gpu-node"], pod_object("p", requests={"example.com/gpu": "12"})))
    assert answer.json["NodeNames"] == ["gpu-node"]


def test_with_pseudonyms_the_values_stay_that_a_rule_reads_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "r"
    recording(path, sized_nodes, SIZES, pseudonyms=Pseudonyms(b"key"))
    assert (replayed(path).decisions, replayed(path).differing) == (1, 0)
    content = gzip.decompress(path.read_bytes())
    assert [text in content for text in (b"16_8", b"vienna", b"owner", b"gpu-node", b"ml")] == [True, *[False] * 4]


def test_pods_that_were_being_bound_have_pseudonyms(tmp_path: Path) -> None:
    path, ledger = tmp_path / "r", InMemoryLedgerTable()
    ledger.put_open(OpenReservation(PodKey("ml", "bound", "uid-q"), "a", "attempt", {"example.com/licence": 1}, 0.0))

    def play(verbs: Verbs) -> None:
        verbs.cluster.publish("nodes", [{"metadata": {"name": "a", "labels": {"licences": "1"}}}])
        verbs.ask("filter", cache_mode(["a"], pod_object("p", requests={"example.com/licence": "1"})))

    recording(path, play, COUNTED, ledger, pseudonyms=Pseudonyms(b"key"))
    assert (replayed(path).decisions, replayed(path).differing) == (1, 0)
    assert b"bound" not in gzip.decompress(path.read_bytes())


def test_gangs_that_were_being_bound_have_pseudonyms(tmp_path: Path) -> None:
    path = tmp_path / "r"
    recording(path, two_gangs, GANGS, open_gangs=GivenOpenGangs(YOUNG), pseudonyms=Pseudonyms(b"key"))
    assert (replayed(path).decisions, replayed(path).differing) == (1, 0)
    content = gzip.decompress(path.read_bytes())
    assert [text in content for text in (b"young", b"old", b"uid-")] == [False] * 3


def test_a_later_policy_that_names_what_has_a_pseudonym_begins_the_state_anew(tmp_path: Path) -> None:
    path, documents = tmp_path / "r", [LABELLED, {**LABELLED, "exempt": {"namespaces": ["team-a"]}}]

    def play(verbs: Verbs) -> None:
        verbs.cluster.publish("nodes", [{"metadata": {"name": "a"}}])
        verbs.cluster.publish("namespaces", [{"metadata": {"name": "team-a"}}])
        for document in documents:
            verbs.store.apply(BerthConfiguration.model_validate(document).model_dump_json(by_alias=True))
            for _ in range(2):
                verbs.ask("filter", cache_mode(["a"], pod_object("p", namespace="team-a")))

    recording(path, play, pseudonyms=Pseudonyms(b"key"))
    assert sum(each.is_whole for each in read_recording(path) if isinstance(each, State)) == 2
    assert (replayed(path).decisions, replayed(path).differing) == (4, 0)
