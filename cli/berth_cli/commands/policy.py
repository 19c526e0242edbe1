"""`berth policy`: tests a policy on its cases, and compares two policies."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.configuration.document import read_policy, schedulers_option, weight_option
from berth_cli.placement.policy.case_run import document, lines, run_case
from berth_cli.placement.policy.cases import read_cases
from berth_cli.placement.policy.diff_from_dump import diff_policies, objects_to_place, schedulers_of
from berth_cli.placement.policy.diff_report import MARKDOWN, rendered
from berth_cli.placement.policy.policy_diff import Limit, PolicyDiff, limit_violations, read_limit
from berth_cli.placement.warnings import dump_warnings
from berth_cli.sources.dump.cluster import read_dump
from berth_cli.terminal.input_files import InvalidInput, display_name, require_one_stdin
from berth_cli.terminal.options import plugins_option
from berth_cli.terminal.output import Format, echo_warnings, output_option, render

TEST_EPILOG = """\b
Example of a case file:
  apiVersion: berth.dev/v1alpha1
  kind: PolicyTest
  config: berth.yaml
  cluster: dump.yaml
  cases:
    - name: training gets a GPU
      pods: train.yaml
      expect:
        train-*: {node: gpu-*}

\b
Examples:
  berth policy test tests/policy
  berth policy test tests/policy --scheduler-name berth    # whose pending pods the cases place

\b
Exit status: 0 all cases passed, 1 some failed, 2 usage error, an invalid case (also without pods to place) or an
unreadable file.
"""

DIFF_EPILOG = """\b
Examples:
  kubectl get nodes,pods,ns,pdb,pc,svc,rc,rs,sts -A -o json > dump.json
  berth policy diff berth.yaml proposed.yaml --dump dump.json
  berth policy diff berth.yaml proposed.yaml --dump dump.json --max-moved 5%
  berth policy diff berth.yaml proposed.yaml --recording monday.rec
  git show main:berth.yaml | berth policy diff - berth.yaml --dump dump.json -o markdown

\b
Exit status: 0 within the limits, 1 a limit is exceeded or a recorded decision of OLD is not the same again, 2 usage
error, unreadable input, no pods to compare, or a recording without fields that a policy reads.
"""


@click.group()
def policy() -> None:
    """Test a policy, and show the effects of a new policy before you apply it."""


@policy.command(epilog=TEST_EPILOG)
@click.argument("path", metavar="DIR", type=click.Path(path_type=Path, exists=True))
@plugins_option
@schedulers_option
@output_option()
def test(path: Path, schedulers: tuple[str, ...], output: str) -> None:
    """Test a policy on the cases in DIR.

    DIR is a folder, or one file. Every YAML file below it with `kind: PolicyTest` contains cases: a cluster, pods, and
    the expected result for each pod. The pods are placed as kube-scheduler with Berth would place them.
    """
    results = []
    for case in read_cases(path):
        echo_warnings(f"{case.place}: {warning}" for warning in case.manifests.warnings)
        results.append(run_case(case, schedulers))
    click.echo("\n".join(lines(results)) if output == Format.TABLE else render(document(results), output))
    sys.exit(1 if any(result.failures for result in results) else 0)


@policy.command(epilog=DIFF_EPILOG)
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
    "--max-pending",
    callback=read_limit,
    default="0",
    show_default=True,
    metavar="N|N%",
    help="The number or percentage of pods that may lose their node.",
)
@click.option("--max-moved", callback=read_limit, metavar="N|N%", help="The same for moved pods; default: any number.")
@weight_option
@schedulers_option
@output_option(MARKDOWN)
def diff(
    old: Path,
    new: Path,
    dump: Path | None,
    recording: Path | None,
    max_pending: Limit | None,
    max_moved: Limit | None,
    weight: int,
    schedulers: tuple[str, ...],
    output: str,
) -> None:
    """Show the differences in placement between the policies OLD and NEW.

    Both policies place the same pods on empty nodes, as kube-scheduler with Berth would: one after another, by
    priority. The output lists the pods that move or become pending, and the rule that is the cause. Pods of DaemonSets,
    static pods and pods of other schedulers stay on their nodes.

    With --recording each recorded pod is evaluated on the state of its last attempt; --weight and --scheduler-name have
    no effect. OLD's recorded decisions are repeated and must stay the same. To check only that, give a policy twice.
    """
    if (dump is None) == (recording is None):
        raise click.UsageError("give --dump FILE or --recording FILE")
    require_one_stdin(old, new, dump)
    before, after = read_policy(old), read_policy(new)
    if dump is None:
        assert recording is not None
        found = _of_recording(recording, before, after)
    else:
        names = schedulers or schedulers_of(before, after)
        objects = objects_to_place(read_dump(dump), names)
        echo_warnings(dump_warnings(objects, after.gangs))
        found = diff_policies(objects, display_name(dump), (before, after), names, weight)
    not_kept = list(limit_violations(found, max_pending, max_moved))
    click.echo(rendered(found, not_kept, output))
    if found.missing:
        raise InvalidInput(
            f"{recording} lacks what a policy reads: record again while a policy is in force that reads it"
        )
    sys.exit(1 if not_kept or found.differing else 0)


def _of_recording(recording: Path, before: BerthConfiguration, after: BerthConfiguration) -> PolicyDiff:
    # Imported here: most comparisons use a dump, not a recording.
    from berth_cli.placement.policy.diff_from_recording import diff_recording
    from berth_cli.placement.recording.format import read_recording
    from berth_cli.placement.recording.replay import RecordedDecisions

    recorded = RecordedDecisions(read_recording(recording))
    found = diff_recording(recorded, before, after, str(recording))
    echo_warnings(recorded.notes)
    return found
