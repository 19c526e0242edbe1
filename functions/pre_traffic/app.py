"""The pre-traffic hook: CodeDeploy invokes it before the first call goes to a new version of a verb."""

import os
from typing import Any

from berth.garbage_collection import start_without_collection

with start_without_collection():
    from berth.runtime.aws_clients import aws_client
    from berth.runtime.pre_traffic import CALLS, PreTrafficHook, PreTrafficSettings

    settings = PreTrafficSettings.from_environ(os.environ)
    put_status = aws_client("codedeploy").put_lifecycle_event_hook_execution_status
    hook = PreTrafficHook(settings.versions, aws_client("lambda", CALLS), put_status)


def handler(event: object, context: object) -> dict[str, Any]:
    """Report the result to CodeDeploy. A manual invocation only returns the report."""
    return hook.handle(event)
