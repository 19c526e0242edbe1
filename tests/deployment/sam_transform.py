"""The SAM transform of templates, one per line, from JSON to JSON. Run by sam's own Python, which has the translator.

It ends with its input. It does not import modules of the project, because sam's pinned dependencies conflict with the
project's.
"""

from __future__ import annotations

import json
import sys

from samtranslator.translator.transform import transform  # type: ignore[import-not-found]


class NoManagedPolicies:
    """Returns no managed policies, because the template does not name any."""

    def load(self) -> dict[str, str]:
        return {}


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        processed = transform(request["template"], request["parameters"], NoManagedPolicies())
        print(json.dumps(processed), flush=True)
