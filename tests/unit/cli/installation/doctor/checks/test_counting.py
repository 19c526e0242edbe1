"""The check of counted resources in the scheduler's configuration."""

from __future__ import annotations

import pytest

from berth_cli.installation.doctor.checks.counting import check_managed_resources
from berth_cli.installation.doctor.findings import Result
from berth_cli.installation.extenders import ExtenderOptions, ManagedResource, ManagedResources, Verb, extenders
from tests.fakes.doctor import ADDRESS
from tests.unit.cli.installation.doctor.finding_assertions import expect
from tests.unit.cli.installation.doctor.scheduler_documents import document, side

FAILED, WARNING, OK = Result.FAILED, Result.WARNING, Result.OK

LICENCE, OTHER = ManagedResource("example.com/licence"), ManagedResource("example.com/slot")


@pytest.mark.parametrize("by_annotation", [True, False])
@pytest.mark.parametrize("counts_only", [True, False])
@pytest.mark.parametrize("resources", [(), (LICENCE, ManagedResource("example.com/gpu", ignored_by_scheduler=False))])
def test_passes_for_output_of_scheduler_config(
    resources: tuple[ManagedResource, ...], counts_only: bool, by_annotation: bool
) -> None:
    managed = ManagedResources(resources, counts_only=counts_only, by_annotation=by_annotation)
    found = list(check_managed_resources(side(document(managed)), managed))
    assert [finding.result for finding in found] == [OK], found


@pytest.mark.parametrize(
    ("printed_for", "managed", "result", "message"),
    [
        pytest.param(
            ManagedResources(), ManagedResources((LICENCE,)), WARNING, "not ignored by the scheduler", id="forgotten"
        ),
        pytest.param(
            ManagedResources((LICENCE,)),
            ManagedResources(),
            FAILED,
            "not counted by Berth",
            id="ignored and not counted",
        ),
        pytest.param(
            ManagedResources((LICENCE,), counts_only=True),
            ManagedResources((LICENCE,)),
            FAILED,
            "its policy is for all pods",
            id="fact 7",
        ),
        pytest.param(
            ManagedResources((LICENCE,)),
            ManagedResources((LICENCE, OTHER)),
            FAILED,
            "are not bound by Berth",
            id="a resource missing in bind",
        ),
        pytest.param(
            ManagedResources((LICENCE,), counts_only=True),
            ManagedResources((LICENCE,), counts_only=True, by_annotation=True),
            FAILED,
            "by annotation are not sent to bind",
            id="an annotation opens no entry",
        ),
        pytest.param(
            ManagedResources((LICENCE,)),
            ManagedResources((LICENCE,), rules_about_pods=True),
            WARNING,
            "best effort",
            id="pods not passed to bind",
        ),
        pytest.param(
            ManagedResources((ManagedResource("licence"),)),
            ManagedResources((LICENCE,)),
            FAILED,
            "fact 46",
            id="a name without a domain",
        ),
        pytest.param(
            ManagedResources((ManagedResource("a.kubernetes.io/x"),)),
            ManagedResources((LICENCE,)),
            FAILED,
            "fact 46",
            id="a name reserved by Kubernetes",
        ),
    ],
)
def test_compares_managed_resources_with_counted_resources(
    printed_for: ManagedResources, managed: ManagedResources, result: Result, message: str
) -> None:
    expect(check_managed_resources(side(document(printed_for)), managed), "managedResources", result, message)


def test_fails_if_berth_does_not_bind_counted_resources() -> None:
    managed = ManagedResources((LICENCE,), counts_only=True)
    found = document() | {
        "extenders": extenders(ExtenderOptions(url_prefix=ADDRESS, managed=managed, verbs=frozenset()))
    }
    expect(check_managed_resources(side(found), managed), "managedResources", FAILED, "nothing is counted")


@pytest.mark.parametrize(
    ("verbs", "managed", "warns"),
    [
        pytest.param(frozenset({Verb.FILTER}), ManagedResources(rules_about_pods=True), True, id="another binds"),
        pytest.param(frozenset(Verb), ManagedResources(rules_about_pods=True), False, id="Berth binds"),
        pytest.param(frozenset({Verb.FILTER}), ManagedResources(), False, id="no such rule"),
    ],
)
def test_rules_about_pods_are_best_effort_if_berth_does_not_bind(
    verbs: frozenset[Verb], managed: ManagedResources, warns: bool
) -> None:
    found = document() | {"extenders": extenders(ExtenderOptions(url_prefix=ADDRESS, managed=managed, verbs=verbs))}
    [finding] = check_managed_resources(side(found), managed)
    assert (finding.result is WARNING, "Berth does not bind: rules" in finding.message) == (warns, warns)
