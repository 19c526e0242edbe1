"""The install pages contain everything that a deployment needs."""

from __future__ import annotations

import re

from tests.conftest import PROJECT

DOCS = PROJECT / "docs"
INSTALL = sorted((DOCS / "install").glob("*.md"))
COMMAND = re.compile(r"(?<![\w./-])aws(?: \\\n)? +([a-z][a-z0-9-]+) +([a-z][a-z0-9-]+)")
"""Service and operation of a command of the AWS CLI."""
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
        for service, command in COMMAND.findall(path.read_text().replace("\\\n", " "))
    }
    assert "eks:CreateAccessEntry" in actions
    assert {each for each in actions if f"`{each}`" not in page and f'"{each}"' not in policy} == set()
