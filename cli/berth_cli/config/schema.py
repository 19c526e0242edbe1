"""The JSON Schema of BerthConfiguration documents, made from the models that validate them."""

from __future__ import annotations

import json

from berth.scheduling.configuration.document import BerthConfiguration

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def schema_text() -> str:
    """As docs/configuration.schema.json has it."""
    return json.dumps({"$schema": DIALECT, **BerthConfiguration.model_json_schema()}, indent=2) + "\n"
