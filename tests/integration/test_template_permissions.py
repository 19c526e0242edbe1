"""What each function's role may do, on the template as CloudFormation gets it: after SAM's transform.

That it is enough, and that one action or one key more is refused, is tried in the emulator
(tests/e2e/test_permissions_of_the_stack.py).
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.deployment.permissions import BINDER_SECRET, CACHE, GRANTS, LEDGER, WATCHER_SECRET, Grant
from tests.deployment.template import KUBECONFIGS, Deployment, read_template
from tests.deployment.transform import transformed

LOGGING = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
TRACING = "arn:aws:iam::aws:policy/AWSXrayWriteOnlyAccess"
NETWORK = "arn:aws:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole"

VERBS = ["FilterFunction", "FilterOnlyOneFunction", "PrioritizeFunction", "BindFunction", "PreemptFunction"]
EKS = {"EksClusterName": "one", "EksEndpoint": "https://one.example", "EksCertificateAuthority": "eA=="}


@pytest.fixture(scope="module")
def processed() -> dict[str, Any]:
    return transformed()


def roles(processed: dict[str, Any], **parameters: str) -> dict[str, dict[str, Any]]:
    found = Deployment(processed, **{"Authentication": "basic", **parameters}).resources("AWS::IAM::Role")
    return {name.removesuffix("Role"): role for name, role in found.items() if "FunctionRole" in name}


def statements(role: dict[str, Any]) -> list[dict[str, Any]]:
    """What it grants. What it denies takes nothing but network interfaces away: test_template_network.py."""
    every = [statement for policy in role["Policies"] for statement in policy["PolicyDocument"]["Statement"]]
    return [statement for statement in every if statement["Effect"] != "Deny"]


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def grant(statement: dict[str, Any]) -> Grant:
    keys = statement.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys", [])
    return Grant(frozenset(as_list(statement["Action"])), str(statement["Resource"]), frozenset(keys))


@pytest.mark.parametrize("function", GRANTS)
def test_a_function_may_do_what_it_does_with_what_it_does_it_to_and_no_more(
    processed: dict[str, Any], function: str
) -> None:
    found = statements(roles(processed)[function])
    assert [grant(statement) for statement in found] == GRANTS[function]
    assert all(statement["Effect"] == "Allow" for statement in found)


def test_there_is_no_other_function(processed: dict[str, Any]) -> None:
    assert roles(processed).keys() == GRANTS.keys()


def test_the_pre_traffic_hook_asks_the_verbs_new_versions_and_tells_codedeploy(processed: dict[str, Any]) -> None:
    asks, tells = statements(roles(processed, DeploymentPreference="Canary10Percent5Minutes")["PreTrafficFunction"])
    assert asks["Action"] == "lambda:InvokeFunction"
    assert asks["Resource"] == [{"Fn::Sub": f"${{{verb}.Arn}}:*"} for verb in VERBS]
    assert tells["Action"] == "codedeploy:PutLifecycleEventHookExecutionStatus"
    assert tells["Resource"]["Fn::Sub"].endswith(":deploymentgroup:${AWS::StackName}-*/*")


def test_an_authorizer_of_certificates_reads_the_allow_list_instead(processed: dict[str, Any]) -> None:
    [statement] = statements(roles(processed, Authentication="mtls")["AuthorizerFunction"])
    assert statement["Action"] == "ssm:GetParameter"
    assert statement["Resource"]["Fn::Sub"].endswith(":parameter/berth/${AWS::StackName}/allow-list")


def test_for_an_eks_cluster_nobody_reads_a_secret_but_the_authorizer(processed: dict[str, Any]) -> None:
    """Roles are known to the cluster by themselves: sts:GetCallerIdentity needs no permission."""
    for function, role in roles(processed, **EKS).items():
        actions = {action for statement in statements(role) for action in as_list(statement["Action"])}
        assert "sts:GetCallerIdentity" not in actions
        assert ("secretsmanager:GetSecretValue" in actions) == (function == "AuthorizerFunction")


@pytest.mark.parametrize("function", GRANTS)
def test_every_statement_on_a_table_names_partitions_and_holds_for_no_request_without_one(
    processed: dict[str, Any], function: str
) -> None:
    """ForAllValues alone is true where there is no value, as for a Scan."""
    for statement in statements(roles(processed)[function]):
        if statement["Resource"] in (CACHE, LEDGER):
            assert statement["Condition"].keys() == {"ForAllValues:StringLike", "Null"}
            assert statement["Condition"]["Null"] == {"dynamodb:LeadingKeys": "false"}
            assert "*" not in statement["Condition"]["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]


@pytest.mark.parametrize("parameters", [{}, EKS, {"Authentication": "mtls"}], ids=["secrets", "EKS", "mtls"])
def test_nothing_is_granted_on_everything(processed: dict[str, Any], parameters: dict[str, str]) -> None:
    for role in roles(processed, **parameters).values():
        for statement in statements(role):
            actions = as_list(statement["Action"])
            assert not any("*" in action or "PartiQL" in action or action == "dynamodb:Scan" for action in actions)
            assert not any("*" in str(resource) for resource in as_list(statement["Resource"]))
            assert statement.keys() <= {"Effect", "Action", "Resource", "Condition"}


@pytest.mark.parametrize("function", GRANTS)
def test_a_role_is_lambda_s_alone_and_what_sam_adds_is_for_logs_traces_and_networks(
    processed: dict[str, Any], function: str
) -> None:
    role = roles(processed)[function]
    [trust] = role["AssumeRolePolicyDocument"]["Statement"]
    assert (as_list(trust["Action"]), trust["Principal"]) == (["sts:AssumeRole"], {"Service": ["lambda.amazonaws.com"]})
    assert LOGGING in role["ManagedPolicyArns"]
    assert {arn for arn in role["ManagedPolicyArns"] if isinstance(arn, str)} <= {LOGGING, TRACING, NETWORK}


def test_who_makes_the_access_entries_is_told_the_roles() -> None:
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
            ["WatcherKubeconfigSecretArn is given: give BinderKubeconfigSecretArn, too"],
            id="one for the watcher alone",
        ),
        pytest.param(
            {"BinderKubeconfigSecretArn": BINDER_SECRET},
            ["BinderKubeconfigSecretArn is given: give WatcherKubeconfigSecretArn, too"],
            id="one for bind alone",
        ),
        pytest.param(
            {**KUBECONFIGS, "BinderKubeconfigSecretArn": WATCHER_SECRET},
            ["give bind and the watcher a secret each: who gets hold of bind must not have the watcher's rights"],
            id="the same for both",
        ),
        pytest.param(
            {**KUBECONFIGS, **EKS},
            ["give the cluster by two kubeconfig secrets or by EksClusterName, not by both"],
            id="both ways at once",
        ),
        pytest.param(
            {"EksClusterName": ""},
            [
                "give WatcherKubeconfigSecretArn and BinderKubeconfigSecretArn, or EksClusterName",
                "the cluster is of EKS: give EksEndpoint",
                "the cluster is of EKS: give EksCertificateAuthority",
            ],
            id="no cluster",
        ),
        pytest.param(
            {"EksClusterName": "one", "EksEndpoint": "https://one.example"},
            ["the cluster is of EKS: give EksCertificateAuthority"],
            id="half of an EKS cluster",
        ),
    ],
)
def test_the_cluster_is_given_whole_and_with_two_identities(parameters: dict[str, str], refusals: list[str]) -> None:
    assert Deployment(read_template(), Authentication="basic", **parameters).refusals() == refusals
