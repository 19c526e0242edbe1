"""Permissions of each function's role in the processed template, after SAM's transform.

A simulator checks that they are sufficient, and that other actions and keys are denied
(test_simulated_policies.py).
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.deployment.permissions import ALLOW_LIST, BINDER_SECRET, CACHE, GRANTS, LEDGER, WATCHER_SECRET, Grant
from tests.deployment.template import KUBECONFIGS, Deployment, read_template
from tests.deployment.transform import transformed

LOGGING = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
NETWORK = "arn:aws:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole"

VERBS = ["FilterFunction", "FilterOnlyOneFunction", "PrioritizeFunction", "BindFunction", "PreemptFunction"]
EKS = {"EksCluster": "one,https://one.example,eA=="}


@pytest.fixture(scope="module")
def processed() -> dict[str, Any]:
    return transformed()


def roles(processed: dict[str, Any], **parameters: str) -> dict[str, dict[str, Any]]:
    found = Deployment(processed, **{"Authentication": "basic", **parameters}).resources("AWS::IAM::Role")
    return {name.removesuffix("Role"): role for name, role in found.items() if "FunctionRole" in name}


def statements(role: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the Allow statements. The only Deny is about network interfaces: test_network.py."""
    every = [statement for policy in role["Policies"] for statement in policy["PolicyDocument"]["Statement"]]
    return [statement for statement in every if statement["Effect"] != "Deny"]


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def grant(statement: dict[str, Any]) -> Grant:
    keys = statement.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys", [])
    return Grant(frozenset(as_list(statement["Action"])), str(statement["Resource"]), frozenset(keys))


@pytest.mark.parametrize("function", GRANTS)
def test_role_has_exactly_the_grants_that_the_table_lists(processed: dict[str, Any], function: str) -> None:
    found = statements(roles(processed)[function])
    assert [grant(statement) for statement in found] == GRANTS[function]
    assert all(statement["Effect"] == "Allow" for statement in found)


def test_every_function_role_is_in_the_table_of_grants(processed: dict[str, Any]) -> None:
    assert roles(processed).keys() == GRANTS.keys()


def test_pre_traffic_role_may_only_invoke_versions_and_report(processed: dict[str, Any]) -> None:
    invoke, report = statements(roles(processed, DeploymentPreference="Canary10Percent10Minutes")["PreTrafficFunction"])
    assert invoke["Action"] == "lambda:InvokeFunction"
    assert invoke["Resource"] == [{"Fn::Sub": f"${{{verb}.Arn}}:*"} for verb in VERBS]
    assert report["Action"] == "codedeploy:PutLifecycleEventHookExecutionStatus"
    assert report["Resource"]["Fn::Sub"].endswith(":deploymentgroup:${ServerlessDeploymentApplication}/*")


@pytest.mark.parametrize("preference", ["AllAtOnce", "Canary10Percent10Minutes"])
def test_policies_use_the_stack_name_only_for_explicitly_named_resources(preference: str) -> None:
    """CloudFormation shortens other names: a stack's name may have 128 characters, and CodeDeploy allows only 100."""
    processed = transformed(DeploymentPreference=preference)
    given = str([resource.get("Properties", {}).get("Name") for resource in processed["Resources"].values()])
    for role in roles(processed, DeploymentPreference=preference, Authentication="mtls").values():
        for statement in statements(role):
            for text in re.findall(r"[^:']*\$\{AWS::StackName\}[^']*", str(statement["Resource"])):
                assert text in given


@pytest.mark.parametrize("preference", ["AllAtOnce", "Canary10Percent10Minutes"])
def test_policies_refer_only_to_resources_in_the_template(preference: str) -> None:
    """CloudFormation rejects any other reference, even in a resource whose condition is false."""
    processed = transformed(DeploymentPreference=preference)
    policies = [each for each in processed["Resources"].values() if each["Type"] == "AWS::IAM::Role"]
    named = set(re.findall(r"\$\{(\w+)[.}]", str(policies)))
    assert "ServerlessDeploymentApplication" in named
    assert named <= processed["Resources"].keys() | processed["Parameters"].keys()


WRITES = {f"dynamodb:{action}" for action in ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem")}


@pytest.mark.parametrize("function", GRANTS)
def test_no_role_writes_the_allow_list_and_all_but_the_authorizer_read_it(function: str) -> None:
    """Whoever can publish nodes and pods must not be able to admit a caller."""
    of_allow_list = [each for each in GRANTS[function] if ALLOW_LIST in each.keys or not each.keys]
    writes = [each for each in of_allow_list if each.resource == str(CACHE) and each.actions & WRITES]
    assert writes == []
    reads = any(each.actions == {"dynamodb:GetItem"} and each.resource == str(CACHE) for each in of_allow_list)
    assert reads == (function in (*VERBS, "HealthzFunction", "WatcherFunction"))


def test_eks_cluster_does_not_need_a_kubeconfig_secret(processed: dict[str, Any]) -> None:
    """The cluster knows the roles by access entries: sts:GetCallerIdentity does not need a permission."""
    for function, role in roles(processed, **EKS).items():
        actions = {action for statement in statements(role) for action in as_list(statement["Action"])}
        assert "sts:GetCallerIdentity" not in actions
        assert ("secretsmanager:GetSecretValue" in actions) == (function == "AuthorizerFunction")


@pytest.mark.parametrize("function", GRANTS)
def test_statements_on_tables_require_leading_keys(processed: dict[str, Any], function: str) -> None:
    """ForAllValues alone is true for a request without keys, such as Scan."""
    for statement in statements(roles(processed)[function]):
        if statement["Resource"] in (CACHE, LEDGER):
            assert statement["Condition"].keys() == {"ForAllValues:StringLike", "Null"}
            assert statement["Condition"]["Null"] == {"dynamodb:LeadingKeys": "false"}
            assert "*" not in statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]


@pytest.mark.parametrize("parameters", [{}, EKS, {"Authentication": "mtls"}], ids=["secrets", "EKS", "mtls"])
def test_statements_do_not_contain_wildcards(processed: dict[str, Any], parameters: dict[str, str]) -> None:
    for role in roles(processed, **parameters).values():
        for statement in statements(role):
            actions = as_list(statement["Action"])
            assert not any("*" in action or "PartiQL" in action or action == "dynamodb:Scan" for action in actions)
            assert not any("*" in str(resource) for resource in as_list(statement["Resource"]))
            assert statement.keys() <= {"Effect", "Action", "Resource", "Condition"}


@pytest.mark.parametrize("function", GRANTS)
def test_role_trusts_only_lambda_and_has_only_known_managed_policies(processed: dict[str, Any], function: str) -> None:
    role = roles(processed)[function]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert (as_list(trust["Action"]), trust["Principal"]) == (["sts:AssumeRole"], {"Service": ["lambda.amazonaws.com"]})
    assert LOGGING in role["ManagedPolicyArns"]
    assert {arn for arn in role["ManagedPolicyArns"] if isinstance(arn, str)} <= {LOGGING, NETWORK}


def test_outputs_list_the_roles_for_access_entries() -> None:
    outputs = Deployment(read_template(), Authentication="basic").outputs()
    assert (outputs["WatcherRoleArn"], outputs["BinderRoleArn"]) == (
        {"Fn::GetAtt": "WatcherFunctionRole.Arn"},
        {"Fn::GetAtt": "BindFunctionRole.Arn"},
    )


@pytest.mark.parametrize(
    ("parameters", "refusals"),
    [
        pytest.param(KUBECONFIGS, [], id="two kubeconfigs"),
        pytest.param(EKS, [], id="an EKS cluster"),
        pytest.param(
            {"WatcherKubeconfigSecretArn": WATCHER_SECRET},
            ["WatcherKubeconfigSecretArn requires BinderKubeconfigSecretArn"],
            id="watcher secret only",
        ),
        pytest.param(
            {"BinderKubeconfigSecretArn": BINDER_SECRET},
            ["BinderKubeconfigSecretArn requires WatcherKubeconfigSecretArn, unless WatcherMode is external"],
            id="binder secret only",
        ),
        pytest.param(
            {"BinderKubeconfigSecretArn": BINDER_SECRET, "WatcherMode": "external"},
            [],
            id="only binder secret without the watcher function",
        ),
        pytest.param(
            {**KUBECONFIGS, "BinderKubeconfigSecretArn": WATCHER_SECRET},
            [
                "WatcherKubeconfigSecretArn and BinderKubeconfigSecretArn must be different secrets, so that bind does "
                "not get the watcher's permissions"
            ],
            id="same secret twice",
        ),
        pytest.param(
            {**KUBECONFIGS, **EKS}, ["give either two kubeconfig secrets or EksCluster, not both"], id="secrets and EKS"
        ),
        pytest.param(
            {"EksCluster": ""},
            ["give WatcherKubeconfigSecretArn and BinderKubeconfigSecretArn, or EksCluster"],
            id="no cluster",
        ),
    ],
)
def test_rejects_incomplete_or_mixed_cluster_parameters(parameters: dict[str, str], refusals: list[str]) -> None:
    assert Deployment(read_template(), Authentication="basic", **parameters).failed_assertions() == refusals


@pytest.mark.parametrize("value", ["one", "one,https://one.example", "one,,eA==", "one,one.example,eA==", ",,"])
def test_rejects_incomplete_or_malformed_eks_cluster(value: str) -> None:
    assert not re.fullmatch(read_template()["Parameters"]["EksCluster"]["AllowedPattern"], value)


@pytest.mark.parametrize("value", [EKS["EksCluster"], ""])
@pytest.mark.parametrize("function", ["BindFunction", "WatcherFunction"])
def test_functions_get_name_endpoint_and_authority_of_the_eks_cluster(function: str, value: str) -> None:
    deployment = Deployment(read_template(), EksCluster=value)
    variables = deployment.resources("AWS::Serverless::Function")[function]["Environment"]["Variables"]
    names = ("BERTH_EKS_CLUSTER", "BERTH_EKS_ENDPOINT", "BERTH_EKS_CERTIFICATE_AUTHORITY")
    assert [variables[name] for name in names] == (value or ",,").split(",")
