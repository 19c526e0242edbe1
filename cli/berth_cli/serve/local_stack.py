"""The stack in this process: the template's functions behind a gateway, their tables embedded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from berth.scheduling.configuration import BerthConfiguration
from berth_cli.serve.embedded_dynamodb import LEDGER_TABLE, TABLE, EmbeddedDynamoDB
from berth_cli.serve.functions import Handler, load_handler, set_environment
from berth_cli.serve.gateway import Gateway
from berth_cli.serve.template_api import read_api
from berth_cli.serve.watcher_thread import RunTime

WATCHER = "WatcherFunction"
BINDER = "BindFunction"
SCHEDULED: Mapping[str, object] = {"source": "aws.scheduler"}
LISTING: Mapping[str, object] = {"mode": "periodic"}
LISTING_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class LocalStack:
    """`gateway` answers the routes; `watcher` is the watcher function's handler."""

    gateway: Gateway
    watcher: Handler

    def watch(self) -> dict[str, str | int]:
        """One run of the watcher that lists the cluster, publishes what it finds, and ends."""
        done: dict[str, str | int] = self.watcher(LISTING, RunTime(LISTING_SECONDS))
        return done

    def follow(self, run_time: RunTime) -> dict[str, str | int]:
        """One run of the watcher as the schedule would start it: until its time is over."""
        done: dict[str, str | int] = self.watcher(SCHEDULED, run_time)
        return done


def start(
    configuration: BerthConfiguration,
    cluster: Mapping[str, str],
    log_level: str = "WARNING",
    allow_list: Path | None = None,
    binder: Mapping[str, str] | None = None,
) -> LocalStack:
    """`cluster`: the BERTH_ variables that name the cluster (see runtime.settings); `binder`: those that bind is told
    instead. With `allow_list` the authorizer is asked before every call; without it nobody is asked who they are."""
    EmbeddedDynamoDB().install()
    set_environment(
        {
            "BERTH_CACHE_TABLE": TABLE,
            "BERTH_LEDGER_TABLE": LEDGER_TABLE,
            "BERTH_CONFIGURATION": configuration.model_dump_json(by_alias=True),
            "POWERTOOLS_METRICS_DISABLED": "true",
            "POWERTOOLS_TRACE_DISABLED": "true",
            "POWERTOOLS_LOG_LEVEL": log_level,
            **cluster,
            **({} if allow_list is None else {"BERTH_AUTHENTICATION": "mtls", "BERTH_ALLOW_LIST": str(allow_list)}),
        }
    )
    api = read_api()
    watcher, own = api.functions[WATCHER], {BINDER: binder}
    handlers = {
        function: load_handler(function, own.get(function.logical_id)) for function in {*api.routes.values(), watcher}
    }
    return LocalStack(
        Gateway(
            {route: handlers[function] for route, function in api.routes.items()},
            authorizer=None if allow_list is None or api.authorizer is None else load_handler(api.authorizer),
        ),
        handlers[watcher],
    )


def from_dump(path: Path) -> dict[str, str]:
    """The variables for a cluster that a file describes."""
    return {"BERTH_CLUSTER_DUMP": str(path)}


def from_kubeconfig(path: Path) -> dict[str, str]:
    """The variables for a live cluster."""
    return {"BERTH_KUBECONFIG": str(path)}
