"""`berth scheduler-config`: options, notes and printed documents."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from berth_cli.deployed_stack import DeployedStack
from berth_cli.main import main
from berth_cli.scheduler_config import basic_credentials, inputs
from tests.builders.certificates import self_signed
from tests.conftest import PROJECT

URL = "https://berth.example.com/scheduler"
EXAMPLES = PROJECT / "examples" / "scheduler"


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["scheduler-config", *arguments], input=stdin, prog_name="berth")


def printed(*arguments: str, stdin: str | None = None) -> dict[str, Any]:
    """The objects by kind and name, or the configuration alone."""
    done = run(*arguments, stdin=stdin)
    assert done.exit_code == 0, done.stderr
    documents = list(yaml.safe_load_all(done.stdout))
    if len(documents) == 1:
        return dict(documents[0])
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in documents}


def second(*arguments: str, stdin: str | None = None) -> dict[str, Any]:
    return printed("--url", URL, "--second-scheduler", "mine", *arguments, stdin=stdin)


def inside(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration in a ConfigMap or a Secret."""
    return dict(yaml.safe_load((manifest.get("data") or manifest["stringData"])["config.yaml"]))


def container(documents: Mapping[str, Any]) -> dict[str, Any]:
    return dict(documents["Deployment/mine"]["spec"]["template"]["spec"]["containers"][0])


# --------------------------------------------------------------------------------------------------------- the examples
@pytest.mark.parametrize(
    ("file", "arguments"),
    [
        pytest.param("configuration.yaml", ["--url", "http://127.0.0.1:8080/scheduler"], id="configuration.yaml"),
        pytest.param(
            "second-scheduler.yaml",
            ["--url", URL, "--second-scheduler", "berth-scheduler", "--tls-secret", "berth-scheduler-client"],
            id="second-scheduler.yaml",
        ),
    ],
)
def test_example_files_match_output(file: str, arguments: list[str]) -> None:
    again = f"berth scheduler-config {' '.join(arguments)} > examples/scheduler/{file}"
    assert (EXAMPLES / file).read_text() == run(*arguments).stdout, again


# ---------------------------------------------------------------------------------------------- the cluster's scheduler
def test_default_scheduler_keeps_name_and_lock() -> None:
    document = printed("--url", URL)
    assert document["profiles"] == [{"schedulerName": "default-scheduler"}]
    assert document["percentageOfNodesToScore"] == 100
    assert "leaderElection" not in document
    assert "clientConnection" not in document


def test_sets_kubeconfig_of_scheduler() -> None:
    document = printed("--url", URL, "--scheduler-kubeconfig", "/etc/kubernetes/scheduler.conf")
    assert document["clientConnection"] == {"kubeconfig": "/etc/kubernetes/scheduler.conf"}


def test_adds_scheduler_names_of_profiles(tmp_path: Path) -> None:
    path = tmp_path / "berth.yaml"
    path.write_text("profiles: {gpus: resource-segregation, default-scheduler: label-priority}")
    own = printed("--url", URL, "--config", str(path))
    beside = inside(second("--config", str(path))["ConfigMap/mine"])
    assert [each["schedulerName"] for each in own["profiles"]] == ["default-scheduler", "gpus"]
    # Two schedulers of one name would both take its pods.
    assert [each["schedulerName"] for each in beside["profiles"]] == ["mine", "gpus"]


def test_tls_paths_need_not_exist_locally() -> None:
    document = printed(
        "--url", URL, "--tls-client-cert", "/there/a", "--tls-client-key", "/there/b", "--ca", "/there/c"
    )
    assert document["extenders"][0]["tlsConfig"] == {
        "certFile": "/there/a",
        "keyFile": "/there/b",
        "caFile": "/there/c",
    }


def test_tls_data_embeds_files(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path, "client")
    arguments = ("--tls-client-cert", str(certificate), "--tls-client-key", str(key), "--ca", str(certificate))
    found = printed("--url", URL, "--tls-data", *arguments)["extenders"][0]["tlsConfig"]
    assert {name: b64decode(text) for name, text in found.items()} == {
        "certData": certificate.read_bytes(),
        "keyData": key.read_bytes(),
        "caData": certificate.read_bytes(),
    }


@pytest.mark.parametrize(
    ("arguments", "scheduler_flags"),
    [
        pytest.param((), "-v=2", id="as is"),
        pytest.param(("--user", "me"), "-v=1", id="-v=2 prints the password (fact 37)"),
        pytest.param(
            ("--bounded-retries",), "-v=2 --feature-gates=SchedulerPopFromBackoffQ=false", id="fact 44"
        ),
    ],
)  # fmt: skip
def test_prints_flags_or_adds_them_to_deployment(arguments: tuple[str, ...], scheduler_flags: str) -> None:
    assert f"run kube-scheduler with --config=FILE {scheduler_flags}\n" in run("--url", URL, *arguments).stderr
    assert container(second(*arguments))["args"] == ["--config=/etc/berth/config.yaml", *scheduler_flags.split()]


@pytest.fixture
def gangs(tmp_path: Path) -> Path:
    """A configuration with gangs."""
    file = tmp_path / "berth.yaml"
    file.write_text("apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\ngangs: {enabled: true}\n")
    return file


def test_gangs_bound_the_retries_and_note_how_long_a_member_waits(gangs: Path) -> None:
    done = run("--url", URL, "--config", str(gangs))
    assert "--feature-gates=SchedulerPopFromBackoffQ=false" in done.stderr
    assert "gangs: a member waits 2.5 s in bind for the others" in done.stderr


@pytest.mark.parametrize("arguments", [(), ("--second-scheduler", "mine")])
def test_gangs_shorten_the_longest_back_off(gangs: Path, arguments: tuple[str, ...]) -> None:
    """A gang that fits again is tried within 5 s; with kube-scheduler's own 10 s it takes up to 11."""
    assert "podMaxBackoffSeconds: 3" in run("--url", URL, "--config", str(gangs), *arguments).stdout
    assert "podMaxBackoffSeconds" not in run("--url", URL, *arguments).stdout


def test_gangs_need_filter_and_bind(gangs: Path) -> None:
    done = run("--url", URL, "--config", str(gangs), "--verbs", "filter,prioritize")
    assert (done.exit_code, "gangs: they need the verbs filter and bind" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((), True, id="kube-scheduler with --config looks for none, and ends outside of a pod"),
        pytest.param(("--scheduler-kubeconfig", "scheduler.conf"), False, id="it is named"),
        pytest.param(("--second-scheduler", "mine"), False, id="in a pod"),
    ],
)
def test_notes_missing_kubeconfig(arguments: tuple[str, ...], message: bool) -> None:
    assert ("give --scheduler-kubeconfig\n" in run("--url", URL, *arguments).stderr) is message


@pytest.mark.parametrize(
    ("url", "arguments", "message"),
    [
        pytest.param("http://127.0.0.1:8080/scheduler", ("--second-scheduler", "mine"), True, id="a pod has its own"),
        pytest.param("http://127.0.0.1:8080/scheduler", (), False, id="the same machine"),
        pytest.param(URL, ("--second-scheduler", "mine"), False, id="an address for all"),
    ],
)
def test_notes_loopback_address_of_second_scheduler(url: str, arguments: tuple[str, ...], message: bool) -> None:
    assert ("the address is loopback" in run("--url", url, *arguments).stderr) is message


# ------------------------------------------------------------------------------------------------- the second scheduler
def test_second_scheduler_has_all_manifests() -> None:
    documents = second("--namespace", "scheduling", "--image", "mirror/kube-scheduler:v1.35.4")
    assert list(documents) == [
        "ServiceAccount/mine",
        "ClusterRoleBinding/mine-as-kube-scheduler",
        "ClusterRoleBinding/mine-as-volume-scheduler",
        "RoleBinding/mine-as-kube-scheduler",
        "Role/mine-leader-election",
        "RoleBinding/mine-leader-election",
        "ConfigMap/mine",
        "Deployment/mine",
    ]
    assert inside(documents["ConfigMap/mine"])["leaderElection"] == {
        "leaderElect": True,
        "resourceName": "mine",
        "resourceNamespace": "scheduling",
    }
    assert documents["Role/mine-leader-election"]["metadata"]["namespace"] == "scheduling"
    assert documents["Role/mine-leader-election"]["rules"][1]["resourceNames"] == ["mine"]
    # That role stands in kube-system, wherever the scheduler does.
    assert documents["RoleBinding/mine-as-kube-scheduler"]["metadata"]["namespace"] == "kube-system"
    assert documents["RoleBinding/mine-as-kube-scheduler"]["subjects"][0]["namespace"] == "scheduling"
    assert container(documents)["image"] == "mirror/kube-scheduler:v1.35.4"


def test_client_key_is_in_secret_only(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path, "client")
    documents = second("--tls-client-cert", str(certificate), "--tls-client-key", str(key), "--ca", str(certificate))
    secret = documents.pop("Secret/mine-tls")
    assert secret["type"] == "kubernetes.io/tls"
    assert b64decode(secret["data"]["tls.key"]) == key.read_bytes()
    assert b64decode(secret["data"]["tls.crt"]) == certificate.read_bytes()
    assert documents["ConfigMap/mine"]["data"]["ca.crt"] == certificate.read_text()
    assert inside(documents["ConfigMap/mine"])["extenders"][0]["tlsConfig"] == {
        "certFile": "/etc/berth-tls/tls.crt",
        "keyFile": "/etc/berth-tls/tls.key",
        "caFile": "/etc/berth/ca.crt",
    }
    assert {each["mountPath"] for each in container(documents)["volumeMounts"]} == {"/etc/berth", "/etc/berth-tls"}
    assert "PRIVATE" not in json.dumps(documents)


def test_existing_secret_is_referenced() -> None:
    documents = second("--tls-secret", "theirs")
    volumes = documents["Deployment/mine"]["spec"]["template"]["spec"]["volumes"]
    assert volumes[1] == {"name": "tls", "secret": {"secretName": "theirs"}}
    assert not [name for name in documents if name.startswith("Secret/")]


def test_configuration_with_password_is_secret() -> None:
    documents = second("--user", "me", "--password-from", "-", stdin="p w\n")
    assert inside(documents["Secret/mine"])["extenders"][0]["urlPrefix"] == (
        "https://me:p%20w@berth.example.com/scheduler"
    )
    assert "ConfigMap/mine" not in documents
    volumes = documents["Deployment/mine"]["spec"]["template"]["spec"]["volumes"]
    assert volumes[0] == {"name": "config", "secret": {"secretName": "mine"}}


def test_configuration_hash_changes_and_omits_password() -> None:
    def shown(*arguments: str, stdin: str | None = None) -> str:
        template = second(*arguments, stdin=stdin)["Deployment/mine"]["spec"]["template"]
        return str(template["metadata"]["annotations"]["berth.dev/configuration"])

    basic = ("--user", "me", "--password-from", "-")
    assert shown() != shown("--weight", "2")
    assert shown(*basic, stdin="a") == shown(*basic, stdin="b")
    assert shown(*basic, stdin="a") != shown(*basic, "--weight", "2", stdin="a")


def test_json_output_is_list() -> None:
    found = json.loads(run("--url", URL, "--second-scheduler", "mine", "-o", "json").stdout)
    assert (found["apiVersion"], found["kind"]) == ("v1", "List")
    assert {f"{each['kind']}/{each['metadata']['name']}": each for each in found["items"]} == second()
    assert json.loads(run("--url", URL, "-o", "json").stdout) == printed("--url", URL)


# ------------------------------------------------------------------------------------------------------------ passwords
def test_prints_placeholder_without_password() -> None:
    done = run("--url", URL, "--user", "me")
    assert "https://me:BERTH_PASSWORD@" in done.stdout
    assert "replace BERTH_PASSWORD with the percent-encoded password" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--password-from", "FILE"), "also give --user NAME", id="a file has no name"),
        pytest.param(("--user", "me", "--password-from", "absent"), "absent: No such file", id="no file"),
        pytest.param(
            ("--user", "me", "--password-from", "FILE"), "is not a single line with a password", id="two lines"
        ),
        pytest.param(("--user", "me", "--password-from", "stack"), "needs --stack NAME", id="no stack"),
    ],
)
def test_reports_unreadable_password(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    path = tmp_path / "password"
    path.write_text("hidden\nlines\n")
    done = run("--url", URL, *(str(path) if each == "FILE" else each for each in arguments))
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr
    assert "hidden" not in done.stderr


# ------------------------------------------------------------------------------------------------------------ the stack
@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> DeployedStack:
    """What `--stack NAME` finds."""
    found = DeployedStack("berth", None, {"HttpTimeoutSeconds": "8", "Profile": "full"}, {"UrlPrefix": URL})
    monkeypatch.setattr("berth_cli.deployed_stack.describe", lambda name, region: found)
    monkeypatch.setattr(inputs, "configuration_in_force", lambda stack: _configuration("gpus"))
    return found


def _configuration(scheduler: str) -> Any:
    from berth.scheduling.configuration.document import BerthConfiguration

    return BerthConfiguration(profiles={scheduler: "full"})


@pytest.mark.usefixtures("stack")
def test_uses_address_timeout_and_configuration_of_stack() -> None:
    document = printed("--stack", "berth")
    assert (document["extenders"][0]["urlPrefix"], document["extenders"][0]["httpTimeout"]) == (URL, "8s")
    assert document["profiles"][1] == {"schedulerName": "gpus"}


@pytest.mark.usefixtures("stack")
def test_options_override_stack() -> None:
    document = printed("--stack", "berth", "--url", "https://own.example.com/scheduler", "--http-timeout", "3s")
    assert document["extenders"][0]["urlPrefix"] == "https://own.example.com/scheduler"
    assert document["extenders"][0]["httpTimeout"] == "3s"


@pytest.mark.usefixtures("stack")
def test_reads_password_from_stack_secret(monkeypatch: pytest.MonkeyPatch, stack: DeployedStack) -> None:
    stack.__dict__["resources"] = {"AWS::SecretsManager::Secret": {"Password": "arn:1"}}
    secrets = {"arn:1": '{"username": "scheduler", "password": "p"}'}
    monkeypatch.setattr(basic_credentials, "read_secret", lambda name, region: secrets[name])
    document = printed("--stack", "berth", "--password-from", "stack")
    assert document["extenders"][0]["urlPrefix"] == "https://scheduler:p@berth.example.com/scheduler"


@pytest.mark.parametrize(
    ("asked", "arguments", "message"),
    [
        pytest.param("basic", (), "requires Basic credentials", id="a password is missing"),
        pytest.param("basic", ("--user", "me"), "", id="a password that is put in later"),
        pytest.param("mtls", (), "requires a client certificate", id="a certificate is missing"),
        pytest.param("mtls", ("--tls-client-cert", "a", "--tls-client-key", "b"), "", id="a certificate"),
    ],
)
def test_notes_missing_credentials(
    asked: str, arguments: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = DeployedStack("berth", None, {"Authentication": asked}, {"UrlPrefix": URL})
    monkeypatch.setattr("berth_cli.deployed_stack.describe", lambda name, region: found)
    monkeypatch.setattr(inputs, "configuration_in_force", lambda stack: _configuration("gpus"))
    said = run("--stack", "berth", *arguments).stderr
    assert ("the stack requires" in said) is bool(message)
    assert message in said


# -------------------------------------------------------------------------------------------------------- wrong options
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((), "give --stack NAME or --url URL", id="no address"),
        pytest.param(("--url", "berth"), "is not an address", id="no URL"),
        pytest.param(("--url", URL, "--verbs", "filter,sort"), "allowed: filter, prioritize, bind, preempt", id="verb"),
        pytest.param(("--url", URL, "--ignorable"), "fact 24", id="never ignorable with bind"),
        pytest.param(("--url", URL, "--http-timeout", "5"), "not a duration", id="no duration"),
        pytest.param(("--url", URL, "--http-timeout", "0s"), "not a duration", id="no time at all"),
        pytest.param(("--url", URL, "--second-scheduler", "Mine"), "not a valid name", id="no name"),
        pytest.param(("--url", URL, "--second-scheduler", "default-scheduler"), "own scheduler", id="a taken name"),
        pytest.param(("--url", URL, "--tls-client-cert", "a"), "go together", id="half a pair"),
        pytest.param(("--url", URL, "--tls-secret", "a"), "needs --second-scheduler", id="a Secret for a file"),
    ],
)
def test_rejects_wrong_options(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())


def test_rejects_key_of_other_certificate(tmp_path: Path) -> None:
    certificate, _ = self_signed(tmp_path, "one")
    _, key = self_signed(tmp_path, "two")
    done = run(
        "--url", URL, "--second-scheduler", "mine", "--tls-client-cert", str(certificate), "--tls-client-key", str(key)
    )
    assert (done.exit_code, done.stdout) == (1, "")
    assert "are not a certificate and its unencrypted key" in done.stderr
