"""The settings of the watcher, as the template gives them to the watcher function.

Apart from command.py: reading a stack imports the AWS SDK, and a usage error must not wait for that.
"""

from __future__ import annotations

from pathlib import Path

import orjson

from berth.runtime.cluster_settings import WatcherSettings
from berth_cli.sources.stack import CACHE_TABLE_NAME, LEDGER_TABLE_NAME, WARM_UP_FUNCTIONS, DeployedStack


def watcher_settings(stack: DeployedStack, kubeconfig: Path | None) -> WatcherSettings:
    """kubeconfig: None for the service account of the pod. Raises StackUnavailable and SettingsInvalid.

    A process waits for the leader to fail as a standby does: no schedule would start it again.
    """
    profile = stack.parameters.get("Profile")
    return WatcherSettings.from_environ(
        {
            "BERTH_CACHE_TABLE": stack.output(CACHE_TABLE_NAME),
            "BERTH_LEDGER_TABLE": stack.output(LEDGER_TABLE_NAME),
            "BERTH_HTTP_TIMEOUT": stack.http_timeout,
            "BERTH_CONFIGURATION": orjson.dumps({"profile": profile}).decode() if profile else "",
            "BERTH_WATCHER_STANDBY": "true",
            "BERTH_WARM_UP_FUNCTIONS": stack.outputs.get(WARM_UP_FUNCTIONS, ""),
            **({"BERTH_IN_CLUSTER": "true"} if kubeconfig is None else {"BERTH_KUBECONFIG": str(kubeconfig)}),
        }
    )
