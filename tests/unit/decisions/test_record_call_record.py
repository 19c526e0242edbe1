"""Records of preempt, of bind, and of calls that failed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import count

import pytest

from berth.bind.answer import answer_bind, failed
from berth.decisions.document import call_document, document
from berth.decisions.record import CallRecord
from berth.runtime.http.endpoint import EndpointSettings, VerbEndpoint
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.time_limit import NO_TIME_LIMIT, TimeLimit
from berth.scheduling.objects import NodeInfo
from berth_cli.server.recent_decisions import RecentDecisions
from tests.builders.events import http_event
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import binding, body_of, cache_mode, victims_by_uid
from tests.fakes.binder import ScriptedBinder, Step, created, pod_on, refused
from tests.fakes.verbs import Verbs

NOW = 1_800_000_000.0


def document_of(recent: RecentDecisions) -> dict[str, object]:
    [record] = recent.calls()
    return call_document(record)


def selected(found: dict[str, object], *keys: str) -> list[object]:
    return [found[key] for key in keys]


def test_preempt_records_accepted_nodes_with_victims_and_reasons_of_rejected_nodes() -> None:
    recent = RecentDecisions(lambda: NOW)
    verbs = Verbs([labelled("a", "1"), node("b"), node("c")], recorder=recent)
    verbs.ask("preempt", victims_by_uid({"a": ["v1", "v2"], "b": ["v3"], "c": ["v4"], "d": [""]}))
    found = document_of(recent)
    assert selected(found, "verb", "outcome", "namespace", "name", "uid", "profile") == [
        "preempt",
        "agreed",
        "ml",
        "urgent",
        "uid-urgent",
        "label-priority",
    ]
    assert selected(found, "nodes", "feasible", "victims") == [4, 1, {"a": 2}]
    assert [(each["code"], each["count"], each["nodes"]) for each in found["reasons"]] == [  # type: ignore[attr-defined]
        ("PreemptionNotHelpful", 2, ["b", "c"]),
        ("VictimUnreadable", 1, ["d"]),
    ]


@pytest.mark.parametrize(
    ("answer", "outcome", "feasible", "error"),
    [
        pytest.param(created(), "bound", 1, "", id="bound"),
        pytest.param(refused(403, "not allowed"), "refused", 0, "not allowed", id="refused"),
    ],
)
def test_bind_records_its_node_and_why_it_failed(answer: Step, outcome: str, feasible: int, error: str) -> None:
    recent = RecentDecisions(lambda: NOW)
    answering = partial(answer_bind, binder=ScriptedBinder(pod_on(""), answer))
    endpoint = VerbEndpoint("bind", EndpointSettings(), answering, failed, recorder=recent)
    endpoint.handle(http_event(body_of(binding()), "POST /scheduler/bind"))
    found = document_of(recent)
    assert selected(found, "verb", "outcome", "name", "uid", "chosen", "nodes", "feasible", "error") == [
        "bind",
        outcome,
        "train-0",
        "uid-train-0",
        "n10",
        1,
        feasible,
        error,
    ]


def test_failed_call_is_recorded_with_its_cause() -> None:
    recent = RecentDecisions(lambda: NOW)
    Verbs(recorder=recent).ask("filter", cache_mode(["a"], pod_object("p")))
    found = document_of(recent)
    assert selected(found, "verb", "outcome", "namespace", "name", "uid", "feasible") == [
        "filter",
        "failure-cache-unavailable",
        "ml",
        "p",
        "",
        None,
    ]
    assert str(found["error"]).startswith("the node cache is empty")


PASS = {"nodeCache": {"whenStale": "pass"}}
EXEMPT = {"exempt": {"namespaces": ["ml"]}}
SLOW = TimeLimit(1.0, map(float, count(0, 10)).__next__, lambda: 0.0)
"""A time limit whose clock advances ten seconds at each reading."""


@pytest.mark.parametrize(
    ("verb", "request_", "published", "configuration", "limit", "wanted"),
    [
        pytest.param(
            "filter",
            cache_mode(["a"]),
            None,
            EXEMPT,
            NO_TIME_LIMIT,
            ["exempt", 1, None],
            id="an exempt pod without cache",
        ),
        pytest.param(
            "filter",
            cache_mode(["a"]),
            None,
            PASS,
            NO_TIME_LIMIT,
            ["passed-without-cache", 1, None],
            id="filter passes",
        ),
        pytest.param(
            "prioritize",
            cache_mode(["a"]),
            [labelled("a", "1")],
            {},
            SLOW,
            ["too-costly", 1, None],
            id="scores that take too long",
        ),
    ],
)
def test_call_without_evaluated_nodes_is_recorded(
    verb: str,
    request_: object,
    published: list[NodeInfo] | None,
    configuration: Mapping[str, object],
    limit: TimeLimit,
    wanted: list[object],
) -> None:
    recent = RecentDecisions(lambda: NOW)
    document = BerthConfiguration.model_validate(configuration)
    Verbs(published, configuration=document, recorder=recent, time_limit=limit).ask(verb, request_)
    found = document_of(recent)
    assert selected(found, "outcome", "nodes", "feasible") == wanted
    assert selected(found, "verb", "namespace", "reasons", "error") == [verb, "ml", [], ""]
    assert found["uid"] in ("uid-train-0", "uid-urgent")


def test_call_without_a_pod_is_not_recorded() -> None:
    recent = RecentDecisions(lambda: NOW)
    Verbs(recorder=recent).send("filter", "{")
    assert recent.calls() == []


def test_call_record_has_the_same_keys_as_a_decision_record() -> None:
    recent = RecentDecisions(lambda: NOW)
    verbs = Verbs([node("a")], recorder=recent)
    verbs.ask("filter", cache_mode(["a"]))
    verbs.ask("preempt", victims_by_uid({"a": ["v"]}))
    [record] = recent.all()
    [call] = recent.calls()
    assert isinstance(call, CallRecord)
    assert document(record, record.names()).keys() == call_document(call).keys()
