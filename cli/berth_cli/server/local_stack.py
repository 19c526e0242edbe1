"""Runs the stack in this process: the template's functions behind a gateway."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from berth.configuration.store import ConfigurationInvalid, Configurations
from berth.extender.reply import DecisionRecorder
from berth.lease.clock import SystemClock
from berth.lease.elector import release
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.head import Head
from berth.nodecache.feed.reader import NothingPublished
from berth.pods import BERTH_SCHEDULERS
from berth.runtime.adapters import CacheAdapters, cache_adapters
from berth.runtime.cluster import connect
from berth.runtime.cluster_settings import ClusterSettings
from berth.runtime.decisions import decisions_recorded_by
from berth.runtime.http.endpoint import Endpoint, EndpointSettings
from berth.runtime.http.events import HTTPAnswer
from berth.runtime.settings import PolicySettings, deployed
from berth.runtime.tables import tables_opened_by
from berth.runtime.telemetry.telemetry import Observer, observed_by
from berth.scheduling.configuration.document import BerthConfiguration, Decisions
from berth.scheduling.plugins.floating_resources import PoolLevel, PoolUse
from berth.scheduling.snapshot.parts import NODES_AND_PODS
from berth_cli.ledger.claims import ClaimSources
from berth_cli.server.endpoints.decisions import ROUTE as DECISIONS_ROUTE
from berth_cli.server.endpoints.decisions import decisions_endpoint
from berth_cli.server.endpoints.metrics import ROUTE as METRICS_ROUTE
from berth_cli.server.endpoints.metrics import ServerMetrics, metrics_endpoint
from berth_cli.server.endpoints.state import User, state_endpoints
from berth_cli.server.functions import ROUTES, Handler, load_handler, set_environment
from berth_cli.server.gateway import Gateway, RequestCheck, members_in_bind
from berth_cli.server.options import DynamoDBStore
from berth_cli.server.problems import Problems
from berth_cli.server.recent_decisions import RecentDecisions
from berth_cli.server.store.embedded_store import EmbeddedStore
from berth_cli.server.watcher_thread import LocalLambdaContext

if TYPE_CHECKING:
    from berth_cli.placement.recording.format import RecordingWriter
    from berth_cli.placement.recording.recorder import DecisionRecording

WATCHER, BINDER = "watcher", "bind"
HEALTH = "GET /healthz"
SCHEDULE_EVENT: Mapping[str, object] = {"source": "aws.scheduler"}
PERIODIC_EVENT: Mapping[str, object] = {"mode": "periodic"}
PERIODIC_RUN_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class LocalStack:
    """A loaded stack. gateway: serves the routes. watcher: the handler of the watcher function. cache: the node cache
    that the verbs use. decisions: the last decisions. ledger_identity: the identity of an embedded ledger if resources
    are counted; otherwise empty. recording: the recording of all decisions; None if they are not recorded.
    """

    gateway: Gateway
    watcher: Handler
    cache: CacheAdapters
    decisions: RecentDecisions
    ledger_identity: str = ""
    recording: DecisionRecording | None = None

    def run_watcher_once(self) -> dict[str, str | int]:
        """Run the watcher once: list the cluster, publish a snapshot, and stop. Returns the run result."""
        result: dict[str, str | int] = self.watcher(PERIODIC_EVENT, LocalLambdaContext(PERIODIC_RUN_SECONDS))
        if self.recording is not None:
            self.recording.read_state()
        return result

    def run_watcher(self, context: LocalLambdaContext) -> dict[str, str | int]:
        """Run the watcher as the schedule does, until the remaining time is over. Returns the run result."""
        result: dict[str, str | int] = self.watcher(SCHEDULE_EVENT, context)
        return result

    def finish_recording(self) -> None:
        """Write the waiting decisions. Call it after the last call of a verb."""
        if self.recording is not None:
            self.recording.close()

    def release_ledger(self) -> None:
        """Release the Lease of an embedded ledger, which ends with the process, so that the next process does not wait
        for the Lease to expire. Call it after the last watcher run."""
        if not self.ledger_identity:
            return
        with suppress(ClusterUnavailable):
            lease = connect(ClusterSettings.from_environ(os.environ)).ledger_lease
            if lease is not None:
                # Binds may still be running: the next process rebuilds its ledger anyway.
                release(lease, self.ledger_identity, SystemClock())


def start(
    configuration: BerthConfiguration,
    cluster: Mapping[str, str],
    log_level: str = "WARNING",
    allow_list: Path | None = None,
    binder: Mapping[str, str] | None = None,
    check: RequestCheck | None = None,
    store: DynamoDBStore | EmbeddedStore | None = None,
    decisions_file: DecisionRecorder | None = None,
    recording: RecordingWriter | None = None,
    http_timeout: float | None = None,
    scheduler_names: Iterable[str] = BERTH_SCHEDULERS,
    problems: Problems | None = None,
) -> LocalStack:
    """Load all functions with this store; if it is None, with a new store in memory.

    `cluster`: the BERTH_ variables of the cluster; `binder`: other values for bind. `allow_list`: the file with
    the clients' serials; without it callers are not authenticated. `check`: the gateway's check of requests; by
    default, Host must be an IP address or localhost. `decisions_file`: used if the configuration enables it.
    `recording`: receives all decisions. `http_timeout`: the scheduler's httpTimeout in seconds; None means 5.
    `scheduler_names`: bind refuses the pods of other schedulers. `problems`: collects the problems.
    """
    store, problems = store or memory_store(configuration, cluster), problems or Problems()
    set_environment(
        {
            "BERTH_CACHE_TABLE": store.cache_table,
            "BERTH_LEDGER_TABLE": store.ledger_table,
            "BERTH_CONFIGURATION": configuration.model_dump_json(by_alias=True),
            "BERTH_SCHEDULER_NAMES": ",".join(scheduler_names),
            "POWERTOOLS_METRICS_DISABLED": "true",
            "POWERTOOLS_LOG_LEVEL": log_level,
            **cluster,
            **({} if http_timeout is None else {"BERTH_HTTP_TIMEOUT": str(http_timeout)}),
            **({} if allow_list is None else {"BERTH_AUTHENTICATION": "mtls", "BERTH_ALLOW_LIST": str(allow_list)}),
        }
    )
    source = "--cluster" if DUMP in cluster else "--kubeconfig"
    metrics, recent = ServerMetrics(), RecentDecisions(time.time)

    def record_call(verb: str, outcome: str, milliseconds: float, reason_code: str) -> None:
        metrics.record_call(verb, outcome, milliseconds, reason_code)
        problems.note_call(verb, outcome)

    recorders: dict[Decisions, DecisionRecorder] = {Decisions.MEMORY: recent}
    if decisions_file is not None:
        recorders[Decisions.FILE] = decisions_file
    with (
        tables_opened_by(store.open),
        observed_by(Observer(record_call, metrics.record_gang_event, partial(problems.note, source))),
    ):
        recorder = None if recording is None else _recorder(recording, partial(problems.note, "--record"))
        with decisions_recorded_by(recorders, () if recorder is None else (recorder,)):
            handlers = {
                folder: load_handler(folder, binder if folder == BINDER else None)
                for folder in (*ROUTES.values(), WATCHER)
            }
        settings = EndpointSettings.from_environ(os.environ)
        adapters = cache_adapters(PolicySettings.from_environ(os.environ))
        tables, sources = adapters.tables, ClaimSources(adapters.tables.cache, adapters.configurations)
        own = {
            **state_endpoints(settings, tables.ledger, tables.gangs, sources, _users(cluster, binder or cluster)),
            METRICS_ROUTE: metrics_endpoint(
                settings,
                metrics,
                tables.cache,
                tables.ledger,
                tables.gangs,
                recorded=lambda: {} if recorder is None else recorder.results,
                levels=partial(pool_levels, adapters),
            ),
            DECISIONS_ROUTE: decisions_endpoint(settings, recent),
        }
    routes: dict[str, Handler] = {route: handlers[folder] for route, folder in ROUTES.items()}
    routes[HEALTH] = problems.added_to(routes[HEALTH])
    return LocalStack(
        Gateway(
            routes | {route: partial(_handle, endpoint) for route, endpoint in own.items()},
            check=check,
            members=members_in_bind(configuration.gangs),
            begun=adapters.begun,
        ),
        handlers[WATCHER],
        adapters,
        recent,
        store.identity if isinstance(store, EmbeddedStore) and configuration.policy().counting.counts else "",
        recorder,
    )


def _recorder(writer: RecordingWriter, warn: Callable[[str], None]) -> DecisionRecording:
    """Return a recorder that sends all decisions to the writer. Call it while the stack's tables are open."""
    # Imported here: most servers do not record.
    from berth_cli.placement.recording.recorder import DecisionRecording

    settings = PolicySettings.from_environ(os.environ)
    tables = cache_adapters(settings).tables
    configurations = Configurations(tables.configuration, partial(deployed, settings.configuration))
    return DecisionRecording(writer, tables.cache, lambda applied: configurations.at(applied).document, time.time, warn)


def pool_levels(adapters: CacheAdapters, head: Head | None) -> Sequence[PoolLevel]:
    """Return the levels of floating pools in the state that this head names; empty if it cannot be read."""
    with suppress(NothingPublished, ConfigurationInvalid):
        counting = adapters.configurations.at("" if head is None else head.configuration_hash).policy.counting
        if counting.floating.exist:
            snapshot = adapters.reader.at(head, parts=NODES_AND_PODS).snapshot
            return PoolUse.of(counting, snapshot).levels(counting, snapshot)
    return ()


def _handle(endpoint: Endpoint, event: Mapping[str, object], _: object) -> HTTPAnswer:
    return endpoint.handle(event)


def _users(watcher: Mapping[str, str], binder: Mapping[str, str]) -> Mapping[str, User]:
    """Return functions that request the Kubernetes users of the watcher and of bind; empty if the cluster is a file."""
    if DUMP in watcher:
        return {}
    return {"watcher": partial(_user, watcher), "binder": partial(_user, binder)}


def _user(variables: Mapping[str, str]) -> Mapping[str, object]:
    return connect(ClusterSettings.from_environ(variables)).user() or {}


def memory_store(configuration: BerthConfiguration, cluster: Mapping[str, str]) -> EmbeddedStore:
    """Create a store. On a live cluster its ledger must be rebuilt, because binds of an earlier process may still run.
    On a dump, binds end with their process, so the ledger is ready at once."""
    store = EmbeddedStore()
    if DUMP in cluster and configuration.policy().counting.counts:
        store.mark_ledger_ready()
    return store


DUMP = "BERTH_CLUSTER_DUMP"


def dump_environment(path: Path) -> dict[str, str]:
    """Return the environment variables for a cluster dump."""
    return {DUMP: str(path)}


def kubeconfig_environment(path: Path) -> dict[str, str]:
    """Return the environment variables for a live cluster."""
    return {"BERTH_KUBECONFIG": str(path)}
