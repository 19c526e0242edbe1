"""`berth config`: check, nodepool, apply, show, history and rollback."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.table import Marker, MarkerState
from berth_cli.configuration import trial
from berth_cli.configuration.apply import effect_delay
from berth_cli.main import main
from berth_cli.sources import stack as stacks
from berth_cli.sources.stack import DeployedStack
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.nodes import node_with
from tests.builders.tables import create_cache_table, create_ledger_table
from tests.conftest import PROJECT
from tests.fakes.api_server import verified_kubernetes

pytestmark = pytest.mark.usefixtures("pauses")


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["config", *arguments], input=stdin, prog_name="berth")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param("kind: BerthConfiguration", "profile label-priority, plugins NodePriorityLabel", id="the default"),
        pytest.param(
            "profile: mine\ndefinitions: {mine: {plugins: {enabled: [{name: NodeName}, {name: NodeReady}]}}}",
            "profile mine, plugins NodeName, NodeReady",
            id="a custom profile",
        ),
    ],
)
def test_check_prints_profiles_of_a_valid_document(document: str, message: str) -> None:
    done = run("check", "-", stdin=document)
    assert (done.exit_code, done.stdout, done.stderr) == (0, f"standard input is valid: {message}\n", "")


def test_check_prints_line_and_field_of_each_error(tmp_path: Path) -> None:
    path = tmp_path / "berth.yaml"
    path.write_text("kind: Berth\nprofile: fastest\nexempt:\n  daemonsets: true\n")
    done = run("check", str(path))
    assert (done.exit_code, done.stdout) == (1, "")
    profiles = "'label-priority', 'resource-segregation', 'managed-resources', 'full'"
    assert done.stderr.splitlines() == [
        f"{path}:1: kind: Input should be 'BerthConfiguration'; found the string 'Berth'",
        f"{path}:2: profile: Input should be {profiles}; found the string 'fastest'",
        f"{path}:4: exempt.daemonsets: unknown field; did you mean `daemonSets`? "
        "allowed: daemonSets, systemCritical, namespaces",
    ]


def test_check_warns_about_a_label_missing_in_a_live_cluster(tmp_path: Path) -> None:
    text = "profile: managed-resources\nmanagedResources: [{name: example.com/seat, capacity: {value: 1, scope: rack}}]"
    with verified_kubernetes() as kubernetes:
        kubernetes.nodes.append({key: value for key, value in node_with("a").items() if key != "kind"})
        file = kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)
        done = run("check", "-", "--kubeconfig", str(file), stdin=text)
    assert (done.exit_code, done.stderr) == (
        0,
        "standard input:2: warning: managedResources[0]: none of 1 nodes has the label rack: pods that request "
        "example.com/seat stay pending\n",
    )


def test_check_rejects_two_clusters(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    done = run("check", "-", "--cluster", str(file), "--kubeconfig", str(file), stdin="")
    assert (done.exit_code, "not both" in done.stderr) == (2, True)


MANUAL = ("README.md", "docs/tutorial.md", "docs/how-to/policies.md", "docs/concepts/preemption.md")
"""Pages in which each block of YAML is a BerthConfiguration document."""


@pytest.mark.parametrize("page", MANUAL)
def test_check_accepts_every_document_in_the_manual(page: str) -> None:
    examples = [block.split("```")[0] for block in (PROJECT / page).read_text().split("```yaml\n")[1:]]
    assert examples
    for example in examples:
        assert run("check", "-", stdin=example).exit_code == 0, example


def test_nodepool_prints_documents_for_kubectl() -> None:
    text = (
        "profile: managed-resources\nmanagedResources: [{name: example.com/licence, capacity: {nodeLabel: licences}}]"
    )
    done = run("nodepool", "-", "--name", "inference", stdin=text)
    assert (done.exit_code, done.stderr) == (0, "")
    pool, overlay = yaml.safe_load_all(done.stdout)
    assert [(each["kind"], each["metadata"]["name"]) for each in (pool, overlay)] == [
        ("NodePool", "inference"),
        ("NodeOverlay", "inference"),
    ]
    assert "# Replace each value of 1" in done.stdout


def test_nodepool_rejects_an_invalid_document() -> None:
    done = run("nodepool", "-", stdin="profile: fastest")
    assert (done.exit_code, done.stdout) == (1, "")


TABLE = "config-taking-effect"
OTHER_PODS = "profile: full\n"


@pytest.mark.parametrize(
    ("before", "http_timeout", "interval", "seconds"),
    [
        pytest.param(None, "5", 10, 15, id="bind reads the document every 10 s"),
        pytest.param('{"profile":"full"}', "29", 10, 39, id="a call takes the httpTimeout"),
        pytest.param(None, "", 10, 40, id="maximum httpTimeout if it is unknown"),
        pytest.param('{"nodeCache":{"minHeadReadInterval":2.5}}', "5", 10, 15, id="an interval shorter than bind's"),
        pytest.param('{"nodeCache":{"minHeadReadInterval":60}}', "5", 60, 65, id="an interval longer than bind's"),
        pytest.param("no JSON", "5", 60, 65, id="maximum interval if it is unknown"),
    ],
)
def test_waits_for_the_longest_interval_plus_the_longest_call(
    before: str | None, http_timeout: str, interval: float, seconds: float
) -> None:
    longest_interval, longest_call = effect_delay(before, http_timeout)
    assert (longest_interval, longest_interval + longest_call) == (interval, seconds)


@pytest.fixture
def deployed_stack(dynamodb: DynamoDBClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    create_cache_table(dynamodb, TABLE)
    monkeypatch.setattr(stacks, "describe", lambda name, region=None: STACK)
    yield
    dynamodb.delete_table(TableName=TABLE)


STACK = DeployedStack("berth", None, {}, {"CacheTableName": TABLE, "HttpTimeoutSeconds": "5"})


def apply(*options: str) -> Result:
    return CliRunner().invoke(
        main, ["config", "apply", "-", "--stack", "berth", "--skip-trial", *options], input=OTHER_PODS
    )


@pytest.mark.usefixtures("deployed_stack")
def test_waits_until_every_verb_uses_the_document(pauses: list[float]) -> None:
    done = apply()
    assert done.stderr.splitlines()[-1] == (
        "waiting 15 s until every verb uses the document: a verb may read it 10 s late, and a call that has begun "
        "takes up to 5 s; --no-wait leaves this out"
    )
    assert (done.exit_code, done.stdout.splitlines()[-1], sum(pauses)) == (0, "every verb uses it", 15)
    done = apply("--no-wait")
    assert done.stderr.splitlines()[-1].startswith("note: it takes up to 15 s until every verb uses the document")
    assert ("every verb uses it" in done.stdout, sum(pauses)) == (False, 15)


@pytest.mark.usefixtures("deployed_stack")
def test_reports_that_another_document_was_applied(dynamodb: DynamoDBClient, monkeypatch: pytest.MonkeyPatch) -> None:
    another = DynamoDBConfigurationStore(dynamodb, TABLE)
    monkeypatch.setattr(time, "sleep", lambda seconds: another.apply('{"profile":"resource-segregation"}'))
    done = apply()
    assert done.exit_code == 1
    assert "another document was applied meanwhile: see berth config history" in done.stderr
    assert "every verb uses it" not in done.stdout


def test_refused_or_failed_apply_does_not_wait(pauses: list[float]) -> None:
    for document in ("profile: none\n", OTHER_PODS):
        done = CliRunner().invoke(main, ["config", "apply", "-", "--cache-table", "absent"], input=document)
        assert done.exit_code == 1
    assert pauses == []


# `berth config apply`: change the configuration of a running stack.

COUNTS = "managedResources: [{name: example.com/slot}]\n"
COUNTS_NOTHING = "profile: full\n"
OWN_CACHE, OWN_LEDGER = "apply-cache", "apply-ledger"


@pytest.fixture
def counting(dynamodb: DynamoDBClient) -> Iterator[DynamoDBConfigurationStore]:
    """Create a cache table and a ledger that counts; no document is applied yet."""
    create_cache_table(dynamodb, OWN_CACHE)
    create_ledger_table(dynamodb, OWN_LEDGER)
    DynamoDBLedgerTable(dynamodb, OWN_LEDGER).put_marker(Marker(MarkerState.READY, 1, 0.0, "nonce"), None)
    yield DynamoDBConfigurationStore(dynamodb, OWN_CACHE, OWN_LEDGER)
    for name in (OWN_CACHE, OWN_LEDGER):
        dynamodb.delete_table(TableName=name)


def apply_to_both(document: str, *options: str) -> Result:
    tables = ("--cache-table", OWN_CACHE, "--ledger-table", OWN_LEDGER)
    return CliRunner().invoke(main, ["config", "apply", "-", *tables, *options], input=document)


def test_apply_refuses_to_stop_counting_by_accident(counting: DynamoDBConfigurationStore) -> None:
    first = apply_to_both(COUNTS)
    assert first.exit_code == 0
    assert first.stdout.startswith(f"standard input is applied to {OWN_CACHE}: profile label-priority, hash ")
    in_force = counting.read()
    done = apply_to_both(COUNTS_NOTHING)
    assert done.exit_code == 1
    assert "the document counts nothing, but the ledger counts resources" in done.stderr
    assert counting.read() == in_force


def test_counting_stays_stopped_until_a_document_counts_again(counting: DynamoDBConfigurationStore) -> None:
    assert apply_to_both(COUNTS_NOTHING, "--stop-counting").exit_code == 0
    assert counting.counting_is_stopped()
    assert apply_to_both("profile: label-priority\n").exit_code == 0
    assert counting.counting_is_stopped()
    assert apply_to_both(COUNTS).exit_code == 0
    assert not counting.counting_is_stopped()
    assert apply_to_both(COUNTS_NOTHING).exit_code == 1


def test_apply_requests_a_rebuild_if_counting_was_stopped(
    counting: DynamoDBConfigurationStore, dynamodb: DynamoDBClient
) -> None:
    ledger = DynamoDBLedgerTable(dynamodb, OWN_LEDGER)
    apply_to_both(COUNTS)
    before = ledger.marker()
    assert before is not None
    assert before.state is MarkerState.READY
    apply_to_both(COUNTS_NOTHING, "--stop-counting")
    assert ledger.marker() == before
    assert "requested a rebuild" in apply_to_both(COUNTS).stdout
    after = ledger.marker()
    assert after is not None
    assert (after.state, after.epoch) == (MarkerState.REBUILDING, before.epoch)


def test_apply_rejects_stop_counting_for_a_document_that_counts(counting: DynamoDBConfigurationStore) -> None:
    done = apply_to_both(COUNTS, "--stop-counting")
    assert done.exit_code == 1
    assert "standard input counts resources" in done.stderr
    assert counting.read() is None


# `berth config show`, `history` and `rollback`, and the trial before `apply`.

VERSIONS_TABLE = "config-versions"
FULL, SEGREGATION = "profile: full\n", "profile: resource-segregation\n"


@pytest.fixture
def store(dynamodb: DynamoDBClient) -> Iterator[DynamoDBConfigurationStore]:
    create_cache_table(dynamodb, VERSIONS_TABLE)
    yield DynamoDBConfigurationStore(dynamodb, VERSIONS_TABLE)
    dynamodb.delete_table(TableName=VERSIONS_TABLE)


def apply_document(document: str) -> None:
    done = run("apply", "-", "--cache-table", VERSIONS_TABLE, stdin=document)
    assert done.exit_code == 0, done.stderr


@pytest.mark.usefixtures("store")
def test_show_prints_document_in_force_and_earlier_documents() -> None:
    apply_document(FULL)
    apply_document(SEGREGATION)
    assert run("show", "--cache-table", VERSIONS_TABLE).stdout == SEGREGATION
    assert run("show", "--cache-table", VERSIONS_TABLE, "--version", "1").stdout == FULL
    assert json.loads(run("show", "--cache-table", VERSIONS_TABLE, "-o", "json").stdout) == {
        "profile": "resource-segregation"
    }


@pytest.mark.usefixtures("store")
def test_history_lists_versions_newest_first() -> None:
    assert run("history", "--cache-table", VERSIONS_TABLE).stdout.startswith("no configuration was applied")
    apply_document(FULL)
    apply_document(SEGREGATION)
    lines = [line.split() for line in run("history", "--cache-table", VERSIONS_TABLE).stdout.splitlines()]
    assert [(line[0], *line[3:]) for line in lines] == [
        ("VERSION", "PROFILE", "PLUGINS", "NOTE"),
        ("2", "resource-segregation", "-", "in", "force"),
        ("1", "full", "-"),
    ]
    rows = json.loads(run("history", "--cache-table", VERSIONS_TABLE, "-o", "json").stdout)
    assert [(row["version"], row["inForce"]) for row in rows] == [(2, True), (1, False)]


def test_rollback_applies_the_previous_document_as_a_new_version(store: DynamoDBConfigurationStore) -> None:
    apply_document(FULL)
    apply_document(SEGREGATION)
    done = run("rollback", "--cache-table", VERSIONS_TABLE)
    assert done.exit_code == 0
    assert done.stdout.startswith(f"version 1 is applied to {VERSIONS_TABLE}: profile full")
    assert store.read() == '{"profile":"full"}'
    assert [(each.version, each.note) for each in store.history()] == [(3, "rollback to version 1"), (2, ""), (1, "")]
    done = run("rollback", "--cache-table", VERSIONS_TABLE, "--to", "2")
    assert done.stdout.startswith(f"version 2 is applied to {VERSIONS_TABLE}: profile resource-segregation")
    assert store.read() == '{"profile":"resource-segregation"}'


class Functions:
    """The functions of a stack, which answer a trial with these reports. The stack's parameter Profile is `full`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **reports: Mapping[str, object]) -> None:
        stack = DeployedStack("berth", None, {"Profile": "full"}, {"CacheTableName": VERSIONS_TABLE})
        monkeypatch.setattr(stacks, "describe", lambda name, region=None: stack)
        answers = {verb: {"body": json.dumps({"berthVersion": "x", **report})} for verb, report in reports.items()}
        functions: Any = {verb: lambda event, answer=answer: answer for verb, answer in answers.items()}
        monkeypatch.setattr(trial, "deployed_functions", lambda stack: functions)


JUDGED = {"error": "", "judged": 2, "pending": 1, "nodes": 3, "changes": []}


@pytest.mark.parametrize(
    "arguments", [pytest.param([], id="the only version before"), pytest.param(["--to", "0"], id="by its number")]
)
def test_rollback_of_the_first_document_applies_the_deployed_configuration(
    store: DynamoDBConfigurationStore, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    Functions(monkeypatch, filter=JUDGED)
    apply_document(SEGREGATION)
    done = run("rollback", "--stack", "berth", *arguments)
    assert (done.exit_code, store.read()) == (0, '{"profile":"full"}')
    assert f"version 0 is applied to {VERSIONS_TABLE}: profile full" in done.stdout
    assert store.history()[0].note == "rollback to version 0"


@pytest.mark.usefixtures("store")
def test_history_and_show_include_the_deployed_configuration_of_a_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    Functions(monkeypatch, filter=JUDGED)
    rows = json.loads(run("history", "--stack", "berth", "-o", "json").stdout)
    assert [(row["version"], row["appliedAt"], row["profile"], row["inForce"]) for row in rows] == [
        (0, "deployed", "full", True)
    ]
    assert run("show", "--version", "0", "--stack", "berth").stdout == FULL
    apply_document(SEGREGATION)
    rows = json.loads(run("history", "--stack", "berth", "-o", "json").stdout)
    assert [(row["version"], row["inForce"]) for row in rows] == [(1, True), (0, False)]


def test_apply_refuses_unloadable_document(store: DynamoDBConfigurationStore, monkeypatch: pytest.MonkeyPatch) -> None:
    Functions(monkeypatch, filter=JUDGED, bind={"error": "no module berth_plugins.team"})
    done = run("apply", "-", "--stack", "berth", stdin=FULL)
    assert done.exit_code == 1
    assert "standard input is not applied: bind: no module berth_plugins.team" in done.stderr
    assert store.read() is None
    assert store.history() == ()
    assert run("apply", "-", "--stack", "berth", "--skip-trial", stdin=FULL).exit_code == 0
    assert store.read() == '{"profile":"full"}'


def test_dry_run_does_not_apply_document(store: DynamoDBConfigurationStore, monkeypatch: pytest.MonkeyPatch) -> None:
    Functions(monkeypatch, filter=JUDGED)
    done = run("apply", "-", "--stack", "berth", "--dry-run", stdin=FULL)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[1:] == [
        "2 recent pods (1 pending) on 3 nodes: none would be evaluated differently",
        "standard input is not applied: --dry-run",
    ]
    assert store.read() is None
    assert run("apply", "-", "--cache-table", VERSIONS_TABLE, "--dry-run", stdin=FULL).exit_code == 2
