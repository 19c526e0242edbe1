"""The faults: the broken parts, the alarms that must fire, the checks that doctor must report, and the remedies.

A fault that Berth must survive does not name alarms.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from berth.configuration.dynamodb_store import CACHE_KEY, LEDGER_KEY
from tests.builders.tables import create_cache_table
from tests.chaos.faulty_proxy import Cut
from tests.e2e.berth.berth_serve import CONFIGURATION
from tests.gameday.scene import Scene

SHORT_LIFE = timedelta(seconds=60)
CLOCK_SECONDS = -300.0
VERBS = ("FilterFunction", "PrioritizeFunction", "BindFunction", "PreemptFunction", "HealthzFunction")


@dataclass(frozen=True)
class Fault:
    """alarms: all must fire within five minutes; empty: none may fire. check: doctor's check that must fail or warn.
    ended_by: the operator's action that ends the fault; empty if no action is needed."""

    label: str
    does: Callable[[Scene], AbstractContextManager[None]]
    alarms: frozenset[str]
    check: str = ""
    ended_by: str = ""

    @property
    def name(self) -> str:
        return re.sub("[^a-z0-9]+", "-", self.label.lower())


@contextmanager
def scheduler_stopped(scene: Scene) -> Iterator[None]:
    scene.stop_scheduler()
    yield
    scene.start_scheduler(scene.gateway.client)


@contextmanager
def certificate_expired(scene: Scene) -> Iterator[None]:
    """Give the scheduler a certificate that expires in a minute and that is on the allow-list."""
    now = datetime.now(UTC)
    client = scene.gateway.directory.issue(f"short-{now:%H%M%S}", now, SHORT_LIFE)
    scene.stack.allow()
    scene.start_scheduler(client)
    time.sleep(max(0.0, (client.not_after - datetime.now(UTC)).total_seconds()))
    scene.start_scheduler(client)  # only a new connection is verified
    yield
    scene.gateway.directory.revoke(client.serial, datetime.now(UTC))
    scene.stack.allow()
    scene.start_scheduler(scene.gateway.client)


def endpoint_gone(scene: Scene) -> AbstractContextManager[None]:
    """Stop serving the domain name: calls do not reach the API and are not counted."""
    return scene.gateway.refusing_connections()


@contextmanager
def allow_list_unreadable(scene: Scene) -> Iterator[None]:
    """Forbid the roles of the verbs to read the allow-list's item."""
    deny = {
        "Effect": "Deny",
        "Action": "dynamodb:GetItem",
        "Resource": "*",
        "Condition": {"ForAnyValue:StringEquals": {"dynamodb:LeadingKeys": ["allow-list"]}},
    }
    policy, iam = json.dumps({"Version": "2012-10-17", "Statement": [deny]}), scene.stack.client("iam")
    roles = [scene.stack.name(f"{each}Role") for each in VERBS]
    for role in roles:
        iam.put_role_policy(RoleName=role, PolicyName="game-day", PolicyDocument=policy)
    yield
    for role in roles:
        iam.delete_role_policy(RoleName=role, PolicyName="game-day")


def table_throttled(scene: Scene) -> AbstractContextManager[None]:
    return scene.throttled("CacheTable")


@contextmanager
def table_deleted(scene: Scene) -> Iterator[None]:
    tables, name = scene.stack.client("dynamodb"), scene.stack.name("CacheTable")
    tables.delete_table(TableName=name)
    yield
    create_cache_table(tables, name)
    scene.stack.allow()


@contextmanager
def configuration_lost(scene: Scene) -> Iterator[None]:
    """Delete the applied document from both tables, and end environments that have read it. If only one table loses it,
    the other table's copy is used, and the watcher restores it."""
    for table, key in (("CacheTable", CACHE_KEY), ("LedgerTable", LEDGER_KEY)):
        scene.stack.client("dynamodb").delete_item(TableName=scene.stack.name(table), Key=key)
    scene.kill(*VERBS)
    yield
    scene.stack.apply(CONFIGURATION)


@contextmanager
def watcher_killed_in_deployment(scene: Scene) -> Iterator[None]:
    """Deploy new versions of all functions, and kill the run of the old watcher."""
    scene.stack.deploy(HttpTimeoutSeconds="20")
    scene.kill("WatcherFunction")
    yield
    scene.stack.deploy(HttpTimeoutSeconds="30")


@contextmanager
def api_server_away(scene: Scene) -> Iterator[None]:
    """Let calls of the watcher and bind fail; the scheduler still reaches the API server."""
    scene.api_proxy.cut_streams()
    with scene.api_proxy.failing(1.0, (Cut.BEFORE,), Random(0)):
        yield


@contextmanager
def clock_off(scene: Scene) -> Iterator[None]:
    """Set the watcher's clock five minutes behind the verbs' clocks."""
    scene.set_clock("WatcherFunction", CLOCK_SECONDS)
    yield
    scene.set_clock("WatcherFunction", 0.0)


@contextmanager
def head_too_old(scene: Scene) -> Iterator[None]:
    """Disable the schedule of the watcher, and end its run."""
    _set_schedule(scene, "DISABLED")
    scene.kill("WatcherFunction")
    yield
    _set_schedule(scene, "ENABLED")


def _set_schedule(scene: Scene, state: str) -> None:
    client, fields = scene.stack.client("scheduler"), ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")
    found = client.get_schedule(Name=scene.stack.schedule)
    client.update_schedule(**{each: found[each] for each in fields}, State=state)


FAULTS: Sequence[Fault] = (
    Fault("Scheduler stopped", scheduler_stopped, frozenset({"PodsUndecided"}), "schedulerName", "start it"),
    Fault(
        "Certificate expired",
        certificate_expired,
        frozenset({"CertificateExpiry", "PodsUndecided"}),
        "client-certificate",
        "a valid certificate, revoke the old one",
    ),
    Fault("Endpoint gone", endpoint_gone, frozenset({"PodsUndecided"}), "verbs", "it is back"),
    Fault("Allow-list unreadable", allow_list_unreadable, frozenset({"Failures"}), ended_by="the right is back"),
    Fault("Table throttled", table_throttled, frozenset({"WatcherNotRunning"}), "table", "throttling ends"),
    Fault(
        "Table deleted",
        table_deleted,
        frozenset({"WatcherNotRunning"}),
        "table",
        "create it, `berth certificates allow`",
    ),
    Fault("Configuration lost", configuration_lost, frozenset({"Failures"}), "filterVerb", "`berth config apply`"),
    Fault("Watcher killed in a deployment", watcher_killed_in_deployment, frozenset()),
    Fault("API server away", api_server_away, frozenset({"CacheStale"}), "watcher-rights", "it is back"),
    Fault("Clock of the watcher 5 minutes behind", clock_off, frozenset({"CacheStale"}), "lease", "the clock is right"),
    Fault(
        "Head older than maxStaleness",
        head_too_old,
        frozenset({"WatcherNotRunning"}),
        "schedule",
        "enable the schedule",
    ),
)
