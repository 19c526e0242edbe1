"""A changed parameter reaches the alias: it publishes a layer, so the functions change, so they get new versions.

On AWS, publishing a version of an unchanged function fails the deployment, so the function itself has to
change, too. SAM puts a hash of a layer's description, with parameters replaced, into the layer's logical id.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.deployment.template import REQUIRED, Deployment, of_type, read_template
from tests.deployment.transform import transformed

from .issued_values import PARAMETERS_AT_THEIR_LONGEST

TEMPLATE = read_template()
FUNCTIONS = of_type(TEMPLATE, "AWS::Serverless::Function")
LAYERS = of_type(TEMPLATE, "AWS::Serverless::LayerVersion")
PLUGIN_LAYER = {"Fn::If": ["HasPluginLayer", {"Ref": "PluginLayerArn"}, {"Ref": "AWS::NoValue"}]}
"""A layer outside the template: its ARN contains its version."""

NOT_OF_A_VERSION = {
    "AutoPublishAliasAllProperties",
    "CodeUri",
    "DeploymentPreference",
    "Description",
    "EventInvokeConfig",
    "Events",
    "PermissionsBoundary",  # changes the role, which stays the same
    "Policies",
    "ReservedConcurrentExecutions",  # belongs to the function
    "VersionDescription",
}
"""Properties that are not part of a version, or whose changes SAM detects."""


def parameters_in(value: object) -> set[str]:
    """Return the parameters that a value depends on, also through conditions and substitutions."""
    if isinstance(value, list):
        return set().union(*map(parameters_in, value))
    if not isinstance(value, dict):
        return set()
    found = {value["Ref"]} & TEMPLATE["Parameters"].keys() if isinstance(value.get("Ref"), str) else set()
    if "Fn::If" in value:
        found |= parameters_in(TEMPLATE["Conditions"][value["Fn::If"][0]])
    if isinstance(value.get("Condition"), str):
        found |= parameters_in(TEMPLATE["Conditions"][value["Condition"]])
    text = value.get("Fn::Sub")
    if isinstance(text, str):
        found |= {name for name in TEMPLATE["Parameters"] if f"${{{name}}}" in text}
    return found.union(*map(parameters_in, value.values()))


def layers_of(function: str) -> set[str]:
    used = [*TEMPLATE["Globals"]["Function"]["Layers"], *FUNCTIONS[function].get("Layers", [])]
    return {layer["Ref"] for layer in used if layer != PLUGIN_LAYER}


def versioned(function: str) -> dict[str, Any]:
    everywhere = TEMPLATE["Globals"]["Function"]
    merged = {**everywhere, **FUNCTIONS[function], "GlobalEnvironment": everywhere["Environment"]}
    return {name: value for name, value in merged.items() if name not in NOT_OF_A_VERSION}


def published_by(layer: str) -> set[str]:
    return parameters_in(LAYERS[layer]["Description"])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_parameter_of_a_function_changes_one_of_its_layers(function: str) -> None:
    missing = parameters_in(versioned(function)) - set().union(*map(published_by, layers_of(function)))
    assert missing == set()


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_depends_only_on_parameters_that_its_functions_use(layer: str) -> None:
    users = [function for function in FUNCTIONS if layer in layers_of(function)]
    assert published_by(layer) <= set().union(*(parameters_in(versioned(function)) for function in users))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_version_description_contains_the_version_of_every_layer(function: str) -> None:
    text, variables = FUNCTIONS[function]["VersionDescription"]["Fn::Sub"]
    numbers = [{"Fn::Select": [7, {"Fn::Split": [":", {"Ref": layer}]}]} for layer in sorted(layers_of(function))]
    assert sorted(map(str, variables.values())) == sorted(map(str, numbers))
    assert all(f"${{{name}}}" in text for name in variables)
    assert FUNCTIONS[function]["AutoPublishAliasAllProperties"] is True


@pytest.mark.long
def test_each_parameter_changes_the_logical_id_of_its_layer() -> None:
    names = sorted(set().union(*map(published_by, LAYERS)))
    before = layer_ids(transformed())
    for name in names:
        ids = layer_ids(transformed(**{name: another(name)}))
        moved = {layer for layer in LAYERS if ids[layer] != before[layer]}
        assert moved == {layer for layer in LAYERS if name in published_by(layer)}, name


def another(name: str) -> str:
    parameter = TEMPLATE["Parameters"][name]
    default = REQUIRED.get(name) or str(parameter["Default"])
    allowed = parameter.get("AllowedValues", PARAMETERS_AT_THEIR_LONGEST.get(name, []))
    return next(str(value) for value in allowed if str(value) != default)


def layer_ids(processed: dict[str, Any]) -> dict[str, str]:
    found = [name for name, each in processed["Resources"].items() if each["Type"] == "AWS::Lambda::LayerVersion"]
    return {layer: name for layer in LAYERS for name in found if name.startswith(layer)}


@pytest.mark.parametrize("kind", ["AWS::Lambda::Function", "AWS::Lambda::Version"])
def test_functions_and_versions_refer_to_the_hashed_logical_id_of_the_layer(kind: str) -> None:
    processed = transformed()
    scheduling = layer_ids(processed)["SchedulingLayer"]
    for properties in Deployment(processed, Authentication="basic").resources(kind).values():
        assert f"'{scheduling}'" in str(properties)


@pytest.mark.parametrize("layer", LAYERS)
def test_layer_description_is_the_first_member_of_its_select_list(layer: str) -> None:
    index, members = LAYERS[layer]["Description"]["Fn::Select"]
    assert index == 0
    assert isinstance(members[0], str)
    assert len(members[0]) <= 256


def test_old_function_versions_are_deleted() -> None:
    """With SnapStart the image of each version costs money until the version is deleted."""
    versions = [each for each in transformed()["Resources"].values() if each["Type"] == "AWS::Lambda::Version"]
    assert versions
    assert {each["DeletionPolicy"] for each in versions} == {"Delete"}


def test_runtime_of_every_function_changes_only_with_a_deployment() -> None:
    """So a runtime update passes the pre-traffic hook and the canary (docs/decisions/0016)."""
    functions = of_type(transformed(), "AWS::Lambda::Function")
    assert functions.keys() >= FUNCTIONS.keys()
    assert {str(each.get("RuntimeManagementConfig")) for each in functions.values()} == {
        "{'UpdateRuntimeOn': 'FunctionUpdate'}"
    }
