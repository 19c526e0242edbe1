"""`berth policy diff`: which pods a new policy places elsewhere, and which ones lose their node."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.cluster_files.documents import parse_objects
from berth_cli.input_files import InvalidInput, display_name, read_input
from berth_cli.options import plugins_option
from berth_cli.output import output_option
from berth_cli.policy.diff.from_dump import (
    DiffRequest,
    PodSelection,
    diff_policies,
    objects_to_place,
    schedulers_of,
    warnings,
)
from berth_cli.policy.diff.policy_diff import InvalidLimit, Limit, Limits, PolicyDiff, read_limit
from berth_cli.policy.diff.report import HTML, MARKDOWN, rendered
from berth_cli.simulate.policy_options import read_policy, weight_option

EPILOG = """\b
Examples:
  kubectl get nodes,pods,ns,pdb,pc,svc,rc,rs,sts -A -o json > dump.json
  berth policy diff berth.yaml proposed.yaml --dump dump.json
  berth policy diff berth.yaml proposed.yaml --dump dump.json --max-moved 5%
  berth policy diff berth.yaml proposed.yaml --recording monday.rec
  git show main:berth.yaml | berth policy diff - berth.yaml --dump dump.json -o markdown

\b
Exit status: 0 within the limits, 1 a limit is exceeded, 2 usage error, unreadable input, no pods to compare, or a
recording without fields that a policy reads.
"""


def _limit(_: click.Context, __: click.Parameter, text: str | None) -> Limit | None:
    try:
        return None if text is None else read_limit(text)
    except InvalidLimit as error:
        raise click.BadParameter(str(error)) from error


@click.command(epilog=EPILOG)
@click.argument("old", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@plugins_option
@click.option("--dump", type=click.Path(path_type=Path), help="Place the pods of this dump; - reads standard input.")
@click.option(
    "--recording",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Judge the pods of this recording of berth serve, on the recorded states.",
)
@click.option(
    "--pods",
    type=click.Choice(list(map(str, PodSelection))),
    default=str(PodSelection.ALL),
    show_default=True,
    help="all: every pod that a scheduler placed is placed again, from empty nodes. pending: only pods without a node.",
)
@click.option(
    "--max-pending",
    callback=_limit,
    default="0",
    show_default=True,
    metavar="N|N%",
    help="So many pods may lose their node, or so many per cent of the pods.",
)
@click.option(
    "--max-moved", callback=_limit, metavar="N|N%", help="So many pods may go elsewhere; default: any number."
)
@click.option(
    "--allow-missing-fields",
    is_flag=True,
    help="Keep to the limits alone, even if the recording lacks fields of the cluster that a policy reads.",
)
@weight_option
@click.option(
    "--scheduler-name",
    "schedulers",
    multiple=True,
    help="Place the pods of this scheduler; default: default-scheduler and the documents' `profiles`.",
)
@output_option(MARKDOWN, HTML)
def diff(
    old: Path,
    new: Path,
    dump: Path | None,
    recording: Path | None,
    pods: str,
    max_pending: Limit | None,
    max_moved: Limit | None,
    allow_missing_fields: bool,
    weight: int,
    schedulers: tuple[str, ...],
    output: str,
) -> None:
    """Show what changes from the policy OLD to the policy NEW.

    Both policies place the same pods, as kube-scheduler with Berth would: by priority, each on the result of the
    previous ones. The output has the pods that go elsewhere or become pending, the rule that is the cause, and how the
    load of the nodes moves. Pods of DaemonSets, static pods and pods of other schedulers stay where they are.

    With --recording each recorded pod is judged on the state of its last attempt; --pods, --weight and
    --scheduler-name have no effect.
    """
    if (dump is None) == (recording is None):
        raise click.UsageError("give --dump FILE or --recording FILE")
    if [str(path) for path in (old, new, dump)].count("-") > 1:
        raise click.UsageError("only one file can come from standard input")
    before, after = read_policy(old), read_policy(new)
    if dump is None:
        assert recording is not None
        found = _of_recording(recording, before, after)
    else:
        request = DiffRequest(before, after, PodSelection(pods), schedulers or schedulers_of(before, after), weight)
        objects = objects_to_place(parse_objects(read_input(dump), display_name(dump)), request)
        for warning in warnings(objects, after.gangs):
            click.echo(f"warning: {warning}", err=True)
        found = diff_policies(objects, display_name(dump), request)
    exceeded = list(Limits(max_pending, max_moved).exceeded(found))
    click.echo(rendered(found, exceeded, output))
    if found.missing and not allow_missing_fields:
        raise InvalidInput(
            f"{recording} lacks what a policy reads: record again while a policy is in force that reads it, or give "
            "--allow-missing-fields"
        )
    sys.exit(1 if exceeded else 0)


def _of_recording(recording: Path, before: BerthConfiguration, after: BerthConfiguration) -> PolicyDiff:
    # Imported here: most comparisons are of a dump.
    from berth_cli.policy.diff.from_recording import diff_recording
    from berth_cli.recording.format import read_recording
    from berth_cli.recording.replay import RecordedDecisions

    recorded = RecordedDecisions(read_recording(recording))
    found = diff_recording(recorded, before.policy(), after.policy(), str(recording))
    for note in recorded.summary.notes:
        click.echo(f"warning: {note}", err=True)
    return found
