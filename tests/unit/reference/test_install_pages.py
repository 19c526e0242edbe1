"""The install pages contain everything that a deployment needs."""

from __future__ import annotations

import re
from typing import Any

from tests.builders.documents import PAGES, commands
from tests.conftest import PROJECT
from tests.deployment.template import read_template
from tests.unit.reference.test_aws_commands import COMMAND

TEMPLATE = read_template()
PARAMETERS: dict[str, Any] = TEMPLATE["Parameters"]
DOCS = PROJECT / "docs"
INSTALL = sorted((DOCS / "install").glob("*.md"))
GUIDES = [*INSTALL, *sorted((DOCS / "how-to").glob("*.md"))]


def test_documented_deployments_pass_all_required_parameters() -> None:
    """A region under both names (boto3 and the SAM CLI read AWS_DEFAULT_REGION), the size of the cluster, and the
    httpTimeout of the stack in the chart; with mutual TLS all that the template's rules demand."""
    found = [command.line for path in PAGES for command in commands(path)]
    regions = [command for command in found if re.search(r"\bAWS_(DEFAULT_)?REGION=", command)]
    assert regions
    assert [each for each in regions if "AWS_REGION=" not in each or "AWS_DEFAULT_REGION=" not in each] == []
    deployments = [each for each in found if re.search(r"sam deploy .*Authentication=\w+ \w+", each)]
    assert [each for each in deployments if "ClusterSize=" not in each] == []
    charts = [each for each in found if re.search(r"helm install .*scheduler\.url", each)]
    assert [each for each in charts if "scheduler.httpTimeout=" not in each] == []
    lines = [command.line for command in commands(DOCS / "how-to/mutual-tls.md")]
    [mutual_tls] = [each for each in lines if "Authentication=mtls" in each]
    demanded = {
        name
        for rule in ("MutualTlsRequiresDomain", "ClusterIsGiven")
        for assertion in TEMPLATE["Rules"][rule]["Assertions"]
        for name in re.findall(r"'Ref': '(\w+)'", str(assertion["Assert"]))
    }
    assert {name for name in demanded if f" {name}=" not in mutual_tls} == set()


def test_every_parameter_is_explained_on_a_guide_page() -> None:
    guides = "\n".join(path.read_text() for path in GUIDES)
    assert [name for name in PARAMETERS if not re.search(rf"\b{name}\b", guides)] == []


CLI_ACTIONS = {
    ("logs", "tail"): "logs:FilterLogEvents",
    ("cloudformation", "wait"): "cloudformation:DescribeStacks",
    ("eks", "wait"): "eks:DescribeCluster",
}
PREFIXES = {"service-quotas": "servicequotas", "s3api": "s3"}


def test_deployer_rights_cover_every_command_of_the_install_pages() -> None:
    page = (DOCS / "how-to/deployer-rights.md").read_text()
    policy = (DOCS / "deployer-policy.json").read_text()
    pages = [*INSTALL, DOCS / "how-to/mutual-tls.md", DOCS / "how-to/watcher-in-the-cluster.md"]
    actions = {
        CLI_ACTIONS.get((service, command), f"{PREFIXES.get(service, service)}:{command.title().replace('-', '')}")
        for path in pages
        for service, command, _ in COMMAND.findall(path.read_text().replace("\\\n", " "))
    }
    assert "eks:CreateAccessEntry" in actions
    assert {each for each in actions if f"`{each}`" not in page and f'"{each}"' not in policy} == set()
