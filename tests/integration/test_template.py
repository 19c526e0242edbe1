"""template.yaml as it is written: functions, routes, schedule and tables."""

from __future__ import annotations

from typing import Any

import pytest

from berth.runtime.environment import Settings
from berth.runtime.http.authorizer_endpoint import AuthorizerSettings
from berth.runtime.pre_traffic import PreTrafficSettings
from berth.runtime.settings import BindSettings, PolicySettings, WatcherSettings
from tests.deployment.template import TEMPLATE, of_type, read_template

PROJECT = TEMPLATE.parent
TABLE = "AWS::DynamoDB::Table"

VERBS = {
    "FilterFunction": "filter",
    "FilterOnlyOneFunction": "filter_onlyone",
    "PrioritizeFunction": "prioritize",
    "BindFunction": "bind",
    "PreemptFunction": "preempt",
}
FUNCTIONS = {
    **VERBS,
    "WatcherFunction": "watcher",
    "HealthzFunction": "healthz",
    "AuthorizerFunction": "authorizer",
    "PreTrafficFunction": "pre_traffic",
}

SWITCHES = {
    "BERTH_WATCHER_MODE": "periodic",
    "BERTH_WATCHER_STANDBY": "true",
    "BERTH_AUTHENTICATION": "mtls",
}
SECRET_PARAMETERS = {"WatcherKubeconfigSecretArn", "BinderKubeconfigSecretArn"}
EKS_PARAMETERS = {"EksClusterName", "EksEndpoint"}


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    return read_template()


@pytest.fixture(scope="module")
def functions(template: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return of_type(template, "AWS::Serverless::Function")


def test_every_function_folder_is_in_the_template(functions: dict[str, dict[str, Any]]) -> None:
    folders = {handler.parent.name for handler in PROJECT.glob("functions/*/app.py")}
    assert {name: properties["CodeUri"] for name, properties in functions.items()} == {
        name: f"functions/{folder}" for name, folder in FUNCTIONS.items()
    }
    assert folders == set(FUNCTIONS.values())


def test_functions_follow_verb_order(functions: dict[str, dict[str, Any]]) -> None:
    assert list(functions) == list(FUNCTIONS)


@pytest.mark.parametrize(
    ("function", "settings"),
    [
        ("FilterFunction", PolicySettings),
        ("FilterOnlyOneFunction", PolicySettings),
        ("PrioritizeFunction", PolicySettings),
        ("BindFunction", BindSettings),
        ("PreemptFunction", PolicySettings),
        ("WatcherFunction", WatcherSettings),
        ("HealthzFunction", PolicySettings),
        ("AuthorizerFunction", AuthorizerSettings),
        ("PreTrafficFunction", PreTrafficSettings),
    ],
)
def test_environment_matches_function_settings(
    functions: dict[str, dict[str, Any]], function: str, settings: type[Settings]
) -> None:
    variables = set(functions[function]["Environment"]["Variables"])
    assert variables <= {field.alias for field in settings.model_fields.values()}
    given = variables - {"BERTH_CONFIGURATION", "BERTH_EKS_CLUSTER"}
    settings.from_environ(dict.fromkeys(given, "2") | {name: SWITCHES[name] for name in given & set(SWITCHES)})
