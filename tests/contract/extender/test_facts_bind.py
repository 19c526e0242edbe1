"""Facts 22 and 23 of docs/reference/extender-contract.md: bind creates the Binding once, however often it is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from time import monotonic, time
from typing import Any

import orjson
import pytest

from berth.bind.answer import REASON_NAMESPACE, answer_bind
from berth.bind.protocol import REASON_SCHEDULER
from berth.bind.rules import BindRules
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome
from berth.extender.reply import Reply
from berth.scheduling.configuration.document import BindConfiguration
from tests.builders.events import http_event
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.requests import binding, body_of
from tests.fakes.api_server import Fault, KubernetesOnLoopback, verified_kubernetes
from tests.fakes.binder import ScriptedBinder, Step, created, lost, pod_missing, pod_on, pod_unread, refused
from tests.fakes.clock import HandDrivenClock
from tests.fakes.verbs import call

CONFLICT = 'Operation cannot be fulfilled on pods/binding "train-0": pod train-0 is already assigned to node "n20"'


def bind(*steps: Step, seconds: float = 4.0) -> tuple[Reply, ScriptedBinder, HandDrivenClock]:
    """Bind the pending pod train-0 to node n10, with this many seconds to the deadline. steps: the calls after the
    first read."""
    clock = HandDrivenClock(0)
    binder = ScriptedBinder(*([pod_on("")] if seconds else []), *steps, clock=clock)
    reply = answer_bind(body_of(binding()), binder, Deadline(seconds, clock))
    assert binder.finished
    return reply, binder, clock


def test_fact_22_returns_empty_error_after_successful_binding() -> None:
    reply, binder, _ = bind(created())
    assert (reply.body, reply.status, reply.outcome) == (b'{"Error":""}', 200, BindOutcome.BOUND)
    assert [(b.namespace, b.pod_name, b.pod_uid, b.node) for b in binder.bindings] == [
        ("ml", "train-0", "uid-train-0", "n10")
    ]


@pytest.mark.parametrize(
    ("steps", "outcome", "error"),
    [
        pytest.param(
            [refused(403, 'pods "train-0" is forbidden: no create on pods/binding')],
            BindOutcome.REFUSED,
            'pods "train-0" is forbidden: no create on pods/binding',
            id="refused: the API server's own reason",
        ),
        pytest.param(
            [refused(404, 'pods "train-0" not found')],
            BindOutcome.POD_GONE,
            'pods "train-0" not found',
            id="the pod was deleted",
        ),
        pytest.param([refused(422, "spec is invalid")], BindOutcome.REFUSED, "spec is invalid", id="found invalid"),
        pytest.param(
            [refused(409, CONFLICT), pod_on("n20")],
            BindOutcome.BOUND_ELSEWHERE,
            'pod "train-0" is already assigned to node "n20"',
            id="conflict: the pod is on another node",
        ),
        pytest.param(
            [refused(409, "UID in precondition differs"), pod_on("", uid="uid-of-another")],
            BindOutcome.POD_GONE,
            'pod "train-0" was replaced by another of that name',
            id="conflict: the pod was replaced",
        ),
        pytest.param(
            [refused(409, "UID in precondition differs"), pod_on("n10", uid="uid-of-another")],
            BindOutcome.POD_GONE,
            'pod "train-0" was replaced by another of that name',
            id="conflict: the pod was replaced by one that runs on this very node",
        ),
        pytest.param(
            [refused(409, "pod train-0 is being deleted, cannot be assigned to a host"), pod_on("")],
            BindOutcome.REFUSED,
            "pod train-0 is being deleted, cannot be assigned to a host",
            id="conflict: the pod is unbound, so the refusal is final",
        ),
        pytest.param(
            [refused(409, CONFLICT), pod_missing()],
            BindOutcome.POD_GONE,
            'pods "train-0" not found',
            id="conflict: the pod was deleted meanwhile",
        ),
        pytest.param(
            [lost(), pod_on("n20")],
            BindOutcome.BOUND_ELSEWHERE,
            'pod "train-0" is already assigned to node "n20"',
            id="no response: the pod is on another node",
        ),
        pytest.param([lost(), pod_missing()], BindOutcome.POD_GONE, 'pods "train-0" not found', id="no response: gone"),
    ],
)
def test_fact_22_failed_binding_returns_error_with_reason(steps: list[Step], outcome: BindOutcome, error: str) -> None:
    reply, _, _ = bind(*steps)
    assert reply.status == 200
    assert reply.outcome is outcome
    assert reply.body.decode() == body_of({"Error": error})


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([lost(), pod_on("n10")], id="the response was lost, the Binding was accepted"),
        pytest.param([refused(409, CONFLICT), pod_on("n10")], id="an earlier bind had succeeded"),
        pytest.param([lost(), pod_on(""), refused(409, CONFLICT), pod_on("n10")], id="the first Binding arrived late"),
        pytest.param([lost(), pod_on(""), lost(), pod_on("n10")], id="the second response was also lost"),
    ],
)
def test_fact_23_same_uid_on_same_node_is_success(steps: list[Step]) -> None:
    reply, _, _ = bind(*steps)
    assert (reply.body, reply.outcome) == (b'{"Error":""}', BindOutcome.ALREADY_BOUND)


def test_fact_23_repeats_binding_once_if_the_pod_is_still_unbound() -> None:
    reply, binder, _ = bind(lost(), pod_on(""), created())
    assert (reply.body, reply.outcome) == (b'{"Error":""}', BindOutcome.BOUND)
    assert len(binder.bindings) == 2


def test_fact_23_does_not_repeat_binding_if_the_pod_is_unreadable() -> None:
    reply, binder, _ = bind(lost("the connection broke"), pod_unread("the API server did not answer in time"))
    assert reply.outcome is BindOutcome.UNANSWERED
    assert reply.body.decode() == body_of(
        {"Error": "the API server did not confirm the binding: the API server did not answer in time"}
    )
    assert len(binder.bindings) == 1


def test_fact_23_returns_error_after_two_lost_responses() -> None:
    reply, binder, _ = bind(lost(), pod_on(""), lost("the connection broke"), pod_on(""))
    assert reply.outcome is BindOutcome.UNANSWERED
    assert reply.body.decode() == body_of({"Error": "the API server did not confirm the binding: the connection broke"})
    assert len(binder.bindings) == 2


def test_fact_23_binding_without_response_leaves_time_to_read_the_pod() -> None:
    _, binder, clock = bind(lost(seconds=2.0), pod_on("n10"), seconds=4.0)
    assert binder.timeouts == [2.0, 2.0, 2.0]
    assert clock() <= 4.0


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([lost(seconds=2.0), pod_unread(seconds=2.0)], id="no response at all"),
        pytest.param([lost(seconds=2.0), pod_on("", seconds=2.0)], id="deadline passed after the pod was read"),
        pytest.param([lost(seconds=2.0), pod_on(""), lost(seconds=1.0), pod_unread(seconds=1.0)], id="twice"),
    ],
)
def test_fact_23_bind_ends_by_its_deadline(steps: list[Step]) -> None:
    reply, _, clock = bind(*steps, seconds=4.0)
    assert reply.outcome is BindOutcome.UNANSWERED
    assert clock() <= 4.0


def test_fact_23_does_not_call_the_api_server_without_time_left() -> None:
    """A call may exceed its time limit, which applies to each read of a socket. No later call gets a limit of zero."""
    clock = HandDrivenClock(0)
    binder = ScriptedBinder(pod_on(""), lost(seconds=5.0), pod_on("n10"), clock=clock)
    reply = answer_bind(body_of(binding()), binder, Deadline(4.0, clock))
    assert reply.outcome in {BindOutcome.UNANSWERED, BindOutcome.ALREADY_BOUND}
    assert all(timeout > 0 for timeout in binder.timeouts)


def test_fact_23_does_not_call_the_api_server_after_the_deadline() -> None:
    reply, binder, _ = bind(seconds=0)
    assert reply.outcome is BindOutcome.UNANSWERED
    assert binder.bindings == []


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with verified_kubernetes() as kubernetes:
        kubernetes.add_pod("train-0", "uid-train-0")
        yield kubernetes


@pytest.fixture
def load_bind(
    kubernetes: KubernetesOnLoopback, load_function: Callable[..., Callable[..., Any]], tmp_path: Path
) -> Callable[[str], Callable[..., Any]]:
    """Return a function that loads bind's function with this API server and a given httpTimeout."""
    kubeconfig = kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)
    return lambda http_timeout: load_function(
        "bind", {"BERTH_KUBECONFIG": str(kubeconfig), "BERTH_HTTP_TIMEOUT": http_timeout}
    )


def test_fact_22_function_creates_binding_with_uid(
    kubernetes: KubernetesOnLoopback, load_bind: Callable[[str], Callable[..., Any]]
) -> None:
    assert call(load_bind("5"), body_of(binding()), "bind").text == '{"Error":""}'
    assert kubernetes.node_of("train-0") == "n10"
    assert [(r.method, r.path, r.body) for r in kubernetes.requests] == [
        ("GET", "/api/v1/namespaces/ml/pods/train-0", None),
        (
            "POST",
            "/api/v1/namespaces/ml/pods/train-0/binding",
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": "train-0", "namespace": "ml", "uid": "uid-train-0"},
                "target": {"apiVersion": "v1", "kind": "Node", "name": "n10"},
            },
        ),
    ]


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault("POST", carried_out=True), id="connection broke after acceptance"),
        pytest.param(Fault("POST", carried_out=False), id="connection broke before acceptance"),
        pytest.param(Fault("POST", 500, "etcdserver: request timed out", carried_out=True), id="500 after acceptance"),
        pytest.param(Fault("POST", 500, "etcdserver: leader changed"), id="500 before acceptance"),
        pytest.param(Fault("POST", 504, "Timeout: request did not complete"), id="504"),
    ],
)
def test_fact_23_pod_is_bound_despite_lost_response(
    kubernetes: KubernetesOnLoopback, load_bind: Callable[[str], Callable[..., Any]], fault: Fault
) -> None:
    kubernetes.faults.append(fault)
    assert call(load_bind("5"), body_of(binding()), "bind").error == ""
    assert kubernetes.node_of("train-0") == "n10"


def test_fact_23_bind_ends_a_second_before_http_timeout_if_api_server_is_silent(
    kubernetes: KubernetesOnLoopback, load_bind: Callable[[str], Callable[..., Any]]
) -> None:
    released = Event()
    kubernetes.faults += [Fault("POST", held=released), Fault("GET", held=released)]
    handler = load_bind("1.6")
    started = monotonic()
    answer = call(handler, body_of(binding()), "bind")
    elapsed = monotonic() - started
    released.set()
    assert answer.error == (f"the API server did not confirm the binding: {kubernetes.host} did not answer in time")
    assert elapsed < 1.5


@pytest.mark.parametrize(
    ("seconds_ago", "bound"),
    [
        pytest.param(2.0, True, id="two seconds are left"),
        pytest.param(4.5, False, id="the reserve has begun"),
        pytest.param(3600.0, True, id="the clocks differ"),
    ],
)
def test_fact_23_deadline_starts_when_the_gateway_receives_the_request(
    kubernetes: KubernetesOnLoopback, load_bind: Callable[[str], Callable[..., Any]], seconds_ago: float, bound: bool
) -> None:
    """Bind does not send a request after the scheduler has stopped waiting, even after a slow cold start."""
    event = http_event(body_of(binding()), "POST /scheduler/bind")
    context = event["requestContext"]
    assert isinstance(context, dict)
    event["requestContext"] = context | {"timeEpoch": int((time() - seconds_ago) * 1000)}
    answer = load_bind("5")(event, None)
    assert ('"Error":""' in answer["body"]) is bound
    assert bool(kubernetes.requests) is bound


ML = frozenset({"ml", "web"})
OURS = "berth-scheduler"


@pytest.mark.parametrize(
    ("namespaces", "scheduler", "steps", "outcome", "error"),
    [
        pytest.param(None, OURS, [pod_on(""), created()], BindOutcome.BOUND, "", id="a scheduler that is named"),
        pytest.param(None, "x", [pod_on("")], BindOutcome.NOT_COVERED, REASON_SCHEDULER, id="another scheduler"),
        pytest.param(None, "", [pod_on("")], BindOutcome.NOT_COVERED, REASON_SCHEDULER, id="no scheduler"),
        pytest.param(None, "x", [pod_on("n20")], BindOutcome.NOT_COVERED, REASON_SCHEDULER, id="another scheduler's"),
        pytest.param(None, OURS, [pod_on("n10")], BindOutcome.ALREADY_BOUND, "", id="one Binding for repeated calls"),
        pytest.param(ML, OURS, [pod_on(""), created()], BindOutcome.BOUND, "", id="a namespace that is listed"),
        pytest.param({"web"}, OURS, [], BindOutcome.NOT_COVERED, REASON_NAMESPACE, id="another namespace: not read"),
        pytest.param(ML, "x", [pod_on("")], BindOutcome.NOT_COVERED, REASON_SCHEDULER, id="namespace is not enough"),
    ],
)
def test_binds_only_pods_that_deployment_and_configuration_cover(
    namespaces: frozenset[str] | None, scheduler: str, steps: list[Step], outcome: BindOutcome, error: str
) -> None:
    clock = HandDrivenClock(0)
    binder = ScriptedBinder(*steps, clock=clock, scheduler=scheduler)
    rules = BindRules(limits=BindConfiguration(namespaces=namespaces))
    reply = answer_bind(body_of(binding()), binder, Deadline(4.0, clock), rules)
    assert binder.finished
    assert (reply.outcome, orjson.loads(reply.body)) == (outcome, {"Error": error})
