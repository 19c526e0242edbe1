"""`berth replay`: the recorded decisions again, by the same policy or by another one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click

from berth_cli.options import plugins_option
from berth_cli.output import Format, output_option, render
from berth_cli.policy.diff.from_recording import diff_recording
from berth_cli.policy.diff.report import MARKDOWN, rendered
from berth_cli.recording import replay as replaying
from berth_cli.recording.format import read_recording
from berth_cli.recording.replay import RecordedDecisions, RecordingSummary, ReplayResult
from berth_cli.simulate.policy_options import read_policy

EPILOG = """\b
Examples:
  berth serve --kubeconfig ~/.kube/config --record monday.rec
  berth replay monday.rec
  berth replay monday.rec --config proposed.yaml

\b
Exit status: 0 no decision differs, 1 some do, 2 usage error or unreadable input. With --config: 0, or 2.
"""


@click.command(epilog=EPILOG)
@click.argument("recording", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--config", type=click.Path(path_type=Path), help="Decide by this BerthConfiguration (YAML) instead.")
@plugins_option
@output_option(MARKDOWN)
def replay(recording: Path, config: Path | None, output: str) -> None:
    """Make the decisions of a recording again.

    By the same policy every decision has to be the same. With --config the output has the pods that the other policy
    sends elsewhere or leaves pending, the rules that are the cause, and how the load of the nodes moves.
    """
    if config is None and output == MARKDOWN:
        raise click.UsageError(f"-o {output} is a comparison: give --config NEW.yaml")
    recorded = RecordedDecisions(read_recording(recording))
    if config is None:
        found = replaying.replay(recorded)
        for note in recorded.summary.notes:
            click.echo(f"warning: {note}", err=True)
        if output not in (Format.JSON, Format.YAML):
            click.echo("\n".join(_text(recording, found, recorded.summary)))
        else:
            click.echo(render(_document(found, recorded.summary), output))
        sys.exit(1 if found.differing else 0)
    diff = diff_recording(recorded, None, read_policy(config).policy(), str(recording))
    for note in recorded.summary.notes:
        click.echo(f"warning: {note}", err=True)
    click.echo(rendered(diff, (), output))


def _text(recording: Path, found: ReplayResult, summary: RecordingSummary) -> Iterator[str]:
    span = f"{_time(summary.begins)} to {_time(summary.ends)}"
    yield (f"{recording}: {found.decisions} decisions about {len(found.pods)} pods, {span}: {found.differing} differ")
    if found.later:
        yield f"  {found.later} of them are the same on a later state than the one that they name"
    for each in found.first:
        name = f"{each.pod.namespace}/{each.pod.name}"
        yield f"  {_time(each.line.time)} {each.line.verb} {name}: {each.line.outcome}, version {each.line.version}"
    if found.differing > len(found.first):
        yield f"  and {found.differing - len(found.first)} more"


def _document(found: ReplayResult, summary: RecordingSummary) -> dict[str, object]:
    return {
        "decisions": found.decisions,
        "pods": len(found.pods),
        "later": found.later,
        "differing": found.differing,
        "begins": summary.begins,
        "ends": summary.ends,
        "truncated": summary.is_truncated,
        "dropped": summary.dropped,
        "withoutState": summary.without_state,
        "differences": [
            {
                "time": each.line.time,
                "verb": each.line.verb,
                "namespace": each.pod.namespace,
                "name": each.pod.name,
                "version": each.line.version,
            }
            for each in found.first
        ],
    }


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
