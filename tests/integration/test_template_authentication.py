"""Who may call, as template.yaml has it: what is deployed for each mode, and what is refused.

The emulator has no mutual TLS, no throttling and no ExcludePunctuation: for these the template is all there is.
"""

from __future__ import annotations

from typing import Any

import pytest

from berth.authentication.authorizer import MAX_AGE_SECONDS
from tests.deployment.template import Deployment, of_type, read_template

DOMAIN = {
    "DomainName": "berth.example.com",
    "DomainCertificateArn": "arn:aws:acm:eu-central-1:123456789012:certificate/1",
    "TruststoreUri": "s3://bucket/truststore.pem",
    "TruststoreVersion": "v1",
}
ALLOW_LIST = "arn:${AWS::Partition}:ssm:${AWS::Region}:${AWS::AccountId}:parameter/berth/${AWS::StackName}/allow-list"
SECRET = {"Fn::GetAtt": "PasswordSecret.Id"}


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return read_template()


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


def test_who_may_call_has_to_be_said_and_cannot_be_everybody(template: dict[str, Any]) -> None:
    parameter = template["Parameters"]["Authentication"]
    assert "Default" not in parameter
    assert parameter["AllowedValues"] == ["basic", "mtls"]


@pytest.mark.parametrize(
    ("parameters", "refusals"),
    [
        pytest.param({"Authentication": "basic"}, [], id="basic needs nothing else"),
        pytest.param({"Authentication": "mtls", **DOMAIN}, [], id="mtls with all four"),
        *(
            pytest.param(
                {"Authentication": "mtls", **DOMAIN, name: ""},
                [f"Authentication is mtls: give {name}"],
                id=f"mtls without {name}",
            )
            for name in DOMAIN
        ),
        *(
            pytest.param(
                {"Authentication": "basic", name: value},
                [f"Authentication is basic: {name} is for mtls"],
                id=f"basic with {name}",
            )
            for name, value in DOMAIN.items()
        ),
    ],
)
def test_half_of_something_is_refused(
    template: dict[str, Any], parameters: dict[str, str], refusals: list[str]
) -> None:
    said = Deployment(template, **parameters).refusals()
    assert [text.partition(" (")[0] for text in said] == refusals


def test_every_route_asks_the_authorizer(either: Deployment) -> None:
    routes = either.resources("AWS::ApiGatewayV2::Route")
    assert len(routes) == 6
    for properties in routes.values():
        assert (properties["AuthorizationType"], properties["AuthorizerId"]) == ("CUSTOM", {"Ref": "Authorizer"})


def test_the_authorizer_is_the_live_function_with_simple_answers(either: Deployment) -> None:
    [authorizer] = either.resources("AWS::ApiGatewayV2::Authorizer").values()
    assert authorizer["AuthorizerType"] == "REQUEST"
    assert authorizer["AuthorizerPayloadFormatVersion"] == "2.0"
    assert authorizer["EnableSimpleResponses"] is True
    assert "/functions/${AuthorizerFunction.Arn}:live/invocations" in authorizer["AuthorizerUri"]["Fn::Sub"]
    assert "AuthorizerCredentialsArn" not in authorizer


def test_only_this_api_s_authorizer_may_call_the_function(template: dict[str, Any]) -> None:
    [source] = [
        properties["SourceArn"]["Fn::Sub"]
        for properties in of_type(template, "AWS::Lambda::Permission").values()
        if properties["FunctionName"] == {"Ref": "AuthorizerFunction.Alias"}
    ]
    assert source.endswith(":${Api}/authorizers/${Authorizer}")


def test_with_basic_an_answer_is_kept_by_the_header_and_a_rotation_is_seen_within_a_minute(basic: Deployment) -> None:
    [authorizer] = basic.resources("AWS::ApiGatewayV2::Authorizer").values()
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["AuthorizerResultTtlInSeconds"] + MAX_AGE_SECONDS <= 60


def test_with_mtls_no_answer_is_kept_since_nothing_in_a_request_tells_two_certificates_apart(mtls: Deployment) -> None:
    [authorizer] = mtls.resources("AWS::ApiGatewayV2::Authorizer").values()
    assert authorizer["AuthorizerResultTtlInSeconds"] == 0
    assert authorizer["IdentitySource"] == ["$context.routeKey"]


@pytest.mark.parametrize(("mode", "disabled"), [("basic", False), ("mtls", True)])
def test_only_with_mtls_the_api_s_own_address_is_off(template: dict[str, Any], mode: str, disabled: bool) -> None:
    [api] = Deployment(template, Authentication=mode).resources("AWS::ApiGatewayV2::Api").values()
    assert api["DisableExecuteApiEndpoint"] is disabled


def test_with_mtls_the_domain_asks_for_certificates_of_one_version_of_the_trust_store(mtls: Deployment) -> None:
    [domain] = mtls.resources("AWS::ApiGatewayV2::DomainName").values()
    assert domain == {
        "DomainName": "berth.example.com",
        "DomainNameConfigurations": [
            {
                "CertificateArn": DOMAIN["DomainCertificateArn"],
                "EndpointType": "REGIONAL",
                "SecurityPolicy": "TLS_1_2",
            }
        ],
        "MutualTlsAuthentication": {"TruststoreUri": "s3://bucket/truststore.pem", "TruststoreVersion": "v1"},
    }
    [mapping] = mtls.resources("AWS::ApiGatewayV2::ApiMapping").values()
    assert mapping == {"ApiId": {"Ref": "Api"}, "DomainName": {"Ref": "Domain"}, "Stage": {"Ref": "ApiStage"}}


def test_with_basic_there_is_no_domain(basic: Deployment) -> None:
    assert basic.resources("AWS::ApiGatewayV2::DomainName") == {}
    assert basic.resources("AWS::ApiGatewayV2::ApiMapping") == {}


def test_the_generated_password_fits_into_a_url(basic: Deployment) -> None:
    """And stays as it is: another value of any of these would make CloudFormation generate a new one."""
    [secret] = basic.resources("AWS::SecretsManager::Secret").values()
    assert secret["GenerateSecretString"] == {
        "SecretStringTemplate": '{"username": "berth"}',
        "GenerateStringKey": "password",
        "PasswordLength": 48,
        "ExcludePunctuation": True,
    }
    assert basic.resources("AWS::SSM::Parameter") == {}


def test_with_mtls_nobody_may_call_until_the_allow_list_is_written(mtls: Deployment) -> None:
    from berth.authentication.allow_list import AllowList, parse

    [parameter] = mtls.resources("AWS::SSM::Parameter").values()
    assert parameter["Type"] == "String"
    assert ALLOW_LIST.endswith(f":parameter{parameter['Name']['Fn::Sub']}")
    assert parse(parameter["Value"]) == AllowList()
    assert mtls.resources("AWS::SecretsManager::Secret") == {}


@pytest.mark.parametrize(
    ("mode", "variables", "granted"),
    [
        (
            "basic",
            {
                "BERTH_AUTHENTICATION": "basic",
                "BERTH_PASSWORD_SECRET": SECRET,
                "BERTH_ALLOW_LIST_PARAMETER": "",
            },
            ("secretsmanager:GetSecretValue", SECRET),
        ),
        (
            "mtls",
            {
                "BERTH_AUTHENTICATION": "mtls",
                "BERTH_PASSWORD_SECRET": "",
                "BERTH_ALLOW_LIST_PARAMETER": {"Ref": "AllowListParameter"},
            },
            (
                "ssm:GetParameter",
                {"Fn::Sub": ALLOW_LIST},
            ),
        ),
    ],
)
def test_the_authorizer_reads_the_record_of_its_mode_and_no_other(
    template: dict[str, Any], mode: str, variables: dict[str, object], granted: tuple[str, object]
) -> None:
    function = Deployment(template, Authentication=mode).resources("AWS::Serverless::Function")["AuthorizerFunction"]
    assert function["Environment"]["Variables"] == variables
    [statement] = function["Policies"][0]["Statement"]
    assert (statement["Action"], statement["Resource"]) == granted


def test_the_verbs_that_fail_by_status_are_told_whether_it_shows_a_password(template: dict[str, Any]) -> None:
    told = {
        name
        for name, properties in of_type(template, "AWS::Serverless::Function").items()
        if "BERTH_AUTHENTICATION" in properties["Environment"]["Variables"]
    }
    assert told == {"PrioritizeFunction", "PreemptFunction", "AuthorizerFunction"}


def test_throttling_is_far_above_what_a_scheduler_sends(either: Deployment) -> None:
    """Pods are decided one after the other, and filter alone takes 10 ms or more: 100 pods a second at the most, with
    five calls each where a nominated pod is asked about twice."""
    [stage] = either.resources("AWS::ApiGatewayV2::Stage").values()
    assert stage["DefaultRouteSettings"] == {"ThrottlingRateLimit": 2000, "ThrottlingBurstLimit": 2000}


@pytest.mark.parametrize(
    ("mode", "prefix", "others"),
    [
        ("basic", {"Fn::Sub": "${Api.ApiEndpoint}/scheduler"}, {"PasswordSecretArn"}),
        ("mtls", {"Fn::Sub": "https://${DomainName}/scheduler"}, {"DomainNameTarget", "AllowListParameterName"}),
    ],
)
def test_the_outputs_are_those_of_the_mode(
    template: dict[str, Any], mode: str, prefix: object, others: set[str]
) -> None:
    outputs = Deployment(template, Authentication=mode).outputs()
    assert outputs["UrlPrefix"] == prefix
    assert set(outputs) & {"PasswordSecretArn", "DomainNameTarget", "AllowListParameterName"} == others
