"""Tries a configuration on the verbs before it takes effect: loads it there, and finds the decisions that it
changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
import orjson

from berth.runtime.http.events import configuration_trial
from berth.scheduling.plugins.custom_plugins import MISSING_REMEDY
from berth_cli.terminal.output import table_lines

if TYPE_CHECKING:
    from berth_cli.sources.stack import DeployedStack

VERB_FUNCTIONS: Mapping[str, str] = {
    "FilterFunction": "filter",
    "FilterOnlyOneFunction": "filter_onlyone",
    "PrioritizeFunction": "prioritize",
    "BindFunction": "bind",
    "PreemptFunction": "preempt",
}
"""Maps the logical id of each verb's function to the verb."""
NO_TRIAL = "it did not try the document; deploy the stack of this release first"
ALIAS = "AWS::Lambda::Alias"
_INVOKE_SECONDS = 35

Invoke = Callable[[Mapping[str, object]], object]
"""Invokes a function with this event, and returns its decoded response. Raises TrialUnavailable."""


class TrialUnavailable(click.ClickException):
    """A function cannot be invoked. The message states the cause and the remedy."""


_SKIP_TRIAL = "--skip-trial applies it all the same"
_PLUGINS_ARE_LIVE = "a document in force that names plugins runs these, too: to go back, deploy the ones before"


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of a trial. errors: for each verb that cannot use the document, the cause. report: the report of the
    first verb that evaluated pods. plugin_versions: the version of the custom plugins on each verb without an error;
    an empty text if the document does not use any.
    """

    errors: Mapping[str, str]
    report: Mapping[str, Any]
    plugin_versions: Mapping[str, str]

    @property
    def plugin_version(self) -> str:
        """The version of the custom plugins, which is the same on all verbs unless the document is refused."""
        return next(iter(self.plugin_versions.values()), "")

    @property
    def refusal(self) -> str:
        """The reason why the document must not take effect; empty if it may."""
        if self.errors:
            verbs: dict[str, list[str]] = {}
            for verb, error in self.errors.items():
                verbs.setdefault(error, []).append(verb)
            return "; ".join(f"{', '.join(names)}: {error}" for error, names in verbs.items())
        if len(set(self.plugin_versions.values())) > 1:
            found = ", ".join(f"{verb} {version or 'none'}" for verb, version in self.plugin_versions.items())
            return f"the verbs have different plugins ({found}): wait for the end of the deployment"
        fitting = self.report.get("fitting", {})
        if fitting.get("before", 0) and not fitting["after"]:
            return f"none of the {self.report['judged']} pods that were judged would have a node"
        return ""

    @property
    def remedy(self) -> str:
        """The remedy for a refused document."""
        if any(MISSING_REMEDY in error for error in self.errors.values()):
            return "deploy the plugins first: --parameter-overrides PluginLayerArn=ARN, or PLUGINS=DIR of a local stack"
        return f"{_PLUGINS_ARE_LIVE}; {_SKIP_TRIAL}" if any(self.plugin_versions.values()) else _SKIP_TRIAL

    def lines(self) -> Iterator[str]:
        """Yield the result as text, without the refusal."""
        if self.plugin_versions:
            yield f"{', '.join(self.plugin_versions)}: the document can be loaded"
        if self.plugin_version:
            yield f"plugins: {', '.join(sorted(set(self.plugin_versions.values())))}"
        if "notJudged" in self.report:
            yield f"no pods were judged: {self.report['notJudged']}"
        if "judged" in self.report:
            yield from _change_lines(self.report)


def try_document(document: str, functions: Mapping[str, Invoke]) -> TrialResult:
    """Try the document on these functions, by verb. Raises TrialUnavailable."""
    event, errors, reports, plugins = configuration_trial(document), {}, [], {}
    for verb, invoke in functions.items():
        report = _body(invoke(event))
        if report is None:
            errors[verb] = NO_TRIAL
        elif report["error"]:
            errors[verb] = str(report["error"])
        else:
            reports.append(report)
            plugins[verb] = str(report.get("pluginVersion", ""))
    found = next((each for each in reports if "judged" in each), reports[0] if reports else {})
    return TrialResult(errors, found, plugins)


def deployed_functions(stack: DeployedStack) -> Mapping[str, Invoke]:
    """Return the functions of a stack's verbs. Raises StackUnavailable, and TrialUnavailable if there are none."""
    import boto3
    from botocore.config import Config

    client = boto3.client(
        "lambda",
        region_name=stack.region,
        config=Config(connect_timeout=5, read_timeout=_INVOKE_SECONDS, retries={"total_max_attempts": 2}),
    )
    aliases = verbs_of_aliases(stack.resources.get(ALIAS, {}))
    found = {verb: _invoker(client, alias) for verb, alias in aliases.items()}
    if not found:
        raise TrialUnavailable(f"the stack {stack.name} has no functions of verbs; is it a Berth stack?")
    return found


def verbs_of_aliases(aliases: Mapping[str, str]) -> Mapping[str, str]:
    """Map each verb to its function's alias. aliases: physical ids by logical id (the function's, then `Alias`)."""
    return {
        verb: physical_id
        for function, verb in VERB_FUNCTIONS.items()
        for logical_id, physical_id in aliases.items()
        if logical_id.startswith(f"{function}Alias")
    }


def _invoker(client: Any, function: str) -> Invoke:
    from botocore.exceptions import BotoCoreError, ClientError

    def invoke(event: Mapping[str, object]) -> object:
        try:
            answer = client.invoke(FunctionName=function, InvocationType="RequestResponse", Payload=orjson.dumps(event))
            return orjson.loads(answer["Payload"].read() or b"null")
        except (ClientError, BotoCoreError) as error:
            raise TrialUnavailable(
                f"{function} cannot be invoked: {error}; a trial needs lambda:InvokeFunction on the verbs' functions, "
                "or leave it out with --skip-trial"
            ) from error

    return invoke


def _body(answer: object) -> Mapping[str, Any] | None:
    """Return the report; None if the function did not try the document, for example because it is of an earlier
    release."""
    match answer:
        case {"body": str(body)}:
            found = orjson.loads(body)
            return found if isinstance(found, dict) and "error" in found and "berthVersion" in found else None
        case {"errorMessage": str(message)}:
            return {"error": f"the function failed: {message}", "berthVersion": ""}
    return None


def _change_lines(report: Mapping[str, Any]) -> Iterator[str]:
    changes = report["changes"]
    judged, nodes = _counted(report["judged"], "recent pod"), _counted(report["nodes"], "node")
    pods = f"{judged} ({report['pending']} pending) on {nodes}"
    yield f"{pods}: {len(changes) or 'none'} would be evaluated differently"
    if changes:
        header = ("POD", "NODE", "BEFORE", "AFTER", "REASONS")
        yield from table_lines([header, *map(_change_cells, changes)], "  ")


def _change_cells(change: Mapping[str, Any]) -> tuple[str, ...]:
    before, after = change["before"], change["after"]
    return change["pod"], change["node"] or "-", _judgment(before), _judgment(after), _reasons(after)


def _judgment(judgment: Mapping[str, Any]) -> str:
    return f"{_counted(judgment['nodes'], 'node')}, best {judgment['best']}" if judgment["nodes"] else "no node"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _reasons(judgment: Mapping[str, Any]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in judgment["reasons"].items())
