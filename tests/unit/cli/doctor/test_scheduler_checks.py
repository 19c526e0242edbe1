"""What doctor says about the scheduler's configuration."""

from __future__ import annotations

from typing import Any

import pytest

from berth_cli.doctor.checks.managed_resources import managed_resources
from berth_cli.doctor.checks.scheduler import entries, scheduler
from berth_cli.doctor.checks.transport import transport
from berth_cli.doctor.findings import Finding, Result
from berth_cli.doctor.scheduler import configuration as scheduler_document
from berth_cli.scheduler_config.extenders import ExtenderOptions, extenders
from berth_cli.scheduler_config.managed_resources import ManagedResource, ManagedResources
from tests.fakes.doctor import ADDRESS
from tests.unit.cli.doctor.reading import expect
from tests.unit.cli.doctor.schedulers import document, side

FAILED, WARNING, OK = Result.FAILED, Result.WARNING, Result.OK


def findings(found: dict[str, Any], address: str = ADDRESS) -> list[Finding]:
    """Of everything that reads the configuration."""
    read = side(found, address)
    return [*scheduler(read, address), *entries(read), *transport(read)]


def test_what_scheduler_config_prints_is_all_right() -> None:
    assert {finding.result for finding in findings(document())} == {OK}


@pytest.mark.parametrize(
    ("changed", "check", "result", "message"),
    [
        pytest.param(
            {"percentageOfNodesToScore": None},
            "percentageOfNodesToScore",
            FAILED,
            "not set for default-scheduler",
            id="a sample of the nodes by default",
        ),
        pytest.param(
            {"percentageOfNodesToScore": 0},
            "percentageOfNodesToScore",
            FAILED,
            "0 for default-scheduler",
            id="0 is the default too",
        ),
        pytest.param(
            {"profiles": [{"schedulerName": "a", "percentageOfNodesToScore": 50}]},
            "percentageOfNodesToScore",
            FAILED,
            "50 for a",
            id="a profile's own goes before",
        ),
        pytest.param(
            {"percentageOfNodesToScore": 5, "profiles": [{"percentageOfNodesToScore": 100}]},
            "percentageOfNodesToScore",
            OK,
            "all nodes",
            id="also where it is the right one",
        ),
        pytest.param(
            {"profiles": [{"schedulerName": "mine"}]},
            "leaderElection",
            FAILED,
            "waits for it forever",
            id="a second scheduler on the first one's lock",
        ),
        pytest.param(
            {"profiles": [{"schedulerName": "mine"}], "leaderElection": {"resourceName": "mine"}},
            "leaderElection",
            OK,
            "kube-system/mine",
            id="a lock of its own",
        ),
        pytest.param(
            {"leaderElection": {"leaderElect": False}}, "leaderElection", WARNING, "would both schedule", id="no lock"
        ),
        pytest.param({"extenders": []}, "extender", FAILED, "no extender that calls", id="Berth is not asked"),
    ],
)
def test_the_document(changed: dict[str, Any], check: str, result: Result, message: str) -> None:
    found = {key: value for key, value in (document() | changed).items() if value is not None}
    expect(findings(found), check, result, message)


@pytest.mark.parametrize(
    ("entry", "check", "result", "message"),
    [
        pytest.param({"nodeCacheCapable": False}, "nodeCacheCapable", WARNING, "fact 13", id="full mode"),
        pytest.param({"nodeCacheCapable": None}, "nodeCacheCapable", WARNING, "fact 13", id="which is the default"),
        pytest.param({"weight": None}, "weight", FAILED, "does not start (fact 35)", id="no weight"),
        pytest.param({"weight": 3}, "weight", OK, "score x 30", id="a weight"),
        pytest.param({"filterVerb": "filter_onlyone"}, "filter_onlyone", WARNING, "fact 46", id="scores for one node"),
        pytest.param({"ignorable": True}, "bindVerb", FAILED, "fact 24", id="ignorable, and binds"),
        pytest.param({"ignorable": True, "bindVerb": None}, "ignorable", WARNING, "fact 39", id="ignorable"),
        pytest.param({"bindVerb": None}, "bindVerb", OK, "the scheduler binds", id="no bind"),
        # How the scheduler gets there.
        pytest.param({"enableHTTPS": True}, "verification", FAILED, "disables the verification", id="fact 36"),
        pytest.param(
            {"enableHTTPS": True, "tlsConfig": {"certFile": "a", "keyFile": "b"}},
            "verification",
            FAILED,
            "disables the verification",
            id="fact 36 with a client certificate",
        ),
        pytest.param(
            {"enableHTTPS": True, "tlsConfig": {"caFile": "ca"}}, "verification", OK, "tlsConfig's CA", id="with a CA"
        ),
        pytest.param({"tlsConfig": {"insecure": True}}, "verification", FAILED, "can impersonate Berth", id="insecure"),
        pytest.param({"tlsConfig": {"certFile": "a"}}, "tlsConfig", FAILED, "without its key", id="half a pair"),
        pytest.param({"urlPrefix": "http://berth/scheduler"}, "urlPrefix", WARNING, "http", id="plain http"),
        pytest.param({"urlPrefix": "http://127.0.0.1/scheduler"}, "urlPrefix", OK, "loopback only", id="http at home"),
        pytest.param(
            {"urlPrefix": "http://127.0.0.1/scheduler", "enableHTTPS": True},
            "urlPrefix",
            FAILED,
            "nothing is encrypted (fact 36)",
            id="enableHTTPS does not change the scheme",
        ),
        pytest.param(
            {"urlPrefix": "https://u:hidden@berth/scheduler"}, "credentials", WARNING, "fact 37", id="a password"
        ),
        pytest.param(
            {"urlPrefix": "https://u:BERTH_PASSWORD@berth/scheduler"},
            "credentials",
            FAILED,
            "in place of the password",
            id="the placeholder",
        ),
    ],
)
def test_an_entry(entry: dict[str, Any], check: str, result: Result, message: str) -> None:
    found = findings(document(**entry), str(entry.get("urlPrefix", ADDRESS)))
    expect(found, check, result, message)
    assert "hidden" not in str(found)


def test_two_extenders_that_bind() -> None:
    found = document()
    found["extenders"].append({"urlPrefix": "http://other", "bindVerb": "bind"})
    expect(findings(found), "bindVerb", FAILED, "2 extenders bind")


@pytest.mark.parametrize(
    ("extenders_", "address", "ours"),
    [
        pytest.param(["https://berth.example.com/sched"], ADDRESS, 1, id="a wrong path does not hide it"),
        pytest.param(["https://u:p@berth.example.com/scheduler"], ADDRESS, 1, id="nor do credentials"),
        pytest.param(["https://berth.example.com:443/scheduler"], ADDRESS, 1, id="the scheme's own port"),
        pytest.param(["http://berth.example.com/scheduler"], ADDRESS, 0, id="another port is another server"),
        pytest.param(["https://other/x", ADDRESS], "", 1, id="without an address, by its path"),
        pytest.param(["https://only/x"], "", 1, id="or for it is the only one"),
        pytest.param(["https://a/x", "https://b/x"], "", 0, id="or nobody knows"),
    ],
)
def test_which_extender_is_ours(extenders_: list[str], address: str, ours: int) -> None:
    found = document() | {"extenders": [{"urlPrefix": url} for url in extenders_]}
    assert len(side(found, address).berth_extenders) == ours


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        pytest.param({"extenders": [{"urlPrefix": "x", "nodeCacheCapabel": True}]}, "nodeCacheCapabel", id="a typo"),
        pytest.param(
            {"extenders": [{"urlPrefix": "x", "httpTimeout": 5}]}, "httpTimeout", id="a number for a duration"
        ),
        pytest.param({"extenders": [{"urlPrefix": "x", "weight": "1"}]}, "weight", id="a text for a number"),
        pytest.param({"extenders": [{"filterVerb": "filter"}]}, "urlPrefix", id="no address"),
        pytest.param({"apiVersion": "kubescheduler.config.k8s.io/v1beta3"}, "apiVersion", id="an old version"),
    ],
)
def test_what_kube_scheduler_would_refuse_is_told_by_its_field(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(scheduler_document.InvalidSchedulerConfiguration, match=field):
        scheduler_document.parse_scheduler_configuration(document() | changed)


# --------------------------------------------------------------------------------------------------- managed resources
LICENCE, OTHER = ManagedResource("example.com/licence"), ManagedResource("example.com/slot")
COUNTED = [{"name": LICENCE.name, "ignoredByScheduler": True}]


@pytest.mark.parametrize("by_annotation", [True, False])
@pytest.mark.parametrize("counts_only", [True, False])
@pytest.mark.parametrize("resources", [(), (LICENCE, ManagedResource("example.com/gpu", ignored_by_scheduler=False))])
def test_what_scheduler_config_prints_for_managed_resources_is_all_right(
    resources: tuple[ManagedResource, ...], counts_only: bool, by_annotation: bool
) -> None:
    managed = ManagedResources(resources, counts_only=counts_only, by_annotation=by_annotation)
    found = list(managed_resources(side(document(managed)), managed))
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
            id="one that bind misses",
        ),
        pytest.param(
            ManagedResources((LICENCE,), counts_only=True),
            ManagedResources((LICENCE,), counts_only=True, by_annotation=True),
            FAILED,
            "by annotation are not sent to bind",
            id="an annotation opens no entry",
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
            id="taken",
        ),
    ],
)
def test_managed_resources(
    printed_for: ManagedResources, managed: ManagedResources, result: Result, message: str
) -> None:
    expect(managed_resources(side(document(printed_for)), managed), "managedResources", result, message)


def _ignoring(**args: object) -> dict[str, Any]:
    """Profiles that ignore by themselves."""
    return {"profiles": [{"pluginConfig": [{"name": "NodeResourcesFit", "args": args}]}]}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param(_ignoring(ignoredResources=[LICENCE.name]), "", id="by its name"),
        pytest.param(_ignoring(ignoredResourceGroups=["example.com"]), "", id="by its domain"),
        pytest.param(_ignoring(ignoredResources=["example.com/other"]), "not ignored", id="another one"),
        pytest.param(
            {"profiles": [*_ignoring(ignoredResources=[LICENCE.name])["profiles"], {"schedulerName": "b"}]},
            "not ignored",
            id="not by all profiles",
        ),
    ],
)
def test_a_profile_may_ignore_what_is_counted_by_itself(changed: dict[str, Any], message: str) -> None:
    [finding] = managed_resources(side(document() | changed), ManagedResources((LICENCE,)))
    assert message in finding.message
    assert finding.result is (WARNING if message else OK)


def test_what_an_extender_has_ignored_takes_the_place_of_what_profiles_ignore() -> None:
    found = document(ManagedResources((OTHER,))) | _ignoring(ignoredResources=[LICENCE.name])
    expect(
        managed_resources(side(found), ManagedResources((LICENCE, OTHER))),
        "managedResources",
        WARNING,
        "licence is counted",
    )


def test_what_is_counted_has_to_be_bound_by_berth() -> None:
    managed = ManagedResources((LICENCE,), counts_only=True)
    found = document() | {
        "extenders": extenders(ExtenderOptions(url_prefix=ADDRESS, managed=managed, verbs=frozenset()))
    }
    expect(managed_resources(side(found), managed), "managedResources", FAILED, "nothing is counted")
