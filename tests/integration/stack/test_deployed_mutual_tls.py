"""The stack deployed with `Authentication=mtls` into the emulator, which has no gateway that asks for certificates. The
domain and its trust store are checked on the template, the handshake on `berth serve`.

The tests run in order on one stack.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from berth.authentication.allow_list import AllowList
from berth.authentication.authorizer import RECHECK_SECONDS
from berth.authentication.stores import ParameterStoreAllowList
from tests.builders.authorizer_events import certificate_event
from tests.deployment import sam
from tests.deployment.emulator import Emulator
from tests.e2e.berth.endpoint import Endpoint

pytestmark = pytest.mark.build

COMPLETE = {
    "Authentication": "mtls",
    "DomainName": "berth.example.com",
    "DomainCertificateArn": "arn:aws:acm:eu-central-1:000000000000:certificate/01234567-89ab-cdef-0123-456789abcdef",
    "TruststoreUri": "s3://truststores/truststore.pem",
    "TruststoreVersion": "1",
}


class Stack:
    """The project, built once, and deployed with different parameters."""

    def __init__(self, directory: Path, emulator: Emulator) -> None:
        self._emulator = emulator
        self._machine = sam.Machine.this()
        self._template = sam.build(directory / "build", self._machine)
        self._cluster = emulator.create_kubeconfigs({}, {})

    def deploy(self, parameters: dict[str, str]) -> None:
        common = {**self._cluster, **self._machine.parameters}
        sam.deploy(self._template, common | parameters, self._emulator.environment())

    def client(self, service: str) -> Any:
        return self._emulator.client(service)

    def exists(self) -> bool:
        summaries = self.client("cloudformation").list_stacks()["StackSummaries"]
        return any(
            each["StackName"] == sam.STACK_NAME and each["StackStatus"] == "CREATE_COMPLETE" for each in summaries
        )

    def outputs(self) -> dict[str, str]:
        [found] = self.client("cloudformation").describe_stacks(StackName=sam.STACK_NAME)["Stacks"]
        return {output["OutputKey"]: output["OutputValue"] for output in found["Outputs"]}

    def function_names(self) -> list[str]:
        return [each["FunctionName"] for each in self.client("lambda").list_functions()["Functions"]]

    def endpoint(self) -> Endpoint:
        [api] = self.client("apigatewayv2").get_apis()["Items"]
        return Endpoint(f"{self._emulator.endpoint_url}/_aws/execute-api/{api['ApiId']}/$default/scheduler")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    if not sam.COMMAND.exists():
        pytest.skip("sam and ministack are not installed: make tools")
    directory = tmp_path_factory.mktemp("deployed-mutual-tls")
    with Emulator(directory / "account") as emulator:
        yield Stack(directory, emulator)


@pytest.mark.parametrize(
    ("parameters", "refusal"),
    [
        pytest.param({}, r"Authentication", id="no authentication"),
        pytest.param(COMPLETE | {"TruststoreVersion": ""}, "mtls requires TruststoreVersion", id="incomplete mtls"),
        pytest.param(COMPLETE | {"Authentication": "basic"}, "does not take DomainName", id="basic with a domain"),
        pytest.param({"Authentication": "NONE"}, "Authentication", id="unknown authentication"),
    ],
)
def test_rejects_incomplete_or_mixed_authentication(stack: Stack, parameters: dict[str, str], refusal: str) -> None:
    with pytest.raises(sam.SamFailed, match=refusal):
        stack.deploy(parameters)
    assert not stack.exists()


@pytest.fixture(scope="module")
def deployed(stack: Stack) -> Stack:
    stack.deploy(COMPLETE)
    return stack


def test_url_prefix_is_the_domain(deployed: Stack) -> None:
    outputs = deployed.outputs()
    assert outputs["UrlPrefix"] == "https://berth.example.com/scheduler"
    assert {"DomainNameTarget", "AllowListParameterName"} <= set(outputs)
    assert "PasswordSecretArn" not in outputs


def test_default_endpoint_is_disabled_and_domain_has_trust_store(deployed: Stack) -> None:
    apis = deployed.client("apigatewayv2")
    [api] = apis.get_apis()["Items"]
    assert api["DisableExecuteApiEndpoint"] is True
    domain = apis.get_domain_name(DomainName="berth.example.com")
    assert domain["MutualTlsAuthentication"]["TruststoreUri"] == "s3://truststores/truststore.pem"
    assert domain["MutualTlsAuthentication"]["TruststoreVersion"] == "1"


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone", "prioritize", "bind", "preempt"])
def test_verb_rejects_call_without_certificate(deployed: Stack, verb: str) -> None:
    assert deployed.endpoint().post(verb, b"{}").status == 403


def test_no_authorizer_is_deployed(deployed: Stack) -> None:
    assert not [name for name in deployed.function_names() if "Authorizer" in name]


def test_allow_list_is_empty_after_deployment(deployed: Stack) -> None:
    record = ParameterStoreAllowList(deployed.client("ssm"), deployed.outputs()["AllowListParameterName"])
    assert record.read() == AllowList()


def test_listed_certificate_is_allowed_within_seconds(deployed: Stack) -> None:
    """With the event that API Gateway would send."""
    functions = deployed.client("lambda")
    [name] = [each for each in deployed.function_names() if "FilterFunction" in each]
    event = json.dumps(certificate_event("5eed5eed5eed5e1f", time.time() - 60, time.time() + 3600))

    def allowed() -> bool:
        answer = json.loads(functions.invoke(FunctionName=name, Qualifier="live", Payload=event)["Payload"].read())
        assert answer["statusCode"] in (200, 403)
        return bool(answer["statusCode"] == 200)

    assert not allowed()
    parameter = deployed.outputs()["AllowListParameterName"]
    deployed.client("ssm").put_parameter(Name=parameter, Value="5eed5eed5eed5e1f", Type="String", Overwrite=True)
    deadline = time.monotonic() + 2 * RECHECK_SECONDS
    while not allowed():
        assert time.monotonic() < deadline
        time.sleep(0.5)
