"""InterPodAffinity: required and preferred affinity and anti-affinity between pods."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from berth.scheduling.fields.requirements import FEW
from berth.scheduling.framework.plugin import SUCCESS, Code, Status
from berth.scheduling.plugins.inter_pod_affinity import InterPodAffinity, InterPodAffinityArgs
from tests.builders.nodes import node_with
from tests.builders.pods import pod_with
from tests.unit.scheduling.plugins.asking import scores, verdict, verdicts

Object = dict[str, Any]

NOT_NEAR = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ("node(s) didn't match pod affinity rules",), "InterPodAffinity")
TOO_NEAR = Status(Code.UNSCHEDULABLE, ("node(s) didn't match pod anti-affinity rules",), "InterPodAffinity")
BARRED = Status(Code.UNSCHEDULABLE, ("node(s) didn't satisfy existing pods anti-affinity rules",), "InterPodAffinity")

LETTERS = {"+": SUCCESS, "n": NOT_NEAR, "t": TOO_NEAR, "b": BARRED}
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
DB = {"matchLabels": {"app": "db"}}
WEB = {"matchLabels": {"app": "web"}}

plugin = InterPodAffinity(InterPodAffinityArgs())


def term(selector: Object | None = DB, key: str = ZONE, **fields: Any) -> Object:
    return {"labelSelector": selector, "topologyKey": key, **fields}


def near(*terms: Object) -> Object:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def away(*terms: Object) -> Object:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def pod(affinity: Object | None = None, app: str = "web", **fields: Any) -> Object:
    return pod_with("p", {"app": app}, affinity=affinity, **fields)


def placed(name: str, on: str, app: str = "db", affinity: Object | None = None, **fields: Any) -> Object:
    return pod_with(name, {"app": app}, nodeName=on, affinity=affinity, **fields)


PADDING = [term({"matchLabels": {f"pad-{number}": ""}}) for number in range(FEW)]
A, B, C = (node_with(name, {ZONE: zone}) for name, zone in (("a", "1"), ("b", "1"), ("c", "2")))
NO_ZONE = node_with("d")


def namespace(name: str, **labels: str) -> Object:
    return {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}


@pytest.mark.parametrize(
    ("affinity", "others", "wanted"),
    [
        pytest.param(near(term()), [placed("o", "a")], "++nn", id="a zone"),
        pytest.param(near(term(key=HOST)), [placed("o", "a")], "+nnn", id="a node"),
        pytest.param(near(term()), [], "nnnn", id="no other pod"),
        pytest.param(near(term()), [placed("o", "d")], "nnnn", id="on a node without a zone"),
        pytest.param(near(term(), term(key=HOST)), [placed("o", "a")], "+nnn", id="every term must hold"),
        pytest.param(
            near(term(), term({"matchLabels": {"tier": "1"}})),
            [placed("o", "a"), pod_with("o2", {"tier": "1"}, nodeName="a")],
            "nnnn",
            id="by pods that match all of them",
        ),
        pytest.param(near(term({})), [placed("o", "c")], "nn+n", id="{} selects all"),
        pytest.param(near(term(None)), [placed("o", "c")], "nnnn", id="none selects none"),
        pytest.param(away(term()), [placed("o", "a")], "tt++", id="anti-affinity"),
        pytest.param(
            away(term({"matchLabels": {"app": "none"}}), term(key=HOST)),
            [placed("o", "a")],
            "t+++",
            id="anti-affinity: one term is enough",
        ),
        pytest.param(away(term(), *PADDING), [placed("o", "a")], "tt++", id="anti-affinity with many terms"),
        pytest.param(away(term(key=HOST), *PADDING), [placed("o", "a")], "t+++", id="many terms: by their keys"),
        pytest.param(
            away(term(), *PADDING), [placed("o", "a", namespace="other")], "++++", id="many terms: by their namespaces"
        ),
        pytest.param(
            near(term()) | away(term(key=HOST)),
            [placed("o", "a")],
            "t+nn",
            id="affinity to a zone and anti-affinity to a node",
        ),
        pytest.param(
            None, [placed("o", "a", affinity=away(term(WEB)))], "bb++", id="other pods with anti-affinity to the pod"
        ),
        pytest.param(
            None, [placed("o", "a", affinity=away(term(DB)))], "++++", id="pods with anti-affinity to another pod"
        ),
        pytest.param(None, [placed("o", "d", affinity=away(term(WEB)))], "++++", id="no zone"),
        pytest.param(
            away(term()),
            [placed("o", "a", affinity=away(term(WEB)))],
            "tt++",
            id="the pod's own affinity is named first",
        ),
    ],
)
def test_required_terms_decide_which_nodes_pass(affinity: Object | None, others: list[Object], wanted: str) -> None:
    """wanted: a letter of LETTERS for each node."""
    expected = {node: LETTERS[letter] for node, letter in zip("abcd", wanted, strict=True)}
    assert verdicts(plugin, pod(affinity), A, B, C, NO_ZONE, *others) == expected


@pytest.mark.parametrize(
    ("affinity", "others", "wanted"),
    [
        pytest.param(near(term(WEB)), [], SUCCESS, id="no other pod and it matches its own term"),
        pytest.param(near(term(WEB)), [placed("o", "c", "web")], NOT_NEAR, id="not if a matching pod is elsewhere"),
        pytest.param(near(term(WEB), term(DB)), [], NOT_NEAR, id="it must match all its terms"),
        pytest.param(near(term(WEB, "absent")), [], NOT_NEAR, id="the node must have the topology key"),
        pytest.param(near(term(WEB, namespaces=["red"])), [], NOT_NEAR, id="it must match the namespaces of its term"),
    ],
)
def test_first_pod_of_a_group_must_match_its_own_terms(affinity: Object, others: list[Object], wanted: Status) -> None:
    assert verdicts(plugin, pod(affinity), A, C, *others)["a"] == wanted


RED = {"matchLabels": {"team": "red"}}
NOT_BLUE = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["blue"]}]}


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        pytest.param({}, SUCCESS, id="the other pod's own namespace by default"),
        pytest.param({"namespaceSelector": RED}, BARRED, id="by the labels of the pod's namespace"),
    ],
)
def test_terms_of_other_pods_select_by_namespace(fields: Object, wanted: Status) -> None:
    elsewhere = placed("o", "a", affinity=away(term(WEB, **fields)), namespace="other")
    assert verdict(plugin, pod(), A, namespace("default", team="red"), elsewhere) == wanted


def test_unknown_namespace_is_treated_like_one_without_labels() -> None:
    elsewhere = placed("o", "a", affinity=away(term(WEB, namespaceSelector=NOT_BLUE)), namespace="other")
    assert verdict(plugin, pod(), A, elsewhere) == BARRED


def test_own_terms_select_every_namespace_if_empty_labels_satisfy_the_selector() -> None:
    """kube-scheduler matches the selector against an empty label set after it has listed the namespaces."""
    blue = placed("o", "a", namespace="other")
    own = pod(away(term(namespaceSelector=NOT_BLUE)))
    assert verdict(plugin, own, A, namespace("other", team="blue"), blue) == TOO_NEAR


def test_ignores_label_keys_already_merged_by_the_api_server() -> None:
    """The API server has merged them into the selector: applying matchLabelKeys again would exclude this pod."""
    elsewhere = pod_with("o", {"app": "db", "hash": "1"}, nodeName="a")
    own = pod(away(term(matchLabelKeys=["hash"], mismatchLabelKeys=["app"])), metadata={"labels": {"hash": "2"}})
    assert verdict(plugin, own, A, elsewhere) == TOO_NEAR


BROKEN = term({"matchExpressions": [{"key": "app", "operator": "Near"}]})
NEAR_IS_NONE = '"Near" is not a valid label selector operator'


@pytest.mark.parametrize(
    ("affinity", "reason"),
    [pytest.param(near(BROKEN), f"parsing pod: requiredAffinityTerms: {NEAR_IS_NONE}", id="one list")],
)
def test_malformed_term_rejects_every_node(affinity: Object, reason: str) -> None:
    wanted = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (reason,), "InterPodAffinity")
    assert verdicts(plugin, pod(affinity), A, C) == {"a": wanted, "c": wanted}


def preferring(kind: str, *terms: tuple[int, Object]) -> Object:
    found = [{"weight": weight, "podAffinityTerm": each} for weight, each in terms]
    return {kind: {PREFERRED: found}}


PREFER = preferring("podAffinity", (10, term(key=HOST)))
AVOID = preferring("podAntiAffinity", (10, term(key=HOST)))


@pytest.mark.parametrize(
    ("affinity", "others", "wanted"),
    [
        pytest.param(PREFER, [placed("o", "a")], (100, 0, 0), id="preferred affinity"),
        pytest.param(
            preferring("podAffinity", (10, term(key=HOST)), (4, term()), *((9, each) for each in PADDING)),
            [placed("o", "a")],
            (100, 28, 0),
            id="many terms, each by its weight",
        ),
        pytest.param(AVOID, [placed("o", "a")], (0, 100, 100), id="preferred anti-affinity"),
        pytest.param(
            PREFER, [placed("o", "a"), placed("o2", "a"), placed("o3", "b")], (100, 50, 0), id="each pod counts"
        ),
        pytest.param(
            preferring("podAffinity", (10, term(key=HOST)), (4, term())),
            [placed("o", "a")],
            (100, 28, 0),
            id="each term by its weight, rounded down",
        ),
        pytest.param(PREFER, [], (0, 0, 0), id="no other pod"),
        pytest.param(preferring("podAffinity", (10, term({}))), [placed("o", "a")], (100, 100, 0), id="a zone"),
        pytest.param(
            None,
            [placed("o", "a", affinity=preferring("podAffinity", (10, term(WEB, HOST))))],
            (100, 0, 0),
            id="other pods with preferred affinity to the pod",
        ),
        pytest.param(
            None,
            [placed("o", "a", affinity=preferring("podAntiAffinity", (10, term(WEB, HOST))))],
            (0, 100, 100),
            id="other pods with preferred anti-affinity to the pod",
        ),
        pytest.param(
            None,
            [placed("o", "a", affinity=near(term(WEB, HOST)))],
            (100, 0, 0),
            id="other pods with required affinity to the pod",
        ),
        pytest.param(
            None, [placed("o", "a", affinity=near(term(DB, HOST)))], (0, 0, 0), id="pods with affinity to another pod"
        ),
    ],
)
def test_preferred_affinity_terms_determine_the_score(
    affinity: Object | None, others: list[Object], wanted: tuple[int, ...]
) -> None:
    assert tuple(scores(plugin, pod(affinity), A, B, C, *others).values()) == wanted


HARD = placed("hard", "a", affinity=near(term(WEB, HOST)))
SOFT = placed("soft", "b", affinity=preferring("podAffinity", (10, term(WEB, HOST))))


@pytest.mark.parametrize(
    ("args", "affinity", "wanted"),
    [
        pytest.param({}, None, (10, 100, 0), id="a required term counts 1"),
        pytest.param({"hardPodAffinityWeight": 5}, None, (50, 100, 0), id="required: configured weight"),
        pytest.param({"hardPodAffinityWeight": 0}, None, (0, 100, 0), id="a required term may count 0"),
        pytest.param(
            {"ignorePreferredTermsOfExistingPods": True},
            None,
            (0, 0, 0),
            id="a pod without preferences ignores those of others",
        ),
        pytest.param(
            {"ignorePreferredTermsOfExistingPods": True},
            preferring("podAffinity", (1, term(key="absent"))),
            (10, 100, 0),
            id="a pod with preferences counts those of others",
        ),
    ],
)
def test_arguments_change_affinity_scores(args: Object, affinity: Object | None, wanted: tuple[int, ...]) -> None:
    configured = InterPodAffinity(InterPodAffinityArgs.model_validate(args))
    assert tuple(scores(configured, pod(affinity), A, B, C, HARD, SOFT).values()) == wanted


@pytest.mark.parametrize("weight", [0, 100])
def test_accepts_hard_pod_affinity_weight_from_0_to_100(weight: int) -> None:
    assert InterPodAffinityArgs.model_validate({"hardPodAffinityWeight": weight}).hard_pod_affinity_weight == weight


@pytest.mark.parametrize("weight", [-1, 101])
def test_rejects_hard_pod_affinity_weight_outside_0_to_100(weight: int) -> None:
    with pytest.raises(ValidationError):
        InterPodAffinityArgs.model_validate({"hardPodAffinityWeight": weight})
