"""Rules of a pod about other pods, as its spec states them."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.fields.pod_rules import (
    NO_POD_AFFINITY,
    PodAffinity,
    PodAffinityTerm,
    read_pod_affinity,
    read_topology_spread,
)

APP = {"labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "zone"}
INVALID = {"labelSelector": {"matchLabels": {"a b": "1"}}, "topologyKey": "zone"}
REQUIRED, PREFERRED = (f"{kind}DuringSchedulingIgnoredDuringExecution" for kind in ("required", "preferred"))


def read(**lists: Any) -> PodAffinity:
    return read_pod_affinity(lists, "own")


def term(**fields: Any) -> PodAffinityTerm:
    [found] = read(podAffinity={REQUIRED: [{**APP, **fields}]}).required
    return found


@pytest.mark.parametrize(
    ("fields", "namespace", "labels", "matches"),
    [
        pytest.param({}, "own", {"app": "a"}, True, id="the pod's namespace is the default"),
        pytest.param({}, "own", {"app": "b"}, False, id="other labels"),
        pytest.param({}, "other", {"app": "a"}, False, id="another namespace"),
        pytest.param({"namespaces": ["other"]}, "other", {"app": "a"}, True, id="a listed namespace"),
        pytest.param({"namespaces": ["other"]}, "own", {"app": "a"}, False, id="listed ones replace the default"),
        pytest.param({"namespaceSelector": {}}, "other", {"app": "a"}, True, id="all namespaces"),
        pytest.param({"namespaceSelector": {"matchLabels": {"team": "x"}}}, "x", {"app": "a"}, True, id="selected"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "y"}}}, "own", {"app": "a"}, False, id="not selected"
        ),
        pytest.param(
            {"namespaces": ["own"], "namespaceSelector": {"matchLabels": {"team": "y"}}},
            "own",
            {"app": "a"},
            True,
            id="listed or selected",
        ),
        pytest.param({"labelSelector": None}, "own", {"app": "a"}, False, id="no label selector"),
    ],
)
def test_term_selects_pods_by_namespace_and_labels(
    fields: dict[str, Any], namespace: str, labels: dict[str, str], matches: bool
) -> None:
    assert term(**fields).matches(namespace, {"team": "x"}, labels) is matches


def test_reads_the_four_lists_with_negative_weights_for_anti_affinity() -> None:
    lists = {REQUIRED: [APP], PREFERRED: [{"weight": 3, "podAffinityTerm": APP}]}
    found = read(podAffinity=lists, podAntiAffinity=lists)
    assert found.required == found.anti_required == (term(),)
    assert [each.weight for each in found.preferred] == [3, -3]
    assert found.has_terms
    assert found.invalid is None


@pytest.mark.parametrize(
    ("lists", "has_terms", "cause"),
    [
        pytest.param({}, False, None, id="absent"),
        pytest.param({"podAffinity": {REQUIRED: []}}, False, None, id="an empty list"),
        pytest.param({"podAntiAffinity": {REQUIRED: [APP]}}, True, None, id="anti-affinity alone"),
        pytest.param({"podAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": APP}]}}, True, None, id="preferred"),
        pytest.param(
            {"podAffinity": {REQUIRED: [APP, INVALID]}},
            False,
            "requiredAffinityTerms: a key is no label key",
            id="one invalid term empties its list",
        ),
        pytest.param(
            {"podAffinity": {REQUIRED: [INVALID]}, "podAntiAffinity": {REQUIRED: [INVALID]}},
            False,
            "[requiredAffinityTerms: a key is no label key, requiredAntiAffinityTerms: a key is no label key]",
            id="two invalid lists",
        ),
        pytest.param(
            {"podAffinity": {REQUIRED: [{**APP, "namespaceSelector": INVALID["labelSelector"]}]}},
            False,
            "requiredAffinityTerms: a key is no label key",
            id="an invalid selector of namespaces",
        ),
    ],
)
def test_reports_terms_and_the_invalid_list(lists: dict[str, Any], has_terms: bool, cause: str | None) -> None:
    found = read(**lists)
    assert found.has_terms is has_terms
    assert (None if found.invalid is None else found.invalid.cause) == cause
    assert (found == NO_POD_AFFINITY) is (found is NO_POD_AFFINITY)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, (1, True, False), id="defaults"),
        pytest.param({"minDomains": 3}, (3, True, False), id="minDomains"),
        pytest.param({"nodeAffinityPolicy": "Ignore", "nodeTaintsPolicy": "Honor"}, (1, False, True), id="policies"),
        pytest.param(
            {"nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}, (1, True, False), id="same as default"
        ),
    ],
)
def test_reads_a_spread_constraint(fields: dict[str, Any], expected: tuple[int, bool, bool]) -> None:
    stated = {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["hash"]}
    [found] = read_topology_spread([{**stated, **fields}])
    assert (found.min_domains, found.honor_affinity, found.honor_taints) == expected
    assert (found.max_skew, found.topology_key, found.when_unsatisfiable) == (2, "zone", "DoNotSchedule")
    assert found.match_label_keys == ("hash",)
