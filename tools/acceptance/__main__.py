"""`python -m tools.acceptance --stack NAME [--kubeconfig FILE] [--parameter NAME=VALUE]… [--keep]`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
import yaml

from berth import __version__
from tests.deployment import sam
from tools.acceptance import eks_access
from tools.acceptance.account import Account
from tools.acceptance.placement import SCHEDULER_NAME, place, scheduler_command, scheduler_configuration
from tools.acceptance.report import Ended, Result, Step, StepFailed, StepSkipped, markdown, run

BERTH = Path(sys.executable).parent / "berth"
FIRST_PUBLICATION_SECONDS = 240
"""The time limit in seconds: the schedule starts the watcher within a minute, and listing takes time."""
POLL_SECONDS = 3
CALL_SECONDS = 60
"""The timeout in seconds. The first call after a deployment is a cold start, which is not a failure here."""

EPILOG = """\b
Exit status: 0 no step failed, 1 a step failed, 2 usage error, 130 Ctrl-C. Without --keep the stack is always deleted.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The values of the command-line options."""

    stack: str
    parameters: tuple[str, ...]
    kubeconfig: Path | None
    scheduler: str | None
    pods: int
    keep: bool
    use_build: Path | None


@click.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--stack", required=True, help="Name of the stack that is created and deleted; it must not exist.")
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Template parameter; repeatable.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Administrator of the cluster that the parameters name: pods are placed there, in a namespace of their own.",
)
@click.option(
    "--scheduler", help="Command that runs kube-scheduler; default: what `make e2e` built, else kube-scheduler."
)
@click.option("--pods", type=click.IntRange(min=1), default=20, show_default=True, help="Pods to place.")
@click.option("--keep", is_flag=True, help="Leave the stack in place.")
@click.option(
    "--template",
    "use_build",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A built template; default: run sam build.",
)
@click.option(
    "--report", type=click.Path(path_type=Path, dir_okay=False), default=Path("acceptance.md"), show_default=True
)
def main(report: Path, **values: object) -> None:
    """Try Berth in an AWS account: deploy, check, place pods, delete, and write a report.

    Uses the caller's AWS credentials. A run takes about ten minutes and costs a few cents. The report does not contain
    account or host names, so that it can be attached to an issue.
    """
    options = Options(**values)  # type: ignore[arg-type]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    account = Account(options.stack)
    began = f"Begun {datetime.now(UTC):%Y-%m-%d %H:%M} UTC."
    ended: list[Ended] = []
    with tempfile.TemporaryDirectory(prefix="berth-acceptance-") as folder:
        steps = _steps(options, account, Path(folder))
        for each in run(steps, time.monotonic, lambda name: click.echo(f"== {name}", err=True)):
            ended.append(each)
            click.echo(f"   {each.result}, {each.seconds:.0f} s", err=True)
            for line in each.lines if each.result is Result.FAILED else ():
                click.echo(f"   {line}", err=True)
    parameters = ", ".join(f"`{each}`" for each in options.parameters) or "defaults"
    report.write_text(markdown(f"Acceptance of Berth {__version__}", [began, f"Parameters: {parameters}."], ended))
    click.echo(f"report: {report}", err=True)
    results = {each.result for each in ended}
    sys.exit(130 if Result.INTERRUPTED in results else int(Result.FAILED in results))


def _steps(options: Options, account: Account, folder: Path) -> list[Step]:
    return [
        Step("Account", account.check),
        Step("Build and deploy", lambda: _deploy(options, account, folder)),
        Step("Rights in the EKS cluster", lambda: eks_access.allow(account.stack, options.kubeconfig)),
        Step("First publication of the watcher", lambda: _wait_for_watcher(options)),
        Step("berth doctor", lambda: _doctor(options)),
        Step("Pods placed by kube-scheduler", lambda: _place(options, folder)),
        Step("Deletion", lambda: _delete(options, account), always=True),
    ]


def _deploy(options: Options, account: Account, folder: Path) -> list[str]:
    # SAM splits values at quotes, so the parameters are in a file; JSON is valid YAML.
    values = {"Authentication": "basic", "Profile": "label-priority", "SchedulerNames": SCHEDULER_NAME}
    (folder / "parameters.yaml").write_text(
        json.dumps(values | dict(each.split("=", 1) for each in options.parameters))
    )
    overrides = ("--parameter-overrides", f"file://{folder / 'parameters.yaml'}")
    template = options.use_build
    if template is None:
        sam.run(["build", "--no-cached", "--build-dir", folder / "build", *overrides], sam.PROJECT, os.environ)
        template = folder / "build" / "template.yaml"
    # Replaces the project's samconfig.toml, whose tables are for permanent stacks.
    (folder / "samconfig.toml").touch()
    arguments: list[str | Path] = [
        *("deploy", "--template-file", template, "--config-file", folder / "samconfig.toml"),
        *("--stack-name", options.stack, "--region", account.region, "--resolve-s3", "--s3-prefix", options.stack),
        *("--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset", "--no-progressbar", *overrides),
    ]
    sam.run(arguments, sam.PROJECT, os.environ)
    return []


def _wait_for_watcher(options: Options) -> list[str]:
    """Wait until doctor's check of the cache passes, so that the verbs have a state."""
    started = time.monotonic()
    while True:
        findings = _findings(options)
        if any((each["check"], each["result"]) == ("cache", "ok") for each in findings):
            return [f"The first publication came {time.monotonic() - started:.0f} s after the deployment."]
        if time.monotonic() - started > FIRST_PUBLICATION_SECONDS:
            raise StepFailed(
                f"the watcher published nothing within {FIRST_PUBLICATION_SECONDS} s: is its access entry or its "
                "kubeconfig right?",
                _failures(findings),
            )
        time.sleep(POLL_SECONDS)


def _doctor(options: Options) -> list[str]:
    findings = _findings(options)
    if failures := _failures(findings):
        raise StepFailed(f"berth doctor has {len(failures)} failures", failures)
    results = [each["result"] for each in findings]
    return ["{} ok, {} warnings, {} skipped.".format(*map(results.count, ("ok", "warning", "skipped")))]


def _findings(options: Options) -> list[Mapping[str, str]]:
    kubeconfig = ["--kubeconfig", str(options.kubeconfig)] if options.kubeconfig else []
    done = _berth("doctor", "--stack", options.stack, "--timeout", str(CALL_SECONDS), *kubeconfig, "-o", "json")
    try:
        found: list[Mapping[str, str]] = json.loads(done.stdout)["findings"]
    except (ValueError, KeyError):
        raise StepFailed(f"berth doctor ended with {done.returncode}", done.stderr.splitlines()) from None
    return found


def _failures(findings: Sequence[Mapping[str, str]]) -> list[str]:
    failed = [each for each in findings if each["result"] == "failed"]
    return [f"- {each['check']}: {each['message']} ({each['remedy']})" for each in failed]


def _place(options: Options, folder: Path) -> list[str]:
    if options.kubeconfig is None:
        raise StepSkipped("no --kubeconfig")
    printed = _berth("scheduler-config", "--stack", options.stack, "--with-password")
    if printed.returncode:
        raise StepFailed(f"berth scheduler-config ended with {printed.returncode}", printed.stderr.splitlines())
    configuration = scheduler_configuration(yaml.safe_load(printed.stdout), options.kubeconfig)
    return place(scheduler_command(options.scheduler), configuration, options.kubeconfig, options.pods, folder)


def _delete(options: Options, account: Account) -> list[str]:
    if options.keep:
        raise StepSkipped(f"--keep: the stack {options.stack} stays; docs/how-to/delete-a-stack.md")
    return [*(eks_access.remove(account.stack) if account.created else ()), *account.delete()]


def _berth(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BERTH, *arguments], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
