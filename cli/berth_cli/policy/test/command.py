"""`berth policy test`: run the cases of a folder."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from berth_cli.cluster_files.admission import DEFAULT_SCHEDULER
from berth_cli.input_files import InvalidInput
from berth_cli.options import plugins_option
from berth_cli.output import Format, output_option, render
from berth_cli.policy.test.case import read_cases
from berth_cli.policy.test.case_run import run_case
from berth_cli.policy.test.report import document, junit, lines

EPILOG = """\b
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
  berth policy test tests/policy --junit report.xml

\b
Exit status: 0 all cases passed, 1 some failed, 2 usage error, an invalid case or an unreadable file.
"""


@click.command(epilog=EPILOG)
@click.argument("path", metavar="DIR", type=click.Path(path_type=Path, exists=True))
@plugins_option
@click.option(
    "--scheduler-name",
    "schedulers",
    multiple=True,
    help=f"Place pending pods of this scheduler; default: {DEFAULT_SCHEDULER} and the policy's `profiles`.",
)
@click.option("--junit", "junit_file", type=click.Path(path_type=Path), help="Write a JUnit report to this file.")
@output_option()
def test(path: Path, schedulers: tuple[str, ...], junit_file: Path | None, output: str) -> None:
    """Test a policy on the cases in DIR.

    DIR is a folder, or one file. Every YAML file below it with `kind: PolicyTest` has cases: a cluster, pods, and what
    is expected of each pod. The pods are placed as kube-scheduler with Berth would place them.
    """
    results = [run_case(case, schedulers) for case in read_cases(path)]
    if junit_file is not None:
        try:
            junit_file.write_bytes(junit(results))
        except OSError as error:
            raise InvalidInput(f"{junit_file}: {error.strerror}") from error
    click.echo("\n".join(lines(results)) if output == Format.TABLE else render(document(results), output))
    sys.exit(1 if any(result.failures for result in results) else 0)
