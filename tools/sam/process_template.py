"""Prints a template as SAM's transform leaves it, in JSON: what CloudFormation gets. Run by the Python of .tools/sam.

The same steps as in `sam validate`, which prints nothing; no account is asked.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from samcli.lib.translate.sam_template_validator import SamTemplateValidator
from samcli.yamlhelper import yaml_parse


class _NoManagedPolicies:
    """The template names no policy of AWS' by its name alone, so none is looked up."""

    def load(self) -> dict[str, str]:
        return {}


def main(template: Path) -> None:
    # The values of parameters are left to who reads it: SAM would put some in, and others not.
    validator = SamTemplateValidator(yaml_parse(template.read_text()), _NoManagedPolicies(), region="eu-central-1")
    json.dump(yaml_parse(validator.get_translated_template_if_valid()), sys.stdout, indent=1, default=str)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
