"""`python -m tests.gameday.aws_command SERVICE OPERATION --option value …`: the calls that the AWS CLI makes.

The project's tools do not include the CLI. `logs tail` calls FilterLogEvents, as the CLI does.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import boto3


def main() -> None:
    service, operation, *words = sys.argv[1:]
    client: Any = boto3.client(service)
    if (service, operation) == ("logs", "tail"):
        group, options = words[0], _options(words[1:])
        since = int((time.time() - 60 * int(options["since"].removesuffix("m"))) * 1000)
        pages = client.get_paginator("filter_log_events").paginate(
            logGroupName=group, filterPattern=options["filter-pattern"], startTime=since
        )
        for event in (each for page in pages for each in page["events"]):
            print(event["message"].rstrip())
        return
    arguments = {
        "".join(part.capitalize() for part in name.split("-")): value for name, value in _options(words).items()
    }
    print(json.dumps(getattr(client, operation.replace("-", "_"))(**arguments), default=str, indent=2))


def _options(words: list[str]) -> dict[str, str]:
    return {name.removeprefix("--"): value for name, value in zip(words[::2], words[1::2], strict=True)}


if __name__ == "__main__":
    main()
