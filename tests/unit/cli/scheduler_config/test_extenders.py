"""The extender's entries: verbs, mode, and who is sent to the verb that counts."""

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


def test_by_default_one_entry_with_every_verb_in_node_cache_mode() -> None:
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
def test_verbs(choices: dict[str, Any], wanted: list[str]) -> None:
    [entry] = entries(**choices)
    assert verbs(entry) == wanted
    assert ("weight" in entry) is ("prioritizeVerb" in entry)


@pytest.mark.parametrize("filter_onlyone", [True, False])
def test_every_verb_has_a_route(filter_onlyone: bool) -> None:
    [entry] = entries(filter_onlyone=filter_onlyone)
    assert {f"POST /scheduler/{verb}" for verb in verbs(entry)} <= read_template_api().routes.keys()


def test_full_mode() -> None:
    assert entries(mode=Mode.FULL)[0]["nodeCacheCapable"] is False


@pytest.mark.parametrize("tls", [None, {"certFile": "a", "keyFile": "b"}, {"caFile": "c"}])
def test_https_is_never_enabled_for_it_may_switch_verification_off(tls: dict[str, object] | None) -> None:
    [entry] = entries(tls=tls)
    assert "enableHTTPS" not in entry
    assert "insecure" not in (entry.get("tlsConfig") or {})
    assert entry.get("tlsConfig") == tls


def test_a_policy_that_only_counts_is_asked_about_pods_that_are_counted() -> None:
    [entry] = entries(managed=ManagedResources((LICENCE, SHARED), counts_only=True))
    assert entry["managedResources"] == IN_DOCUMENT
    assert verbs(entry) == ["filter", "prioritize", "bind", "preempt"]


def test_a_policy_for_all_pods_has_an_entry_of_its_own_and_bind_that_of_the_counted_ones() -> None:
    every_pod, counted = entries(managed=ManagedResources((LICENCE, SHARED)))
    assert (verbs(every_pod), "managedResources" in every_pod) == (["filter", "prioritize", "preempt"], False)
    assert (verbs(counted), counted["managedResources"]) == (["bind"], IN_DOCUMENT)


def test_a_request_by_annotation_is_seen_only_where_every_pod_is_sent() -> None:
    every_pod, ignoring = entries(managed=ManagedResources((LICENCE,), counts_only=True, by_annotation=True))
    assert verbs(every_pod) == ["filter", "prioritize", "bind", "preempt"]
    assert "managedResources" not in every_pod
    assert (verbs(ignoring), ignoring["managedResources"]) == ([], IN_DOCUMENT[:1])


@pytest.mark.parametrize("counts_only", [True, False])
@pytest.mark.parametrize("by_annotation", [True, False])
@pytest.mark.parametrize("resources", [(), (LICENCE,)])
def test_never_more_than_one_binder(
    counts_only: bool, by_annotation: bool, resources: tuple[ManagedResource, ...]
) -> None:
    found = entries(managed=ManagedResources(resources, counts_only, by_annotation))
    assert sum("bindVerb" in entry for entry in found) == 1
