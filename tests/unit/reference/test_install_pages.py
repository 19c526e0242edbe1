"""What a reader of the pages needs for a deployment stands where it is needed, with the figures that were measured."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT
from tests.deployment.template import of_type, read_template
from tests.unit.reference.test_aws_commands import COMMAND
from tests.unit.reference.test_documented_commands import BLOCK, PAGES

TEMPLATE = read_template()
PARAMETERS: dict[str, Any] = TEMPLATE["Parameters"]
DOCS = PROJECT / "docs"
INSTALL = sorted((DOCS / "install").glob("*.md"))
GUIDES = [*INSTALL, *sorted((DOCS / "how-to").glob("*.md"))]
FUNCTION = "AWS::Serverless::Function"
SCHEDULE_SECONDS = 60


def commands(path: Path) -> Iterator[str]:
    """Each with its continuation lines."""
    for block in BLOCK.findall(path.read_text()):
        yield from (line[2:] for line in re.sub(r"\\\n\s*", " ", block).splitlines() if line.startswith("$ "))


def pages_with(pattern: str) -> list[Any]:
    return [
        pytest.param(line, id=f"{path.stem}: {line[:50]}")
        for path in PAGES
        for line in commands(path)
        if re.search(pattern, line)
    ]


def paragraphs(path: Path) -> list[str]:
    """Items of a list and rows of a table, too; each on one line."""
    return [" ".join(each.split()) for each in re.split(r"\n\s*\n|\n(?=- |\| )", path.read_text())]


def test_every_page_that_sets_a_region_sets_both_names() -> None:
    """boto3 and the SAM CLI read AWS_DEFAULT_REGION, and other SDKs AWS_REGION."""
    regions = {
        f"{path.relative_to(PROJECT)}: {line}": {name for name, _ in found}
        for path in PAGES
        for line in path.read_text().splitlines()
        if (found := re.findall(r"\b(AWS_REGION|AWS_DEFAULT_REGION)=(\S+)", line))
    }
    assert regions
    assert {line for line, names in regions.items() if len(names) == 1} == set()


@pytest.mark.parametrize("command", pages_with(r"helm install .*scheduler\.url"))
def test_chart_gets_the_http_timeout_of_the_stack(command: str) -> None:
    assert "scheduler.httpTimeout=" in command


def test_values_of_the_chart_name_the_output_with_the_http_timeout() -> None:
    values = (PROJECT / "charts/berth/values.yaml").read_text()
    [comment] = re.findall(r"# (.*HttpTimeoutSeconds.*)\n", values)
    assert "output HttpTimeoutSeconds" in comment


@pytest.mark.parametrize("command", pages_with(r"sam deploy .*Authentication=\w+ \w+"))
def test_first_deployment_chooses_the_size_of_the_cluster(command: str) -> None:
    assert "ClusterSize=" in command


def test_page_on_mutual_tls_has_a_whole_deployment_of_an_eks_cluster() -> None:
    parameters = {
        name
        for rule in ("MutualTlsRequiresDomain", "ClusterIsGiven")
        for assertion in TEMPLATE["Rules"][rule]["Assertions"]
        for name in re.findall(r"'Ref': '(\w+)'", str(assertion["Assert"]))
    }
    found = list(commands(DOCS / "how-to/mutual-tls.md"))
    assert "sam build" in found
    [deployment] = [line for line in found if "Authentication=mtls" in line]
    assert {name for name in parameters if f" {name}=" not in deployment} == set()


def parameters_of_output(name: str) -> set[str]:
    text = str(TEMPLATE["Outputs"][name]["Value"])
    conditions = [str(each) for condition, each in TEMPLATE["Conditions"].items() if f"'{condition}'" in text]
    return set(re.findall(r"'Ref': '(\w+)'", " ".join([text, *conditions]))) & PARAMETERS.keys()


def test_page_on_berth_watch_names_every_parameter_that_needs_a_restart() -> None:
    """The process reads the stack when it starts."""
    read = {"Profile", "DetailedMetrics", *parameters_of_output("HttpTimeoutSeconds")}
    read |= parameters_of_output("WarmUpFunctions")
    [text] = [each for each in paragraphs(DOCS / "how-to/watcher-in-the-cluster.md") if "rollout restart" in each]
    assert read > {"Authentication", "ClusterSize"}
    assert {name for name in read if f"`{name}`" not in text} == set()


def test_check_of_an_eks_cluster_looks_at_the_addresses_that_its_endpoint_admits() -> None:
    blocks = BLOCK.findall((DOCS / "install/eks.md").read_text())
    [check] = [each for each in blocks if "accessConfig.authenticationMode" in each]
    assert "resourcesVpcConfig.publicAccessCidrs" in check


@pytest.mark.parametrize("page", ["eks.md", "other-clusters.md", "private-api-server.md"])
def test_page_says_what_to_do_where_the_api_server_admits_only_listed_addresses(page: str) -> None:
    text = (DOCS / "install" / page).read_text()
    assert re.search(r"listed\s+addresses|publicAccessCidrs", text)
    assert page == "private-api-server.md" or "(private-api-server.md)" in text


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameter_is_on_a_page_that_says_when_to_set_it(name: str) -> None:
    assert any(re.search(rf"\b{name}\b", path.read_text()) for path in GUIDES)


def test_security_names_every_parameter_that_a_role_depends_on() -> None:
    used = {
        name
        for function in of_type(TEMPLATE, FUNCTION).values()
        for name in re.findall(r"'Ref': '(\w+)'", str(function.get("Policies", [])))
        if name in PARAMETERS
    }
    page = (DOCS / "reference/security.md").read_text()
    assert "KubeconfigKeyArn" in used
    assert {name for name in used if f"`{name}`" not in page} == set()


CLI_ACTIONS = {
    ("logs", "tail"): "logs:FilterLogEvents",
    ("cloudformation", "wait"): "cloudformation:DescribeStacks",
    ("eks", "wait"): "eks:DescribeCluster",
}
PREFIXES = {"service-quotas": "servicequotas", "s3api": "s3"}


def test_deployer_rights_have_the_action_of_every_command_of_the_install_pages() -> None:
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


def test_pages_that_say_how_often_verbs_are_warmed_say_it_for_periodic_too() -> None:
    statements = {
        f"{path.relative_to(PROJECT)}: {text}"
        for path in sorted(DOCS.glob("**/*.md"))
        for text in paragraphs(path)
        if re.search(r"\bevents?\b", text) and re.search(r"ten seconds|once a minute", text) and "verb" in text
    }
    assert statements
    assert {each for each in statements if "periodic" not in each or "continuous" not in each} == set()


def test_page_on_the_watcher_says_how_long_a_periodic_run_may_take() -> None:
    _, _, seconds = TEMPLATE["Resources"]["WatcherFunction"]["Properties"]["Timeout"]["Fn::If"]
    [row] = [each for each in (DOCS / "concepts/node-cache.md").read_text().splitlines() if "| `periodic` |" in each]
    assert f"{seconds} s" in row


def first_publications() -> dict[str, float]:
    """The measured seconds, by ClusterSize."""
    rows = re.findall(
        r"^\| `(\w+)` \| [\d,]+ \| [\d,]+ \| ([\d.]+) \|", (DOCS / "reference/capacity.md").read_text(), re.MULTILINE
    )
    return {size: float(seconds) for size, seconds in rows if size in PARAMETERS["ClusterSize"]["AllowedValues"]}


def test_install_pages_say_how_long_the_first_publication_was_measured_to_take() -> None:
    measured = first_publications()
    assert measured.keys() == set(PARAMETERS["ClusterSize"]["AllowedValues"])
    [text] = [each for each in paragraphs(DOCS / "install/eks.md") if "first publication" in each]
    for size, seconds in measured.items():
        assert f"{seconds:g} s for `{size}`" in text
    assert "capacity.md#" in text


def test_install_pages_agree_on_when_the_first_publication_comes() -> None:
    latest = (SCHEDULE_SECONDS + max(first_publications().values())) / 60
    texts = [each for path in INSTALL for each in paragraphs(path) if "first publication" in each]
    assert len(texts) == 2
    assert all("one to four minutes" in each for each in texts)
    assert 3 < latest < 4
