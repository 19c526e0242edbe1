"""The API server's defaults that affect placement: each case has a manifest field and its stored form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from berth.scheduling.fields.reading import MalformedField
from berth.scheduling.objects import PriorityClass
from berth_cli.sources.dump.admission import AdmissionDenied, PriorityClasses, admit, parse_name

GPU = "nvidia.com/gpu"
CLASSES = PriorityClasses([PriorityClass("high", 1000, preemption_policy="Never"), PriorityClass("low", -5)])
WITH_DEFAULT = PriorityClasses(
    [PriorityClass("usual", 10, global_default=True), PriorityClass("usual-too", 20, global_default=True)]
)


def stored(
    spec: Mapping[str, object] | None = None,
    metadata: Mapping[str, object] | None = None,
    classes: PriorityClasses = CLASSES,
) -> dict[str, Any]:
    return admit({"kind": "Pod", "metadata": {"name": "p", **(metadata or {})}, "spec": dict(spec or {})}, classes)


def test_sets_namespace_scheduler_and_uid() -> None:
    pod = stored()
    assert (pod["metadata"]["namespace"], pod["spec"]["schedulerName"]) == ("default", "default-scheduler")
    assert pod["metadata"]["uid"] == "default.p"


def test_keeps_values_that_the_manifest_sets() -> None:
    pod = stored({"schedulerName": "mine", "priority": 7}, {"namespace": "ml", "uid": "u"})
    assert (pod["metadata"]["namespace"], pod["metadata"]["uid"]) == ("ml", "u")
    assert (pod["spec"]["schedulerName"], pod["spec"]["priority"]) == ("mine", 7)


@pytest.mark.parametrize(
    ("spec", "classes", "wanted"),
    [
        pytest.param({}, CLASSES, 0, id="no class and no default class"),
        pytest.param({"priorityClassName": "high"}, CLASSES, 1000, id="of its class"),
        pytest.param({"priorityClassName": "low"}, CLASSES, -5, id="below zero"),
        pytest.param({}, WITH_DEFAULT, 10, id="lower of two default classes"),
        pytest.param({"priorityClassName": "system-node-critical"}, CLASSES, 2_000_001_000, id="a built-in class"),
        pytest.param({"priorityClassName": "system-cluster-critical"}, CLASSES, 2_000_000_000, id="the other one"),
        pytest.param({"priorityClassName": "high", "priority": 3}, CLASSES, 3, id="a stored pod keeps what it has"),
    ],
)
def test_sets_priority_of_class(spec: Mapping[str, object], classes: PriorityClasses, wanted: int) -> None:
    assert stored(spec, classes=classes)["spec"]["priority"] == wanted


def test_sets_preemption_policy_of_class() -> None:
    assert stored({"priorityClassName": "high"})["spec"]["preemptionPolicy"] == "Never"
    kept = stored({"priorityClassName": "high", "preemptionPolicy": "PreemptLowerPriority"})
    assert kept["spec"]["preemptionPolicy"] == "PreemptLowerPriority"


def test_rejects_unknown_priority_class() -> None:
    with pytest.raises(AdmissionDenied, match="no PriorityClass with name absent was found"):
        stored({"priorityClassName": "absent"})


@pytest.mark.parametrize("field", ["containers", "initContainers"])
@pytest.mark.parametrize(
    ("resources", "wanted"),
    [
        pytest.param({"limits": {GPU: "1"}}, {GPU: "1"}, id="a limit without a request is the request"),
        pytest.param({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}, {"cpu": "1"}, id="a request stays"),
        pytest.param({"limits": {GPU: "1"}, "requests": {"cpu": "1"}}, {GPU: "1", "cpu": "1"}, id="by resource"),
        pytest.param({"requests": {"cpu": "1"}}, {"cpu": "1"}, id="no limits"),
        pytest.param({}, None, id="nothing"),
    ],
)
def test_limits_become_container_requests(field: str, resources: Mapping[str, object], wanted: object) -> None:
    [container] = stored({field: [{"name": "c", "resources": resources}]})["spec"][field]
    assert container["resources"].get("requests") == wanted


@pytest.mark.parametrize(
    ("resources", "requests", "wanted"),
    [
        pytest.param({"limits": {"cpu": "2"}}, {}, {"cpu": "2"}, id="limit that no container asks for is the request"),
        pytest.param({"limits": {"cpu": "2"}}, {"cpu": "1"}, None, id="otherwise the containers' requests add up"),
        pytest.param({"limits": {"cpu": "2"}, "requests": {"cpu": "1"}}, {}, {"cpu": "1"}, id="a request stays"),
        pytest.param({"limits": {GPU: "1"}}, {}, None, id="only resources allowed at pod level"),
    ],
)
def test_limits_become_pod_requests(
    resources: Mapping[str, object], requests: Mapping[str, object], wanted: object
) -> None:
    spec = {"resources": dict(resources), "containers": [{"name": "c", "resources": {"requests": requests}}]}
    assert stored(spec)["spec"]["resources"].get("requests") == wanted


@pytest.mark.parametrize(
    ("host_network", "port", "wanted"),
    [
        pytest.param(True, {"containerPort": 80}, 80, id="containerPort becomes hostPort on the host network"),
        pytest.param(True, {"containerPort": 80, "hostPort": 81}, 81, id="a given hostPort stays"),
        pytest.param(False, {"containerPort": 80}, None, id="unchanged without the host network"),
    ],
)
def test_host_network_sets_host_ports(host_network: bool, port: Mapping[str, object], wanted: int | None) -> None:
    spec = {"hostNetwork": host_network, "containers": [{"name": "c", "ports": [port]}]}
    assert stored(spec)["spec"]["containers"][0]["ports"][0].get("hostPort") == wanted


NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


@pytest.mark.parametrize(
    ("tolerations", "added"),
    [
        pytest.param([], [NOT_READY, UNREACHABLE], id="adds both tolerations"),
        pytest.param([{"key": NOT_READY, "effect": "NoExecute"}], [UNREACHABLE], id="keeps the existing toleration"),
        pytest.param([{"operator": "Exists"}], [], id="adds nothing if everything is tolerated"),
        pytest.param([{"operator": "Exists", "effect": "NoSchedule"}], [NOT_READY, UNREACHABLE], id="another effect"),
        pytest.param([{"key": "x", "operator": "Exists"}], [NOT_READY, UNREACHABLE], id="another key"),
    ],
)
def test_adds_the_default_tolerations(tolerations: list[object], added: list[str]) -> None:
    found = stored({"tolerations": tolerations})["spec"]["tolerations"]
    assert found[: len(tolerations)] == tolerations
    assert [(each["key"], each["effect"], each["tolerationSeconds"]) for each in found[len(tolerations) :]] == [
        (key, "NoExecute", 300) for key in added
    ]


def _affinity(term: Mapping[str, object], kind: str, *, preferred: bool) -> dict[str, object]:
    if preferred:
        return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


@pytest.mark.parametrize("kind", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize("preferred", [False, True])
@pytest.mark.parametrize(
    ("term", "wanted"),
    [
        pytest.param(
            {"labelSelector": {}, "matchLabelKeys": ["hash"]},
            {"matchExpressions": [{"key": "hash", "operator": "In", "values": ["1"]}]},
            id="the pods with the same value",
        ),
        pytest.param(
            {"labelSelector": {"matchLabels": {"a": "b"}}, "mismatchLabelKeys": ["hash"]},
            {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "hash", "operator": "NotIn", "values": ["1"]}]},
            id="the pods with another value",
        ),
        pytest.param({"labelSelector": {}, "matchLabelKeys": ["absent"]}, {"matchExpressions": []}, id="missing label"),
        pytest.param({"matchLabelKeys": ["hash"]}, None, id="a term without selector stays unchanged"),
    ],
)
def test_merges_label_keys_of_affinity(kind: str, preferred: bool, term: Mapping[str, object], wanted: object) -> None:
    pod = stored({"affinity": _affinity(term, kind, preferred=preferred)}, {"labels": {"hash": "1"}})
    [rules] = pod["spec"]["affinity"][kind].values()
    found = rules[0]["podAffinityTerm"] if preferred else rules[0]
    assert found.get("labelSelector") == wanted


RICH: dict[str, object] = {
    "containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 80}]}],
    "hostNetwork": True,
    "priorityClassName": "high",
    "resources": {"limits": {"memory": "1Gi"}},
    "affinity": _affinity({"labelSelector": {}, "matchLabelKeys": ["hash"]}, "podAffinity", preferred=False),
}


def test_stored_pod_is_unchanged() -> None:
    once = stored(RICH, {"labels": {"hash": "1"}})
    assert admit(once, CLASSES) == once


def test_does_not_modify_manifest() -> None:
    manifest = {"metadata": {"name": "p"}, "spec": {"containers": [{"resources": {"limits": {"cpu": "1"}}}]}}
    admit(manifest, CLASSES)
    assert manifest == {"metadata": {"name": "p"}, "spec": {"containers": [{"resources": {"limits": {"cpu": "1"}}}]}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"containers": {}}, "Pod.spec.containers is not a list", id="containers"),
        pytest.param({"containers": ["c"]}, r"Pod.spec.containers\[\] is not an object", id="a container"),
        pytest.param({"priorityClassName": 5}, "Pod.spec.priorityClassName is not a string", id="a class"),
        pytest.param({"tolerations": "all"}, "Pod.spec.tolerations is not a list", id="tolerations"),
        pytest.param({"affinity": []}, "Pod.spec.affinity is not an object", id="affinity"),
    ],
)
def test_error_names_field_of_wrong_type(spec: Mapping[str, object], message: str) -> None:
    with pytest.raises(MalformedField, match=message):
        stored(spec)


@pytest.mark.parametrize(
    ("text", "namespace"),
    [
        pytest.param("web", "default", id="only the pod"),
        pytest.param("shop/web", "shop", id="with the namespace"),
        pytest.param("pod/web", "default", id="as kubectl prints it"),
        pytest.param("shop/pod/web", "shop", id="as kubectl prints it, with the namespace"),
        pytest.param("tripod/web", "tripod", id="a namespace that ends with pod"),
    ],
)
def test_parses_namespace_and_name_of_pod(text: str, namespace: str) -> None:
    assert parse_name(text) == (namespace, "web")
