"""Invoked by CodeDeploy before the first call goes to a new version of a verb."""

import os

from berth.garbage_collection import start_without_collection

with start_without_collection():
    from berth.runtime.aws_clients import aws_client
    from berth.runtime.pre_traffic import CALLS, PreTrafficHook, PreTrafficReport, PreTrafficSettings

    settings = PreTrafficSettings.from_environ(os.environ)
    hook = PreTrafficHook(settings.versions, aws_client("lambda", CALLS), aws_client("codedeploy"))


def handler(event: object, context: object) -> PreTrafficReport:
    """Report the result to CodeDeploy. A manual invocation only returns the report."""
    return hook.handle(event)
