"""What the SAM transform makes of a template, both JSON. Run by sam's own Python, which has the translator.

It imports nothing of ours: sam's pins and ours exclude each other.
"""

from __future__ import annotations

import json
import sys

from samtranslator.translator.transform import transform  # type: ignore[import-not-found]


class NoManagedPolicies:
    """Berth names none, so none is looked up."""

    def load(self) -> dict[str, str]:
        """ARNs by name."""
        return {}


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(transform(asked["template"], asked["parameters"], NoManagedPolicies()), sys.stdout)
