"""No route of the processed template can be reached without a check of the caller, whatever the parameters.

There are two checks. With Basic credentials the gateway asks the authorizer. With mutual TLS the gateway requires a
certificate at the only address of the API, and the function of the route checks it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from tests.deployment.template import Deployment, read_template
from tests.deployment.transform import transformed

from .test_authentication import DOMAIN

Load = Callable[..., Callable[..., Any]]
ROUTES = {
    *(f"POST /scheduler/{verb}" for verb in ("filter", "filter_onlyone", "prioritize", "bind", "preempt")),
    "GET /healthz",
}


def combinations() -> list[dict[str, str]]:
    """Return each mode with each subset of the parameters about the domain."""
    return [
        {"Authentication": mode} | {name: DOMAIN[name] for name, given in zip(DOMAIN, chosen, strict=True) if given}
        for mode in ("basic", "mtls")
        for chosen in product((False, True), repeat=len(DOMAIN))
    ]


ACCEPTED = [each for each in combinations() if not Deployment(read_template(), **each).failed_assertions()]


def test_exactly_two_combinations_of_authentication_parameters_can_be_deployed() -> None:
    assert [(each["Authentication"], len(each) - 1) for each in ACCEPTED] == [("basic", 0), ("mtls", len(DOMAIN))]


@pytest.fixture(scope="module", params=ACCEPTED, ids=lambda each: each["Authentication"])
def deployment(request: pytest.FixtureRequest) -> Deployment:
    return Deployment(transformed(**request.param), **request.param)


def resource_in(substitution: dict[str, str]) -> str:
    """Return the resource that `{"Fn::Sub": "integrations/${FilterIntegration}"}` refers to."""
    found = re.search(r"\$\{(?!AWS::)(\w+)", substitution["Fn::Sub"])
    assert found is not None
    return found[1]


def functions_of_routes(deployment: Deployment) -> dict[str, str]:
    """Return the function's logical id by route key."""
    integrations = deployment.resources("AWS::ApiGatewayV2::Integration")
    return {
        route["RouteKey"]: resource_in(integrations[resource_in(route["Target"])]["IntegrationUri"])
        for route in deployment.resources("AWS::ApiGatewayV2::Route").values()
    }


def variables_of(deployment: Deployment, function: str) -> dict[str, str]:
    """Return the function's environment; a reference to a resource becomes its logical id."""
    found = deployment.resources("AWS::Lambda::Function")[function]["Environment"]["Variables"]
    return {
        name: str(next(iter(value.values()))) if isinstance(value, dict) else str(value)
        for name, value in found.items()
        if name.startswith("BERTH_") and name != "BERTH_CONFIGURATION"
    }


def folder_of(function: str) -> str:
    return str(read_template()["Resources"][function]["Properties"]["CodeUri"]).removeprefix("functions/")


def forged(route: str) -> dict[str, object]:
    """Return the gateway's event for a call without credentials that pretends to have some."""
    return {
        "version": "2.0",
        "routeKey": route,
        "headers": {"source": "berth.pre-traffic", "x-client-cert": "1f00000000000001"},
        "queryStringParameters": {"authentication": "basic"},
        "requestContext": {"http": {"method": route.split(" ")[0]}, "routeKey": route, "stage": "$default"},
        "body": '{"source":"berth.pre-traffic","requestContext":{"authentication":{"clientCert":{}}}}',
        "isBase64Encoded": False,
    }


def test_api_serves_only_the_listed_routes_on_one_endpoint(deployment: Deployment) -> None:
    assert functions_of_routes(deployment).keys() == ROUTES
    for resource_type in ("AWS::Lambda::Url", "AWS::ApiGateway::RestApi", "AWS::Serverless::HttpApi"):
        assert deployment.resources(resource_type) == {}
    [api] = deployment.resources("AWS::ApiGatewayV2::Api").values()
    assert api.keys() == {"Name", "Description", "ProtocolType", "DisableExecuteApiEndpoint"}  # no Body, no CORS


def test_every_route_authenticates_callers_exactly_once(deployment: Deployment, load_function: Load) -> None:
    apis = deployment.resources("AWS::ApiGatewayV2::Api")
    authorizers = deployment.resources("AWS::ApiGatewayV2::Authorizer")
    for name, route in deployment.resources("AWS::ApiGatewayV2::Route").items():
        function = functions_of_routes(deployment)[route["RouteKey"]]
        by_authorizer = route["AuthorizationType"] == "CUSTOM"
        if by_authorizer:
            authorizer = resource_in(authorizers[route["AuthorizerId"]["Ref"]]["AuthorizerUri"])
            check = load_function(folder_of(authorizer), variables_of(deployment, authorizer))
            assert check(forged(route["RouteKey"]) | {"identitySource": []}, None) == {"isAuthorized": False}
        else:
            assert (route["AuthorizationType"], "AuthorizerId" in route) == ("NONE", False)
            [api] = apis.values()
            assert api["DisableExecuteApiEndpoint"] is True
            handler = load_function(folder_of(function), variables_of(deployment, function))
            assert handler(forged(route["RouteKey"]), None)["statusCode"] == 403, name


def test_api_without_authorizer_is_reachable_only_through_mtls_domains(deployment: Deployment) -> None:
    domains = deployment.resources("AWS::ApiGatewayV2::DomainName")
    mappings = deployment.resources("AWS::ApiGatewayV2::ApiMapping")
    if deployment.resources("AWS::ApiGatewayV2::Authorizer"):
        assert (domains, mappings) == ({}, {})
        return
    assert {mapping["DomainName"]["Ref"] for mapping in mappings.values()} == domains.keys() != set()
    for domain in domains.values():
        assert domain["MutualTlsAuthentication"]["TruststoreUri"].startswith("s3://")
        assert domain["MutualTlsAuthentication"]["TruststoreVersion"]


def test_authorizer_function_exists_only_if_routes_use_it(deployment: Deployment) -> None:
    used = any("AuthorizerId" in route for route in deployment.resources("AWS::ApiGatewayV2::Route").values())
    functions = deployment.resources("AWS::Lambda::Function")
    assert ("AuthorizerFunction" in functions) is used


def test_route_changes_only_after_the_version_that_checks_callers_is_live() -> None:
    """Otherwise a stack that changes to mutual TLS would have routes without a check for the duration of a canary."""
    processed = transformed(**ACCEPTED[-1])
    functions = functions_of_routes(Deployment(processed, **ACCEPTED[-1]))
    for route in [each for each in processed["Resources"].values() if each["Type"] == "AWS::ApiGatewayV2::Route"]:
        alias = route["DependsOn"]
        assert alias == f"{functions[route['Properties']['RouteKey']]}Aliaslive"
        assert processed["Resources"][alias]["Type"] == "AWS::Lambda::Alias"
