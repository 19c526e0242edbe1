"""`python sam_transform.py TEMPLATE PARAMETERS`, with sam's own Python: what the SAM transform makes of a template.

It imports nothing of ours: sam's pins and ours exclude each other.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from samtranslator.translator.transform import transform  # type: ignore[import-not-found]
from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-not-found]


class NoManagedPolicies:
    """Berth names none."""

    def load(self) -> dict[str, str]:
        """ARNs by name."""
        return {}


def main(template: str, parameters: str) -> None:
    """Print the processed template as JSON."""
    document = yaml_parse(Path(template).read_text())
    for resource in document["Resources"].values():
        # `sam package` puts the addresses of what it has uploaded there.
        for name in {"CodeUri", "ContentUri"} & resource.get("Properties", {}).keys():
            resource["Properties"][name] = "s3://bucket/key"
    print(json.dumps(transform(document, json.loads(parameters), NoManagedPolicies())))


if __name__ == "__main__":
    main(*sys.argv[1:])
