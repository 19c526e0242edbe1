"""`berth config apply`: try a BerthConfiguration on the verbs, then store it where every function reads it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import click

from berth.scheduling.configuration.decisions import Decisions
from berth_cli.config.document import error_line, load_document
from berth_cli.config.effect_delay import EffectDelay, effect_delay
from berth_cli.config.stack import OpenStack, open_stack, stack_options
from berth_cli.config.warnings import KEPT_ON_STACK, configuration_warnings, records_warnings
from berth_cli.input_files import display_name
from berth_cli.options import plugins_option, require_stack_or_table
from berth_cli.output import Format, output_option, render

if TYPE_CHECKING:
    from berth.configuration.store import ConfigurationStore
    from berth.reservations.ledger.table import LedgerTable
    from berth.scheduling.configuration.document import BerthConfiguration
    from berth_cli.config.trial import TrialResult

EPILOG = """\b
Examples:
  berth config apply berth.yaml --stack berth-production --dry-run
  berth config apply berth.yaml --stack berth-production
  berth config apply berth.yaml --stack berth-production --stop-counting
  berth config apply berth.yaml --plugins my-plugins --stack berth-production
  berth config apply berth.yaml --stack berth-production --no-wait
  cat berth.yaml | berth config apply - --table berth-cache-1A2B3C
"""
F = TypeVar("F", bound=Callable[..., Any])

NOT_TRIED = "note: it was not tried on the verbs, because --table names no functions; --stack does"


def no_wait_option(command: F) -> F:
    """Add --no-wait."""
    return click.option(
        "--no-wait", is_flag=True, help="End when the document is stored: some verbs decide by the one before."
    )(command)


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@plugins_option
@stack_options
@click.option(
    "--stop-counting", is_flag=True, help="The document counts nothing, although the ledger has counted resources."
)
@click.option("--dry-run", is_flag=True, help="Try the document and print what it would change; do not apply it.")
@click.option("--skip-trial", is_flag=True, help="Apply the document without a trial, for example if no verb works.")
@no_wait_option
@output_option()
def apply(
    file: Path,
    stack: str | None,
    table: str | None,
    region: str | None,
    ledger_table: str,
    stop_counting: bool,
    dry_run: bool,
    skip_trial: bool,
    no_wait: bool,
    output: str,
) -> None:
    """Apply the BerthConfiguration in FILE to a running stack without a deployment.

    `-` reads standard input. The document is validated. Then each verb's function loads it, with the plugins that are
    deployed, and judges recent pods by the document in force and by this one; the differences are printed. A document
    that a function cannot load, or by which none of these pods has a node, is refused. A document that counts nothing
    needs --stop-counting once the ledger has counted.

    The command ends when every verb decides by the document: bind reads it up to 10 seconds late, and a call that has
    begun takes up to the httpTimeout, or, with --table, which does not say it, 30 seconds. --no-wait ends it before.
    The watcher reads the document within 15 seconds.

    Exit status: 0 applied, or tried with --dry-run; 1 invalid or refused document, unavailable stack or table; 2 usage
    error.
    """
    require_stack_or_table(stack, table)
    if ledger_table and stack is not None:
        raise click.UsageError("--ledger-table is for --table: the stack's output names its ledger table")
    if dry_run and (stack is None or skip_trial):
        raise click.UsageError("--dry-run needs --stack, and no --skip-trial: it asks the stack's functions")
    loaded = load_document(file)
    name, configuration = display_name(file), loaded.configuration
    # A table may be that of servers that keep records in other places.
    no_records = records_warnings(configuration, KEPT_ON_STACK if stack is not None else [*Decisions])
    for warning in (*configuration_warnings(configuration), *no_records):
        line = loaded.source.line(warning.path)
        click.echo(error_line(name, f"warning: {warning.field}", warning.message, line), err=True)
    if configuration.counting.counts and stop_counting:
        raise click.ClickException(f"{name} counts resources: --stop-counting is for one without them")
    options = ApplyOptions(stop_counting, dry_run, skip_trial, is_quiet=output != Format.TABLE, waits=not no_wait)
    with open_stack(stack, table, region, ledger_table) as opened:
        content = apply_configuration(opened, configuration, name, options, time.sleep)
    if options.is_quiet:
        click.echo(render(content, output))


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """is_quiet: print no text. note: of the new version in the history. waits: until every verb decides by it."""

    stop_counting: bool = False
    dry_run: bool = False
    skip_trial: bool = False
    is_quiet: bool = False
    note: str = ""
    waits: bool = True

    def say(self, line: str) -> None:
        """Print a line of text."""
        if not self.is_quiet:
            click.echo(line)


def apply_configuration(
    opened: OpenStack,
    configuration: BerthConfiguration,
    name: str,
    options: ApplyOptions,
    pause: Callable[[float], None],
) -> dict[str, object]:
    """Try, apply, and wait until it has taken effect. Returns what was done as a JSON object. Raises
    click.ClickException.

    name: of the document, in messages. pause: called with the seconds to wait.
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
    plugin_version = "" if trial is None else trial.plugin_version
    effect = effect_delay(opened.store.read(), "" if opened.deployed is None else opened.deployed.http_timeout)
    _store(opened, configuration, document, options, plugin_version)
    options.say(f"{name} is applied to {opened.cache_table}: profile {configuration.profile}, hash {content['hash']}")
    if trial is None and not options.skip_trial:
        click.echo(NOT_TRIED, err=True)
    waited = _wait(effect, options, pause)
    if waited and opened.store.read() != document:
        raise click.ClickException(
            f"{name} was applied, but another document was applied meanwhile: see berth config history"
        )
    if waited:
        options.say("every verb decides by it")
    return content | {"applied": True, "table": opened.cache_table, "waitedSeconds": waited}


def _wait(effect: EffectDelay, options: ApplyOptions, pause: Callable[[float], None]) -> float:
    """Until every verb decides by the document. Returns for how long."""
    if not options.waits:
        click.echo(f"note: it takes up to {effect.seconds:g} s {effect.cause}", err=True)
        return 0.0
    # Programs that read the result may show this to their users, too.
    click.echo(f"waiting {effect.seconds:g} s {effect.cause}; --no-wait leaves this out", err=True)
    pause(effect.seconds)
    return effect.seconds


def _warn_of_other_plugins(deployed: str) -> None:
    """The document was validated with the plugins of this machine; the stack decides with its own."""
    # Imported here: only a trial needs it.
    from berth.configuration.plugin_version import installed_version

    own = installed_version()
    if own and deployed and own != deployed:
        click.echo(
            f"warning: --plugins has version {own}, the stack has {deployed}: the stack's plugins are "
            "used; to use yours, deploy them as PluginLayerArn and apply the document again",
            err=True,
        )


def _tried(opened: OpenStack, document: str) -> TrialResult | None:
    """None: the functions are unknown."""
    from berth_cli.config.trial import TrialUnavailable, deployed_functions, try_document

    if opened.deployed is None:
        return None
    try:
        return try_document(document, deployed_functions(opened.deployed))
    except TrialUnavailable as error:
        raise click.ClickException(str(error)) from error


def _store(
    opened: OpenStack, configuration: BerthConfiguration, document: str, options: ApplyOptions, plugin_version: str
) -> None:
    stops = False
    if configuration.counting.counts:
        if _request_rebuild_if_stopped(opened.ledger, opened.store):
            options.say("requested a rebuild of the ledger from the watcher: counting was stopped before")
    else:
        stops = options.stop_counting or _needs_no_stop(opened.ledger, opened.store)
    opened.store.apply(document, stops_counting=stops, at=time.time(), note=options.note, plugin_version=plugin_version)


def _request_rebuild_if_stopped(ledger: LedgerTable | None, store: ConfigurationStore) -> bool:
    """While counting was stopped, pods were bound that the ledger does not have. Returns whether a rebuild was
    requested."""
    from berth.reservations.ledger.table import Marker, MarkerState

    seen = None if ledger is None else ledger.marker()
    if ledger is None or seen is None or not store.counting_is_stopped():
        return False
    requested = Marker(MarkerState.REBUILDING, seen.epoch, time.time(), uuid4().hex)
    if not ledger.put_marker(requested, seen):
        raise click.ClickException("the ledger changed at the same time; apply the document again")
    return True


def _needs_no_stop(ledger: LedgerTable | None, store: ConfigurationStore) -> bool:
    """Whether counting was stopped before. Raises ClickException where the ledger still counts."""
    if ledger is None or ledger.marker() is None:
        return False
    if store.counting_is_stopped():
        return True
    raise click.ClickException(
        "the document counts nothing, but the ledger counts resources: add managedResources, or give --stop-counting"
    )
