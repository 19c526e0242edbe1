"""`python -m tools.deployer_policy --write | --check`."""

from __future__ import annotations

import json
import sys
from collections import defaultdict

import click

from tests.deployment.transform import transformed
from tools.deployer_policy.actions import Properties
from tools.deployer_policy.schemas import PROJECT
from tools.deployer_policy.statements import policy

FILE = PROJECT / "docs" / "deployer-policy.json"
PRIVATE = {"VpcSubnetIds": "subnet-0123456789abcdef0", "VpcSecurityGroupIds": "sg-0123456789abcdef0"}
STACKS = (
    {"Authentication": "basic"},
    {"Authentication": "mtls"},
    {"WatcherMode": "external"},
    {"Tracing": "Active", "DeploymentPreference": "Canary10Percent5Minutes", **PRIVATE},
)
"""Parameters whose processed templates have all types together."""


def used() -> Properties:
    """By type, in any of the processed templates."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for parameters in STACKS:
        for resource in transformed(**parameters)["Resources"].values():
            found[resource["Type"]] |= resource.get("Properties", {}).keys()
    return {name: frozenset(properties) for name, properties in sorted(found.items())}


def text() -> str:
    """The file."""
    return json.dumps(policy(used()), indent=2) + "\n"


@click.command()
@click.option("--write/--check", required=True, help="Write the policy, or fail when it is out of date.")
def main(write: bool) -> None:
    """Write or check docs/deployer-policy.json."""
    if write:
        FILE.write_text(text(), encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text():
        click.echo(f"out of date: {FILE.name}; run: make deployer-policy", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
