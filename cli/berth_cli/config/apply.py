"""`berth config apply`: try a BerthConfiguration on the verbs, then store it where every function reads it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import click
import orjson

from berth.bind.rules import REFRESH_SECONDS
from berth.runtime.http.events import LONGEST_WAIT_SECONDS
from berth.scheduling.configuration.document import Decisions
from berth_cli.config.document import error_line, load_document
from berth_cli.config.warnings import KEPT_ON_STACK, configuration_warnings, records_warnings
from berth_cli.input_files import display_name
from berth_cli.options import collected, plugins_option
from berth_cli.output import Format, output_option, render
from berth_cli.sources.where import TableNames, tables_options

if TYPE_CHECKING:
    from berth.ledger.nodes.table import Marker
    from berth.scheduling.configuration.document import BerthConfiguration
    from berth_cli.config.trial import TrialResult
    from berth_cli.sources.stack import OpenTables

EPILOG = """\b
Examples:
  berth config apply berth.yaml --stack berth-production --dry-run
  berth config apply berth.yaml --stack berth-production
  berth config apply berth.yaml --stack berth-production --stop-counting
  berth config apply berth.yaml --plugins my-plugins --stack berth-production
  berth config apply berth.yaml --stack berth-production --no-wait
  cat berth.yaml | berth config apply - --cache-table berth-cache
"""
F = TypeVar("F", bound=Callable[..., Any])

NOT_TRIED = "note: it was not tried on the verbs, because table names name no functions; --stack does"


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """How a document is applied."""

    tables: TableNames
    stop_counting: bool
    dry_run: bool
    skip_trial: bool
    no_wait: bool
    output: str

    def check(self) -> None:
        """Raise UsageError."""
        self.tables.require("cache")
        if self.dry_run and (self.tables.stack is None or self.skip_trial):
            raise click.UsageError("--dry-run needs --stack, and no --skip-trial: it asks the stack's functions")

    def say(self, line: str) -> None:
        """Print a line of text, if the result is not for a program."""
        if self.output == Format.TABLE:
            click.echo(line)


def apply_options(command: F) -> F:
    """Add the options of apply and rollback; the command gets ApplyOptions as `options`."""
    fields = ("tables", "stop_counting", "dry_run", "skip_trial", "no_wait", "output")
    command = output_option()(collected("options", ApplyOptions, fields)(command))
    for name, text in (
        ("--no-wait", "Return once the document is stored; some verbs may still use the previous document."),
        ("--skip-trial", "Apply the document without a trial, for example if no verb works."),
        ("--dry-run", "Try the document and print what it would change; do not apply it."),
        ("--stop-counting", "The document counts nothing, although the ledger has counted resources."),
    ):
        command = click.option(name, is_flag=True, help=text)(command)
    return plugins_option(tables_options(command))


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@apply_options
def apply(file: Path, options: ApplyOptions) -> None:
    """Apply the BerthConfiguration in FILE to a running stack without a deployment.

    `-` reads standard input. The document is validated. Then each verb's function loads it, with the plugins that are
    deployed, and judges recent pods by the document in force and by this one; the differences are printed. A document
    that a function cannot load, or by which none of these pods has a node, is refused. A document that counts nothing
    needs --stop-counting once the ledger has counted.

    The command ends when every verb decides by the document: bind reads it up to 10 seconds late, and a call that has
    begun takes up to the httpTimeout, or, without --stack, 30 seconds. --no-wait ends it before. The watcher reads the
    document within 15 seconds.

    Exit status: 0 applied, or tried with --dry-run; 1 invalid or refused document, unavailable stack or table; 2 usage
    error.
    """
    options.check()
    loaded = load_document(file)
    name, configuration = display_name(file), loaded.configuration
    # A table may be that of servers that keep records in other places.
    no_records = records_warnings(configuration, KEPT_ON_STACK if options.tables.stack else [*Decisions])
    for warning in (*configuration_warnings(configuration), *no_records):
        line = loaded.source.line(warning.path)
        click.echo(error_line(name, f"warning: {warning.field}", warning.message, line), err=True)
    if configuration.counting.counts and options.stop_counting:
        raise click.ClickException(f"{name} counts resources: --stop-counting is for one without them")
    # Imported here: the AWS SDK takes longer to import than a document takes to validate.
    from berth_cli.sources.stack import open_tables

    with open_tables(options.tables) as opened:
        content = apply_configuration(opened, configuration, name, options)
    if options.output != Format.TABLE:
        click.echo(render(content, options.output))


def apply_configuration(
    opened: OpenTables, configuration: BerthConfiguration, name: str, options: ApplyOptions, note: str = ""
) -> dict[str, object]:
    """Try, apply, and wait until it has taken effect. Returns what was done as a JSON object. Raises ClickException.

    name: of the document, in messages. note: of the new version in the history.
    """
    from berth.configuration.store import hash_of

    document = configuration.model_dump_json(by_alias=True, exclude_unset=True)
    content: dict[str, object] = {"file": name, "hash": hash_of(document), "profile": configuration.profile}
    trial = None if options.skip_trial else _tried(opened, document)
    if trial is not None:
        content["trial"] = trial.document()
        for line in trial.lines():
            options.say(line)
        if trial.refusal:
            raise click.ClickException(f"{name} is not applied: {trial.refusal}; {trial.remedy}")
        _warn_of_other_plugins(trial.plugin_version)
    if options.dry_run:
        options.say(f"{name} is not applied: --dry-run")
        return content | {"applied": False}
    effect = effect_delay(opened.store.read(), "" if opened.deployed is None else opened.deployed.http_timeout)
    stops = _stops_counting(opened, configuration, options)
    plugin_version = "" if trial is None else trial.plugin_version
    opened.store.apply(document, stops_counting=stops, at=time.time(), note=note, plugin_version=plugin_version)
    options.say(f"{name} is applied to {opened.cache_table}: profile {configuration.profile}, hash {content['hash']}")
    if trial is None and not options.skip_trial:
        click.echo(NOT_TRIED, err=True)
    if options.no_wait:
        click.echo(f"note: it takes up to {effect.seconds:g} s {effect.cause}", err=True)
        return content | {"applied": True, "table": opened.cache_table, "waitedSeconds": 0.0}
    # Programs that read the result may show this to their users, too.
    click.echo(f"waiting {effect.seconds:g} s {effect.cause}; --no-wait leaves this out", err=True)
    time.sleep(effect.seconds)
    if opened.store.read() != document:
        raise click.ClickException(
            f"{name} was applied, but another document was applied meanwhile: see berth config history"
        )
    options.say("every verb decides by it")
    return content | {"applied": True, "table": opened.cache_table, "waitedSeconds": effect.seconds}


def _warn_of_other_plugins(deployed: str) -> None:
    """The document was validated with the plugins of this machine; the stack decides with its own."""
    # Imported here: only a trial needs it.
    from berth.configuration.store import installed_version

    own = installed_version()
    if own and deployed and own != deployed:
        click.echo(
            f"warning: --plugins has version {own}, the stack has {deployed}: the stack's plugins are "
            "used; to use yours, deploy them as PluginLayerArn and apply the document again",
            err=True,
        )


def _tried(opened: OpenTables, document: str) -> TrialResult | None:
    """None: the functions are unknown."""
    from berth_cli.config.trial import TrialUnavailable, deployed_functions, try_document

    if opened.deployed is None:
        return None
    try:
        return try_document(document, deployed_functions(opened.deployed))
    except TrialUnavailable as error:
        raise click.ClickException(str(error)) from error


def _stops_counting(opened: OpenTables, configuration: BerthConfiguration, options: ApplyOptions) -> bool:
    """Whether the document ends counting. Asks for a rebuild if it begins again: while counting was stopped, pods were
    bound that the ledger does not have. Raises ClickException if the ledger counts, and the document would not.
    """
    ledger = opened.ledger if opened.ledger_table else None
    seen = None if ledger is None else ledger.marker()
    is_stopped = seen is not None and opened.store.counting_is_stopped()
    if configuration.counting.counts:
        if ledger is not None and seen is not None and is_stopped:
            if not ledger.put_marker(_rebuild_request(seen), seen):
                raise click.ClickException("the ledger changed at the same time; apply the document again")
            options.say("requested a rebuild of the ledger from the watcher: counting was stopped before")
        return False
    if seen is not None and not is_stopped and not options.stop_counting:
        raise click.ClickException(
            "the document counts nothing, but the ledger counts resources: add managedResources, or give "
            "--stop-counting"
        )
    return options.stop_counting or is_stopped


def _rebuild_request(seen: Marker) -> Marker:
    from berth.ledger.nodes.table import Marker, MarkerState

    return Marker(MarkerState.REBUILDING, seen.epoch, time.time(), uuid4().hex)


# When an applied document has taken effect. The head has its hash at once, but some verbs read the head at intervals
# only: bind, and every verb if `minHeadReadInterval` says so. No answer proves that all warm environments have read it,
# because nobody can address each of them. So the proof is the time: the longest interval, and the longest call that may
# have begun before its end.

LONGEST_INTERVAL = 60.0
"""Of `minHeadReadInterval`."""


@dataclass(frozen=True, slots=True)
class EffectDelay:
    """interval: the longest for which a verb does not look for another document. call: the longest call. In seconds."""

    interval: float
    call: float

    @property
    def seconds(self) -> float:
        """After the document was stored."""
        return self.interval + self.call

    @property
    def cause(self) -> str:
        """What takes so long."""
        return (
            f"until every verb decides by the document: one may read it {self.interval:g} s late, and a call that has "
            f"begun takes up to {self.call:g} s"
        )


def effect_delay(before: str | None, http_timeout: str) -> EffectDelay:
    """before: the applied document until now, as JSON; None: none was applied. http_timeout: of the scheduler, in
    seconds; empty: unknown."""
    call = float(http_timeout) if http_timeout else LONGEST_WAIT_SECONDS
    return EffectDelay(max(REFRESH_SECONDS, _head_interval(before)), call)


def _head_interval(document: str | None) -> float:
    """`minHeadReadInterval` of this document. It decides until a verb has read the next one."""
    try:
        content = orjson.loads(document or "{}")
    except orjson.JSONDecodeError:
        # Written by hand, and about to be replaced: which document the verbs decided by is unknown.
        return LONGEST_INTERVAL
    match content:
        case {"nodeCache": {"minHeadReadInterval": int() | float() as seconds}}:
            return float(seconds)
    return 0.0
