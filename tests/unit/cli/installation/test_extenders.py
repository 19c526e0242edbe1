"""The extender entries: verbs and managedResources, the counted resources of a configuration, and notes."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.installation.extenders import (
    ExtenderOptions,
    ManagedResource,
    ManagedResources,
    extenders,
    managed_resources_of,
    option_notes,
)
from berth_cli.server.functions import ROUTES
from tests.builders import counted

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


@pytest.mark.parametrize("filter_onlyone", [True, False])
def test_every_verb_has_a_route(filter_onlyone: bool) -> None:
    [entry] = entries(filter_onlyone=filter_onlyone)
    assert {f"POST /scheduler/{verb}" for verb in verbs(entry)} <= ROUTES.keys()


@pytest.mark.parametrize("tls", [None, {"certFile": "a", "keyFile": "b"}, {"caFile": "c"}])
def test_never_sets_enable_https(tls: dict[str, object] | None) -> None:
    [entry] = entries(tls=tls)
    assert "enableHTTPS" not in entry
    assert "insecure" not in (entry.get("tlsConfig") or {})
    assert entry.get("tlsConfig") == tls


def test_counting_policy_has_one_entry_limited_to_managed_resources() -> None:
    [entry] = entries(managed=ManagedResources((LICENCE, SHARED), counts_only=True))
    assert entry["managedResources"] == IN_DOCUMENT
    assert verbs(entry) == ["filter", "prioritize", "bind", "preempt"]


def test_policy_for_all_pods_has_a_separate_bind_entry_for_counted_pods() -> None:
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
def test_bind_of_every_pod_requires_an_entry_for_all_pods(managed: ManagedResources) -> None:
    every_pod, ignoring = entries(managed=managed)
    assert verbs(every_pod) == ["filter", "prioritize", "bind", "preempt"]
    assert "managedResources" not in every_pod
    assert (verbs(ignoring), ignoring["managedResources"]) == ([], IN_DOCUMENT[:1])


COUNTED = (ManagedResource("example.com/licence"),)
BOTH = tuple(ManagedResource(name, ignored_by_scheduler=False) for name in (counted.MEMORY, counted.PERCENTAGE))


SLICES = {**counted.SLICES, "ignoredByScheduler": False}
BESIDE = {"profiles": {"batch": "label-priority"}}


@pytest.mark.parametrize(
    ("document", "wanted"),
    [
        pytest.param(BerthConfiguration(), ManagedResources(), id="nothing is counted"),
        pytest.param(counted.configuration(counted.LICENCES), ManagedResources(COUNTED, counts_only=True), id="only"),
        pytest.param(counted.configuration(counted.LICENCES, **BESIDE), ManagedResources(COUNTED), id="other rules"),
        pytest.param(counted.configuration(SLICES), ManagedResources(BOTH, counts_only=True), id="names of devices"),
        pytest.param(
            counted.configuration(counted.ANNOTATED),
            ManagedResources(counts_only=True, by_annotation=True),
            id="annotations",
        ),
    ],
)
def test_reads_managed_resources_from_the_configuration(document: BerthConfiguration, wanted: ManagedResources) -> None:
    assert managed_resources_of(document) == wanted


@pytest.mark.parametrize(
    ("profile", "rules_about_pods"),
    [
        pytest.param("managed-resources", False, id="rules enforced by the ledger"),
        pytest.param("label-priority", False, id="rules about nodes"),
        pytest.param("full", True, id="rules about other pods"),
    ],
)
def test_detects_whether_rules_depend_on_other_pods(profile: str, rules_about_pods: bool) -> None:
    found = managed_resources_of(counted.configuration(counted.LICENCES, profile=profile))
    assert found.rules_about_pods is rules_about_pods


def test_gangs_require_bind_of_every_pod_even_if_the_policy_only_counts() -> None:
    found = managed_resources_of(counted.configuration(counted.LICENCES, gangs={"enabled": True}))
    assert (found.gangs, found.counts_only, found.bind_needs_every_pod) == (True, False, True)


def notes(*, with_password: bool = False, second: bool = False, **choices: Any) -> str:
    found = option_notes(ExtenderOptions(**{"url_prefix": URL} | choices), with_password=with_password, second=second)
    return "\n".join(found)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        pytest.param({"with_password": True}, "fact 37", id="basic credentials"),
        pytest.param({"managed": ManagedResources(gangs=True)}, "fact 44", id="bounded retries"),
        pytest.param({"url_prefix": "http://[::1]/scheduler", "second": True}, "is loopback", id="loopback in a pod"),
    ],
)
def test_prints_a_note_about_each_effect_of_the_options(choices: dict[str, Any], message: str) -> None:
    assert message in notes(**choices)
