"""`berth config check` and `berth config schema`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth_cli.configuration.apply import effect_delay
from berth_cli.main import main
from berth_cli.sources import stack as stacks
from berth_cli.sources.stack import DeployedStack
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.nodes import node_with
from tests.builders.tables import create_cache_table
from tests.conftest import PROJECT
from tests.fakes.api_server import verified_kubernetes


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


def test_check_gives_the_same_warnings_for_a_live_cluster_and_its_dump(tmp_path: Path) -> None:
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


def test_dry_run_and_refusal_do_not_wait(pauses: list[float]) -> None:
    for document in ("profile: none\n", OTHER_PODS):
        done = CliRunner().invoke(main, ["config", "apply", "-", "--cache-table", "absent"], input=document)
        assert done.exit_code == 1
    assert pauses == []
