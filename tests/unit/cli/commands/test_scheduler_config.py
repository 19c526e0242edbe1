"""`berth scheduler-config`: options, notes and printed documents."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from berth_cli.installation.doctor.cluster_access import ClusterAccess
from berth_cli.main import main
from berth_cli.sources import stack as stacks
from berth_cli.sources.stack import BasicCredentials, DeployedStack
from tests.builders.certificates import self_signed
from tests.builders.kubeconfigs import kubeconfig_for
from tests.conftest import PROJECT
from tests.fakes.doctor import FakeAccess

URL = "https://berth.example.com/scheduler"
IMAGE = "registry.k8s.io/kube-scheduler:v1.36.3"
SECOND = ("--second-scheduler", "mine", "--image", IMAGE)
CHART = ("--url", URL, *SECOND, "-o", "chart")
EXAMPLES = PROJECT / "examples" / "scheduler"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["scheduler-config", *arguments], prog_name="berth")


def printed(*arguments: str) -> dict[str, Any]:
    """Return the printed objects by kind and name, or the only printed document."""
    done = run(*arguments)
    assert done.exit_code == 0, done.stderr
    documents = list(yaml.safe_load_all(done.stdout))
    if len(documents) == 1:
        return dict(documents[0])
    return {f"{each['kind']}/{each['metadata']['name']}": each for each in documents}


def second(*arguments: str) -> dict[str, Any]:
    return printed("--url", URL, *SECOND, *arguments)


def inside(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configuration in a ConfigMap or a Secret."""
    return dict(yaml.safe_load((manifest.get("data") or manifest["stringData"])["config.yaml"]))


def container(documents: Mapping[str, Any]) -> dict[str, Any]:
    return dict(documents["Deployment/mine"]["spec"]["template"]["spec"]["containers"][0])


@pytest.mark.parametrize(
    ("file", "arguments"),
    [
        pytest.param("configuration.yaml", ["--url", "http://127.0.0.1:8080/scheduler"], id="configuration.yaml"),
        pytest.param(
            "second-scheduler.yaml",
            [
                *("--url", URL, "--second-scheduler", "berth-scheduler", "--tls-secret", "berth-scheduler-client"),
                *("--image", IMAGE),
            ],
            id="second-scheduler.yaml",
        ),
    ],
)
def test_example_files_equal_the_output_of_the_command(file: str, arguments: list[str]) -> None:
    again = f"berth scheduler-config {' '.join(arguments)} > examples/scheduler/{file}"
    assert (EXAMPLES / file).read_text() == run(*arguments).stdout, again


def test_adds_the_scheduler_names_of_profiles(tmp_path: Path) -> None:
    path = tmp_path / "berth.yaml"
    path.write_text("profiles: {gpus: resource-segregation, default-scheduler: label-priority}")
    own = printed("--url", URL, "--config", str(path))
    beside = inside(second("--config", str(path))["ConfigMap/mine"])
    assert [each["schedulerName"] for each in own["profiles"]] == ["default-scheduler", "gpus"]
    # Two schedulers with the same name would both schedule the pods with this name.
    assert [each["schedulerName"] for each in beside["profiles"]] == ["mine", "gpus"]


@pytest.fixture
def gangs(tmp_path: Path) -> Path:
    file = tmp_path / "berth.yaml"
    file.write_text("apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\ngangs: {enabled: true}\n")
    return file


def test_gangs_disable_early_retries_and_print_how_long_a_member_waits(gangs: Path) -> None:
    done = run("--url", URL, "--config", str(gangs))
    assert "--feature-gates=SchedulerPopFromBackoffQ=false" in done.stderr
    assert "gangs: a member waits 2.5 s in bind for the others" in done.stderr
    flags = ["-v=2", "--feature-gates=SchedulerPopFromBackoffQ=false"]
    assert container(second("--config", str(gangs)))["args"] == ["--config=/etc/berth/config.yaml", *flags]


@pytest.mark.parametrize("arguments", [(), SECOND])
def test_gangs_reduce_the_maximum_backoff(gangs: Path, arguments: tuple[str, ...]) -> None:
    """A gang that fits again is tried within 5 s; with kube-scheduler's default of 10 s, within 11 s."""
    assert "podMaxBackoffSeconds: 3" in run("--url", URL, "--config", str(gangs), *arguments).stdout
    assert "podMaxBackoffSeconds" not in run("--url", URL, *arguments).stdout


def test_gangs_require_filter_and_bind(gangs: Path) -> None:
    done = run("--url", URL, "--config", str(gangs), "--verbs", "filter,prioritize")
    assert (done.exit_code, "gangs: they need the verbs filter and bind" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((), True, id="missing outside a pod"),
        pytest.param(("--scheduler-kubeconfig", "scheduler.conf"), False, id="named explicitly"),
        pytest.param(SECOND, False, id="inside a pod"),
    ],
)
def test_prints_a_note_if_the_kubeconfig_is_missing(arguments: tuple[str, ...], message: bool) -> None:
    assert ("give --scheduler-kubeconfig\n" in run("--url", URL, *arguments).stderr) is message


def test_client_key_is_only_in_the_secret(tmp_path: Path) -> None:
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
    assert "PRIVATE" not in json.dumps(documents)


@pytest.mark.parametrize(
    ("version", "image"),
    [
        pytest.param("v1.35.4-eks-3025e55", "registry.k8s.io/kube-scheduler:v1.35.4", id="managed cluster"),
        pytest.param("v1.36.3", IMAGE, id="own cluster"),
        pytest.param("", None, id="unknown"),
    ],
)
def test_second_scheduler_has_the_version_of_the_cluster(
    version: str, image: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClusterAccess, "of", lambda server, timeout: FakeAccess(kubernetes=version))
    file = kubeconfig_for("https://192.0.2.1", tmp_path)
    done = run("--url", URL, "--second-scheduler", "mine", "--kubeconfig", str(file))
    if image is None:
        assert (done.exit_code, "give --image" in done.stderr) == (1, True)
    else:
        assert f"image: {image}\n" in done.stdout


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> DeployedStack:
    found = DeployedStack("berth", None, {"HttpTimeoutSeconds": "8", "Profile": "full"}, {"UrlPrefix": URL})
    monkeypatch.setattr(stacks, "describe", lambda name, region: found)
    monkeypatch.setattr(stacks, "configuration_in_force", lambda stack: _configuration("gpus"))
    return found


def _configuration(scheduler: str) -> Any:
    from berth.scheduling.configuration.document import BerthConfiguration

    return BerthConfiguration(profiles={scheduler: "full"})


@pytest.mark.parametrize(
    ("parameters", "arguments", "memory"),
    [
        pytest.param({}, (), "1Gi", id="unknown"),
        pytest.param({"ClusterSize": "small"}, (), "512Mi", id="of the stack"),
        pytest.param({"ClusterSize": "small"}, ("--cluster-size", "large"), "2Gi", id="option"),
    ],
)
def test_second_scheduler_requests_memory_for_the_size_of_the_cluster(
    parameters: dict[str, str],
    arguments: tuple[str, ...],
    memory: str,
    stack: DeployedStack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = replace(stack, parameters=parameters)
    monkeypatch.setattr(stacks, "describe", lambda name, region: found)
    assert container(of_stack(*arguments))["resources"]["requests"]["memory"] == memory
    values = yaml.safe_load(run("--stack", "berth", *SECOND, "-o", "chart", *arguments).stdout)
    assert values["scheduler"]["memory"] == memory


@pytest.mark.usefixtures("stack")
def test_uses_address_timeout_and_configuration_of_the_stack() -> None:
    document = printed("--stack", "berth")
    assert (document["extenders"][0]["urlPrefix"], document["extenders"][0]["httpTimeout"]) == (URL, "8s")
    assert document["profiles"][1] == {"schedulerName": "gpus"}


@pytest.fixture
def password(stack: DeployedStack, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    found = {"password": "p w"}
    monkeypatch.setattr(stacks, "basic_credentials", lambda _: BasicCredentials("me", found["password"]))
    return found


def of_stack(*arguments: str) -> dict[str, Any]:
    return printed("--stack", "berth", *SECOND, *arguments)


@pytest.mark.usefixtures("password")
def test_configuration_with_a_password_is_a_secret() -> None:
    documents = of_stack("--with-password")
    assert inside(documents["Secret/mine"])["extenders"][0]["urlPrefix"] == (
        "https://me:p%20w@berth.example.com/scheduler"
    )
    assert "ConfigMap/mine" not in documents
    # -v=2 prints the password (fact 37).
    assert container(documents)["args"] == ["--config=/etc/berth/config.yaml", "-v=1"]
    [config, _] = documents["Deployment/mine"]["spec"]["template"]["spec"]["volumes"]
    assert {"secret": {"name": "mine", "optional": True}} in config["projected"]["sources"]


def test_configuration_hash_changes_with_content_but_excludes_the_password(password: dict[str, str]) -> None:
    def shown(*arguments: str) -> str:
        template = of_stack(*arguments)["Deployment/mine"]["spec"]["template"]
        return str(template["metadata"]["annotations"]["berth.dev/configuration"])

    assert shown() != shown("--weight", "2")
    first = shown("--with-password")
    password["password"] = "another"
    assert shown("--with-password") == first
    assert shown("--with-password", "--weight", "2") != first


@pytest.mark.parametrize(
    ("asked", "arguments", "message"),
    [
        pytest.param("basic", (), "requires Basic credentials", id="a password is missing"),
        pytest.param("basic", ("--with-password",), "", id="a password"),
        pytest.param("mtls", (), "requires a client certificate", id="a certificate is missing"),
        pytest.param("mtls", ("--tls-client-cert", "a", "--tls-client-key", "b"), "", id="a certificate"),
    ],
)
def test_prints_a_note_if_credentials_are_missing(
    asked: str, arguments: tuple[str, ...], message: str, password: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = DeployedStack("berth", None, {"Authentication": asked}, {"UrlPrefix": URL})
    monkeypatch.setattr(stacks, "describe", lambda name, region: found)
    said = run("--stack", "berth", *arguments).stderr
    assert ("the stack requires" in said) is bool(message)
    assert message in said


@pytest.mark.parametrize(
    ("named", "arguments", "refused"),
    [
        pytest.param("berth-scheduler,gpus", (), "default-scheduler", id="the cluster's own scheduler"),
        pytest.param("berth-scheduler", (), "default-scheduler, gpus", id="and one of the configuration's profiles"),
        pytest.param("gpus,default-scheduler", (), "", id="both are named"),
        pytest.param("berth-scheduler,gpus", SECOND, "mine", id="another name"),
        pytest.param(
            "berth-scheduler,gpus", ("--second-scheduler", "berth-scheduler", "--image", IMAGE), "", id="the default"
        ),
        pytest.param("berth-scheduler", ("--verbs", "filter"), "", id="it does not call bind"),
    ],
)
def test_prints_a_note_if_bind_refuses_the_schedulers_pods(
    named: str, arguments: tuple[str, ...], refused: str, password: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = DeployedStack("berth", None, {"Authentication": "basic", "SchedulerNames": named}, {"UrlPrefix": URL})
    monkeypatch.setattr(stacks, "describe", lambda name, region: found)
    said = run("--stack", "berth", *arguments).stderr
    assert ("bind refuses the pods of" in said) is bool(refused)
    assert f"bind refuses the pods of {refused}; name every scheduler" in said or not refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((), "give --stack NAME or --url URL", id="no address"),
        pytest.param(("--url", "berth"), "is not an address", id="no URL"),
        pytest.param(
            ("--url", URL, "--verbs", "filter,sort"), "allowed: filter, prioritize, bind, preempt", id="unknown verb"
        ),
        pytest.param(("--url", URL, "--with-password"), "needs --stack NAME", id="password without a stack"),
        pytest.param(("--url", URL, "-o", "chart"), "needs --second-scheduler", id="values without a scheduler"),
        pytest.param(
            (*CHART, "--tls-client-cert", "a", "--tls-client-key", "b"), "as --tls-secret", id="a key in values"
        ),
        pytest.param((*CHART, "--stack", "berth", "--with-password"), "takes no password", id="a password in values"),
        pytest.param(("--url", URL, "--http-timeout", "5"), "not a duration", id="invalid duration"),
        pytest.param(("--url", URL, "--http-timeout", "0s"), "not a duration", id="zero duration"),
        pytest.param(("--url", URL, "--second-scheduler", "Mine"), "not a valid name", id="invalid name"),
        pytest.param(("--url", URL, "--second-scheduler", "default-scheduler"), "own scheduler", id="reserved name"),
        pytest.param(("--url", URL, "--second-scheduler", "mine"), "of the cluster's version", id="unknown version"),
        pytest.param(("--url", URL, "--tls-client-cert", "a"), "go together", id="certificate without key"),
        pytest.param(("--url", URL, "--tls-secret", "a"), "needs --second-scheduler", id="Secret instead of a file"),
    ],
)
def test_rejects_wrong_options_and_states_the_cause(arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in " ".join(done.stderr.split())


def test_rejects_key_of_another_certificate(tmp_path: Path) -> None:
    certificate, _ = self_signed(tmp_path, "one")
    _, key = self_signed(tmp_path, "two")
    done = run("--url", URL, *SECOND, "--tls-client-cert", str(certificate), "--tls-client-key", str(key))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "the client certificate and its unencrypted key" in done.stderr
