"""Authentication in template.yaml: resources of each mode, and rejected parameters.

The emulator does not have mutual TLS, throttling or ExcludePunctuation, so these are checked on the template only.
"""

from __future__ import annotations

from typing import Any

import pytest

from berth.authentication.authorizer import MAX_AGE_SECONDS
from tests.deployment.template import Deployment, of_type

DOMAIN = {
    "DomainName": "berth.example.com",
    "DomainCertificateArn": "arn:aws:acm:eu-central-1:123456789012:certificate/1",
    "TruststoreUri": "s3://bucket/truststore.pem?versionId=v1",
}
SECRET = {"Fn::GetAtt": "PasswordSecret.Id"}


@pytest.fixture
def basic(template: dict[str, Any]) -> Deployment:
    return Deployment(template, Authentication="basic")


@pytest.fixture
def mtls(template: dict[str, Any]) -> Deployment:
    return Deployment(template, Authentication="mtls", **DOMAIN)


@pytest.fixture(params=["basic", "mtls"])
def either(request: pytest.FixtureRequest) -> Deployment:
    deployment: Deployment = request.getfixturevalue(request.param)
    return deployment


def test_authentication_is_required_and_never_anonymous(template: dict[str, Any]) -> None:
    parameter = template["Parameters"]["Authentication"]
    assert "Default" not in parameter
    assert parameter["AllowedValues"] == ["basic", "mtls"]


@pytest.mark.parametrize(
    ("parameters", "refusals"),
    [
        pytest.param({"Authentication": "basic"}, [], id="basic needs nothing else"),
        pytest.param({"Authentication": "mtls", **DOMAIN}, [], id="mtls with all three"),
        *(
            pytest.param(
                {"Authentication": "mtls", **DOMAIN, name: ""},
                ["mtls requires DomainName, DomainCertificateArn and TruststoreUri"],
                id=f"mtls without {name}",
            )
            for name in DOMAIN
        ),
        *(
            pytest.param(
                {"Authentication": "basic", name: value},
                ["DomainName, DomainCertificateArn and TruststoreUri are for mtls, not basic"],
                id=f"basic with {name}",
            )
            for name, value in DOMAIN.items()
        ),
    ],
)
def test_rejects_incomplete_or_mixed_authentication(
    template: dict[str, Any], parameters: dict[str, str], refusals: list[str]
) -> None:
    assert Deployment(template, **parameters).failed_assertions() == refusals


def test_authorizer_uses_live_alias_and_simple_responses(basic: Deployment) -> None:
    [authorizer] = basic.resources("AWS::ApiGatewayV2::Authorizer").values()
    assert authorizer["AuthorizerType"] == "REQUEST"
    assert authorizer["AuthorizerPayloadFormatVersion"] == "2.0"
    assert authorizer["EnableSimpleResponses"] is True
    assert "/functions/${AuthorizerFunction.Arn}:live/invocations" in authorizer["AuthorizerUri"]["Fn::Sub"]
    assert "AuthorizerCredentialsArn" not in authorizer


def test_only_the_authorizer_of_the_api_can_invoke_its_function(template: dict[str, Any]) -> None:
    [source] = [
        properties["SourceArn"]["Fn::Sub"]
        for properties in of_type(template, "AWS::Lambda::Permission").values()
        if properties["FunctionName"] == {"Ref": "AuthorizerFunction.Alias"}
    ]
    assert source.endswith(":${Api}/authorizers/${Authorizer}")


def test_basic_caches_by_header_and_rejects_an_old_password_within_60_seconds(basic: Deployment) -> None:
    [authorizer] = basic.resources("AWS::ApiGatewayV2::Authorizer").values()
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["AuthorizerResultTtlInSeconds"] + MAX_AGE_SECONDS <= 60


@pytest.mark.parametrize(("mode", "disabled"), [("basic", False), ("mtls", True)])
def test_mtls_disables_the_default_endpoint(template: dict[str, Any], mode: str, disabled: bool) -> None:
    [api] = Deployment(template, Authentication=mode).resources("AWS::ApiGatewayV2::Api").values()
    assert api["DisableExecuteApiEndpoint"] is disabled


def test_mtls_domain_verifies_certificates_with_one_truststore_version(mtls: Deployment) -> None:
    [domain] = mtls.resources("AWS::ApiGatewayV2::DomainName").values()
    assert domain == {
        "DomainName": "berth.example.com",
        "DomainNameConfigurations": [
            {"CertificateArn": DOMAIN["DomainCertificateArn"], "EndpointType": "REGIONAL", "SecurityPolicy": "TLS_1_2"}
        ],
        "MutualTlsAuthentication": {"TruststoreUri": "s3://bucket/truststore.pem", "TruststoreVersion": "v1"},
    }
    [mapping] = mtls.resources("AWS::ApiGatewayV2::ApiMapping").values()
    assert mapping == {"ApiId": {"Ref": "Api"}, "DomainName": {"Ref": "Domain"}, "Stage": {"Ref": "ApiStage"}}


def test_generated_password_is_url_safe_and_stays_unchanged(basic: Deployment) -> None:
    """Any change of these values would make CloudFormation generate a new password."""
    [secret] = basic.resources("AWS::SecretsManager::Secret").values()
    assert secret["GenerateSecretString"] == {
        "SecretStringTemplate": '{"username": "berth"}',
        "GenerateStringKey": "password",
        "PasswordLength": 48,
        "ExcludePunctuation": True,
    }


def test_deployment_does_not_write_the_allow_list(mtls: Deployment) -> None:
    """CloudFormation would overwrite the list with each change of a resource that has it as a property."""
    assert mtls.resources("AWS::SSM::Parameter") == {}
    assert mtls.resources("AWS::SecretsManager::Secret") == {}


def test_authorizer_may_read_only_the_password(basic: Deployment) -> None:
    function = basic.resources("AWS::Serverless::Function")["AuthorizerFunction"]
    assert function["Environment"]["Variables"] == {
        "BERTH_AUTHENTICATION": "basic",
        "BERTH_PASSWORD_SECRET": SECRET,
        "BERTH_HTTP_TIMEOUT": "5",
    }
    [statement] = function["Policies"][0]["Statement"]
    assert (statement["Action"], statement["Resource"]) == ("secretsmanager:GetSecretValue", SECRET)


WITH_ROUTE = [*(f"{verb}Function" for verb in ("Filter", "FilterOnlyOne", "Prioritize", "Bind", "Preempt", "Healthz"))]


@pytest.mark.parametrize("mode", ["basic", "mtls"])
def test_functions_with_a_route_get_the_authentication_mode_and_the_cache_table(
    template: dict[str, Any], mode: str
) -> None:
    functions = Deployment(template, Authentication=mode, **DOMAIN).resources("AWS::Serverless::Function")
    variables = {name: each["Environment"]["Variables"] for name, each in functions.items()}
    known = {name: each["BERTH_AUTHENTICATION"] for name, each in variables.items() if "BERTH_AUTHENTICATION" in each}
    assert known == dict.fromkeys([*WITH_ROUTE, *(["AuthorizerFunction"] if mode == "basic" else [])], mode)
    assert {str(variables[name]["BERTH_CACHE_TABLE"]) for name in WITH_ROUTE} == {"{'Ref': 'CacheTable'}"}


def test_throttling_allows_more_calls_than_a_scheduler_makes(either: Deployment) -> None:
    """A scheduler handles pods one after the other, and filter and prioritize take 40 ms together: at most 25 pods a
    second, with three calls each. The burst admits the binds of a gang. With basic, the event of a 429 contains the
    password."""
    [stage] = either.resources("AWS::ApiGatewayV2::Stage").values()
    rate, burst = (2000, 2000) if either.resources("AWS::ApiGatewayV2::Authorizer") else (100, 500)
    assert stage["DefaultRouteSettings"] == {"ThrottlingRateLimit": rate, "ThrottlingBurstLimit": burst}
    alarm = either.resources("AWS::CloudWatch::Alarm")["ApiCallsAlarm"]
    assert 25 * 3 < alarm["Threshold"] / alarm["Period"] < rate


@pytest.mark.parametrize(("mode", "prefix"), [("basic", "${Api.ApiEndpoint}"), ("mtls", "https://${DomainName}")])
def test_url_prefix_output_is_the_address_of_the_authentication_mode(
    template: dict[str, Any], mode: str, prefix: str
) -> None:
    assert Deployment(template, Authentication=mode).outputs()["UrlPrefix"] == {"Fn::Sub": f"{prefix}/scheduler"}
