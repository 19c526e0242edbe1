"""What an explanation is made of: the pod in its cluster, the configuration, and the attempts on record."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth.scheduling.managed_resources.counting import Counting
from berth_cli.cluster_files.documents import parse_objects
from berth_cli.explain import report
from berth_cli.explain.attempts import Attempts, NoRecord, RecordedVerdict
from berth_cli.explain.target import GONE_FROM_DUMP, Target, parse_name, read_target
from berth_cli.input_files import InvalidInput, display_name, read_input
from berth_cli.options import require_key_pair
from berth_cli.scheduler_config.tls_config import TLSFiles
from berth_cli.simulate.policy_options import read_policy

if TYPE_CHECKING:
    from berth_cli.explain.sources.stack import StackState

CONFIGURATION_UNKNOWN = (
    "Judged by kube-scheduler's own rules alone: the server's configuration is not known; give --config or --profile."
)
NOT_IN_NODE_CACHE = (
    "The pod is judged without {}: the configuration in force does not read them, so the node cache lacks them; give "
    "--kubeconfig FILE too."
)
NO_FILES = TLSFiles()
TEMPLATE_KINDS = ("Node", "NodePool")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where the pod, its cluster and its attempts are read. stack, table: of a deployed stack, which has all of it.
    node_templates: nodes as an autoscaler adds them."""

    cluster: Path | None = None
    kubeconfig: Path | None = None
    url: str | None = None
    tls: TLSFiles = NO_FILES
    stack: str | None = None
    table: str | None = None
    region: str | None = None
    node_templates: Path | None = None

    @property
    def has_stack(self) -> bool:
        """Whether the tables of a stack are read."""
        return bool(self.stack or self.table)

    @property
    def has_cluster(self) -> bool:
        """Whether the nodes are known."""
        return bool(self.cluster or self.kubeconfig or self.has_stack)

    def check(self) -> None:
        """Raises UsageError."""
        if self.cluster is not None and self.kubeconfig is not None:
            raise click.UsageError("give --cluster DUMP or --kubeconfig FILE, not both")
        if self.stack is not None and self.table is not None:
            raise click.UsageError("give --stack NAME or --table NAME, not both")
        if self.has_stack and self.url is not None:
            raise click.UsageError("give --stack NAME or --url URL, not both: a stack has its records in its table")
        if not self.has_cluster and self.url is None:
            raise click.UsageError("give --cluster DUMP or --kubeconfig FILE, --stack NAME, or --url URL")
        require_key_pair(self.tls.certificate, self.tls.key)


@dataclass(frozen=True, slots=True)
class Inputs:
    """target: None where only the records of a server were read. verdict: then, of the node that is asked about. notes:
    what the reader has to know of the sources. failure: why Berth answers no call now; empty where it does.
    passes_exempt: whether it passes exempt pods all the same."""

    configuration: BerthConfiguration
    attempts: Attempts | NoRecord | None
    target: Target | None
    notes: tuple[str, ...] = ()
    verdict: RecordedVerdict | NoRecord | None = None
    failure: str = ""
    passes_exempt: bool = False


def read_inputs(
    sources: Sources, pod: str, config: Path | None, profile: str | None, node: str | None = None
) -> Inputs:
    """Without config and profile the policy is that of the server or of the stack. node: the only one that is asked
    about. Raises InvalidInput."""
    if not sources.has_cluster and node is not None:
        return Inputs(BerthConfiguration(), None, None, verdict=_ask_about_node(sources, pod, node))
    given = read_policy(config, profile) if config or profile else None
    attempts: Attempts | NoRecord | None = None
    running: BerthConfiguration | None = None
    objects: Iterable[Object] = ()
    where, gone = "the cluster", GONE_FROM_DUMP
    notes: tuple[str, ...] = ()
    failure = ""
    if sources.url is not None:
        asked = _ask(sources, pod, wants_configuration=sources.has_cluster and given is None)
        if isinstance(asked, str):
            failure, attempts = f"Berth does not answer: {asked}", NoRecord(asked)
            notes = () if given else (CONFIGURATION_UNKNOWN,)
        else:
            attempts, running = asked
        if not sources.has_cluster:
            return Inputs(given or BerthConfiguration(), attempts, None)
    if sources.has_stack:
        # Imported here: the AWS SDK is slow to import, and a dump needs none.
        from berth_cli.explain.sources.stack import read_stack

        state = read_stack(sources.stack, sources.table, sources.region, parse_name(pod), given)
        attempts, running, objects, where = state.attempts, state.configuration, state.objects, state.where
        gone = "its node cache has none of that name: the pod is gone, or the watcher has not seen it yet"
        notes = _stack_notes(state, sources, given)
        failure = f"Berth cannot decide: {_stale(state, sources)}" if state.fails else ""
    configuration = given or running or read_policy(None)
    if sources.cluster is not None:
        where, gone = display_name(sources.cluster), GONE_FROM_DUMP
        objects = parse_objects(read_input(sources.cluster), where)
    elif sources.kubeconfig is not None:
        where, (objects, gone) = "the cluster", _live(sources.kubeconfig, pod, configuration.counting, attempts)
    is_trimmed = sources.has_stack and sources.kubeconfig is None
    target = read_target(objects, where, pod, configuration.counting, gone, is_trimmed=is_trimmed)
    if sources.node_templates is not None:
        target = replace(target, node_templates=(*target.node_templates, *_templates(sources.node_templates)))
    return Inputs(configuration, attempts, target, notes, failure=failure, passes_exempt=sources.has_stack)


def _templates(path: Path) -> list[Object]:
    """Raises InvalidInput."""
    found = [each for each in parse_objects(read_input(path), str(path)) if each.get("kind") in TEMPLATE_KINDS]
    if not found:
        raise InvalidInput(f"{path} has no node template: objects of the kinds {' and '.join(TEMPLATE_KINDS)}")
    return found


def _ask(
    sources: Sources, pod: str, *, wants_configuration: bool
) -> tuple[Attempts | NoRecord, BerthConfiguration | None] | str:
    """A text where the cluster is known and the server does not answer. Raises InvalidInput."""
    # Imported here: a dump needs no HTTP client.
    from berth_cli.explain.sources.server import RecordsUnavailable, ServerUnreachable, ask_server

    assert sources.url is not None
    try:
        served = ask_server(sources.url, sources.tls, parse_name(pod), wants_configuration=wants_configuration)
    except RecordsUnavailable as error:
        if isinstance(error, ServerUnreachable) and sources.has_cluster:
            return str(error)
        raise InvalidInput(str(error)) from error
    return served.attempts, served.configuration


def _ask_about_node(sources: Sources, pod: str, node: str) -> RecordedVerdict | NoRecord:
    """Raises InvalidInput."""
    from berth_cli.explain.sources.server import RecordsUnavailable, ask_server_about_node

    assert sources.url is not None
    try:
        return ask_server_about_node(sources.url, sources.tls, parse_name(pod), node)
    except RecordsUnavailable as error:
        raise InvalidInput(str(error)) from error


def _live(
    kubeconfig: Path, pod: str, counting: Counting, attempts: Attempts | NoRecord | None
) -> tuple[Iterable[Object], str]:
    # Imported here: the Kubernetes client is slow to import, and a dump needs none.
    from berth_cli.explain.sources.live_cluster import GONE_FROM_CLUSTER, live_objects

    gone = GONE_FROM_CLUSTER
    if isinstance(attempts, Attempts):
        ago = report.duration(time.time() - attempts.last.at)
        gone = f"it is gone: its last attempt was {ago} ago; --url without --kubeconfig shows it"
    return live_objects(kubeconfig, pod, counting, time.time), gone


def _stack_notes(state: StackState, sources: Sources, given: BerthConfiguration | None) -> tuple[str, ...]:
    stale = (_stale(state, sources),) if state.is_stale else ()
    fallback = (f"The applied configuration is not in use: {state.fallback}.",) if state.fallback else ()
    uses_cache = sources.kubeconfig is None and sources.cluster is None
    missing = state.missing_fields(given.policy()) if given is not None and uses_cache else ()
    return (*stale, *fallback, *map(NOT_IN_NODE_CACHE.format, missing))


def _stale(state: StackState, sources: Sources) -> str:
    node_cache = state.configuration.node_cache
    name = f" --stack {sources.stack}" if sources.stack else ""
    return (
        f"the node cache is {report.duration(state.age)} old, older than maxStaleness "
        f"({node_cache.max_staleness:g} s): whenStale is {node_cache.when_stale}; run berth doctor{name}"
    )
