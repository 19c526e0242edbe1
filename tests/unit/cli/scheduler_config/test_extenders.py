"""The extender entries: verbs, mode and managedResources."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.scheduler_config.extenders import ExtenderOptions, Mode, Verb, extenders
from berth_cli.scheduler_config.managed_resources import ManagedResource, ManagedResources
from berth_cli.serve.template_api import read_template_api

URL = "https://berth.example.com/scheduler"
LICENCE, SHARED = ManagedResource("example.com/licence"), ManagedResource("example.com/gpu", ignored_by_scheduler=False)
IN_DOCUMENT = [
    {"name": "example.com/licence", "ignoredByScheduler": True},
    {"name": "example.com/gpu", "ignoredByScheduler": False},
]


def verbs(entry: dict[str, Any]) -> list[str]:
    return [entry[key] for key in ("filterVerb", "prioritizeVerb", "bindVerb", "preemptVerb") if key in entry]


def entries(**choices: Any) -> list[dict[str, Any]]:
    return extenders(ExtenderOptions(url_prefix=URL, **choices))


def test_default_is_one_entry_with_all_verbs() -> None:
    assert entries() == [
        {
            "urlPrefix": URL,
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "weight": 1,
            "bindVerb": "bind",
            "preemptVerb": "preempt",
            "nodeCacheCapable": True,
            "httpTimeout": "5s",
            "ignorable": False,
        }
    ]


@pytest.mark.parametrize(
    ("choices", "wanted"),
    [
        pytest.param(
            {"filter_onlyone": True}, ["filter_onlyone", "bind", "preempt"], id="one node needs no score (46)"
        ),
        pytest.param({"verbs": frozenset({Verb.FILTER})}, ["filter"], id="only what is asked for"),
    ],
)
def test_entry_has_selected_verbs(choices: dict[str, Any], wanted: list[str]) -> None:
    [entry] = entries(**choices)
    assert verbs(entry) == wanted
    assert ("weight" in entry) is ("prioritizeVerb" in entry)


@pytest.mark.parametrize("filter_onlyone", [True, False])
def test_every_verb_has_a_route(filter_onlyone: bool) -> None:
    [entry] = entries(filter_onlyone=filter_onlyone)
    assert {f"POST /scheduler/{verb}" for verb in verbs(entry)} <= read_template_api().routes.keys()


def test_full_mode_sends_nodes() -> None:
    assert entries(mode=Mode.FULL)[0]["nodeCacheCapable"] is False


@pytest.mark.parametrize("tls", [None, {"certFile": "a", "keyFile": "b"}, {"caFile": "c"}])
def test_never_sets_enable_https(tls: dict[str, object] | None) -> None:
    [entry] = entries(tls=tls)
    assert "enableHTTPS" not in entry
    assert "insecure" not in (entry.get("tlsConfig") or {})
    assert entry.get("tlsConfig") == tls


def test_counting_policy_has_one_gated_entry() -> None:
    [entry] = entries(managed=ManagedResources((LICENCE, SHARED), counts_only=True))
    assert entry["managedResources"] == IN_DOCUMENT
    assert verbs(entry) == ["filter", "prioritize", "bind", "preempt"]


def test_policy_for_all_pods_has_separate_bind_entry() -> None:
    every_pod, counted = entries(managed=ManagedResources((LICENCE, SHARED)))
    assert (verbs(every_pod), "managedResources" in every_pod) == (["filter", "prioritize", "preempt"], False)
    assert (verbs(counted), counted["managedResources"]) == (["bind"], IN_DOCUMENT)


@pytest.mark.parametrize(
    "managed",
    [
        pytest.param(ManagedResources((LICENCE,), counts_only=True, by_annotation=True), id="requests by annotation"),
        pytest.param(ManagedResources((LICENCE,), rules_about_pods=True), id="rules about other pods"),
        pytest.param(ManagedResources((LICENCE,), gangs=True), id="members of gangs"),
    ],
)
def test_bind_of_every_pod_needs_ungated_entry(managed: ManagedResources) -> None:
    every_pod, ignoring = entries(managed=managed)
    assert verbs(every_pod) == ["filter", "prioritize", "bind", "preempt"]
    assert "managedResources" not in every_pod
    assert (verbs(ignoring), ignoring["managedResources"]) == ([], IN_DOCUMENT[:1])


@pytest.mark.parametrize("counts_only", [True, False])
@pytest.mark.parametrize("by_annotation", [True, False])
@pytest.mark.parametrize("resources", [(), (LICENCE,)])
def test_at_most_one_entry_binds(
    counts_only: bool, by_annotation: bool, resources: tuple[ManagedResource, ...]
) -> None:
    found = entries(managed=ManagedResources(resources, counts_only, by_annotation))
    assert sum("bindVerb" in entry for entry in found) == 1
