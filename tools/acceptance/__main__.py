"""`python -m tools.acceptance --stack NAME [--kubeconfig FILE] [--parameter NAME=VALUE]… [--keep]`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click
import yaml

from berth import __version__
from berth_cli.installation.doctor.aws_account import AccountUnavailable, AWSAccount
from tests.deployment import sam
from tools.acceptance import eks_access
from tools.acceptance.account import Account
from tools.acceptance.placement import SCHEDULER_NAME, Placement, placing, scheduler_command, scheduler_configuration
from tools.acceptance.report import Ended, Result, Step, StepFailed, StepSkipped, markdown, private_values, run

BERTH = Path(sys.executable).parent / "berth"
FIRST_PUBLICATION_SECONDS = 240
POLL_SECONDS = 3
NAME_SECONDS = 1800
"""The time limit in seconds for the domain name: a person must create its record after the deployment."""
ALARM_SECONDS = 420
HANDOVER_SECONDS = 90
MAX_STALENESS = 180
GANG_MEMBERS = 4
CALL_SECONDS = 60
"""The timeout of a call in seconds: the first call after a deployment is a cold start."""

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
    client: tuple[Path, Path] | None

    @property
    def values(self) -> dict[str, str]:
        given = dict(each.split("=", 1) for each in self.parameters)
        return {"Authentication": "basic", "Profile": "label-priority", "SchedulerNames": SCHEDULER_NAME} | given

    @property
    def credentials(self) -> list[str]:
        return [f"--tls-client-cert={self.client[0]}", f"--tls-client-key={self.client[1]}"] if self.client else []


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
@click.option(
    "--client",
    nargs=2,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="With Authentication=mtls, certificate and key of `berth certificates`, from the directory that it made.",
)
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

    Uses the caller's AWS credentials. A run takes about 20 minutes and costs a few cents. The report does not contain
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
    facts = [began, f"Parameters: {parameters}."]
    report.write_text(markdown(f"Acceptance of Berth {__version__}", facts, ended, private_values(options.values)))
    click.echo(f"report: {report}", err=True)
    results = {each.result for each in ended}
    sys.exit(130 if Result.INTERRUPTED in results else int(Result.FAILED in results))


def _steps(options: Options, account: Account, folder: Path) -> list[Step]:
    return [
        Step("Account", account.check),
        Step("Build and deploy", lambda: _build(options, account, folder)),
        Step("Rights in the EKS cluster", lambda: eks_access.allow(account.stack, options.kubeconfig)),
        Step("Domain name and allow-list", lambda: _allow(options, account)),
        Step("First publication of the watcher", lambda: _wait_for_watcher(options)),
        Step("berth doctor", lambda: _doctor(options)),
        Step("Pods placed by kube-scheduler", lambda: _place(options, folder)),
        Step("Gang", lambda: _place_gang(options, folder)),
        Step("Change of a tag", lambda: _retag(options, account, folder)),
        Step("Deployment during a run of the watcher", lambda: _redeploy(options, account, folder)),
        Step("Alarm of a stopped scheduler", lambda: _alarm(options, account, folder)),
        Step("Deletion", lambda: _delete(options, account), always=True),
    ]


def _build(options: Options, account: Account, folder: Path) -> list[str]:
    if options.use_build is None:
        overrides = _overrides(folder, options.values)
        sam.run(["build", "--no-cached", "--build-dir", folder / "build", *overrides], sam.PROJECT, os.environ)
    _deploy(options, account, folder)
    return []


def _overrides(folder: Path, values: Mapping[str, str]) -> list[str]:
    # SAM splits values at quotes, so the parameters are in a file; JSON is valid YAML.
    (folder / "parameters.yaml").write_text(json.dumps(values))
    return ["--parameter-overrides", f"file://{folder / 'parameters.yaml'}"]


def _deploy(options: Options, account: Account, folder: Path, *more: str, **parameters: str) -> None:
    template = options.use_build or folder / "build" / "template.yaml"
    # Replaces the project's samconfig.toml, whose tables are for permanent stacks.
    (folder / "samconfig.toml").touch()
    arguments: list[str | Path] = [
        *("deploy", "--template-file", template, "--config-file", folder / "samconfig.toml"),
        *("--stack-name", options.stack, "--region", account.region, "--resolve-s3", "--s3-prefix", options.stack),
        *("--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset", "--no-progressbar", *more),
        *_overrides(folder, options.values | parameters),
    ]
    sam.run(arguments, sam.PROJECT, os.environ)


def _allow(options: Options, account: Account) -> list[str]:
    if options.client is None:
        raise StepSkipped("no --client")
    _succeed("certificates", "allow", "--stack", options.stack, "--directory", str(options.client[0].parent))
    target = account.stack.output("DomainNameTarget")
    click.echo(f"   point {options.values['DomainName']} to {target} (CNAME or alias)", err=True)
    seconds = _wait_for(options, "client-certificate", NAME_SECONDS, "no call reaches the stack by its domain name")
    return [f"A call with the client certificate reached the stack by its domain name after {seconds:.0f} s."]


def _wait_for_watcher(options: Options) -> list[str]:
    remedy = "the watcher published nothing: is its access entry or its kubeconfig right?"
    seconds = _wait_for(options, "cache", FIRST_PUBLICATION_SECONDS, remedy)
    return [f"The first publication came {seconds:.0f} s after the deployment."]


def _wait_for(options: Options, check: str, limit: float, remedy: str) -> float:
    """Wait until doctor's check passes. Return the seconds until then. Raises StepFailed."""
    started = time.monotonic()
    while True:
        findings = _findings(options)
        if any((each["check"], each["result"]) == (check, "ok") for each in findings):
            return time.monotonic() - started
        if time.monotonic() - started > limit:
            raise StepFailed(f"after {limit:g} s: {remedy}", _failures(findings))
        time.sleep(POLL_SECONDS)


def _doctor(options: Options) -> list[str]:
    findings = _findings(options)
    if failures := _failures(findings):
        raise StepFailed(f"berth doctor has {len(failures)} failures", failures)
    results = [each["result"] for each in findings]
    return ["{} ok, {} warnings, {} skipped.".format(*map(results.count, ("ok", "warning", "skipped")))]


def _findings(options: Options) -> list[Mapping[str, str]]:
    kubeconfig = ["--kubeconfig", str(options.kubeconfig)] if options.kubeconfig else []
    given = [*kubeconfig, *options.credentials]
    done = _berth("doctor", "--stack", options.stack, "--timeout", str(CALL_SECONDS), *given, "-o", "json")
    try:
        found: list[Mapping[str, str]] = json.loads(done.stdout)["findings"]
    except (ValueError, KeyError):
        raise StepFailed(f"berth doctor ended with {done.returncode}", done.stderr.splitlines()) from None
    return found


def _failures(findings: Sequence[Mapping[str, str]]) -> list[str]:
    failed = [each for each in findings if each["result"] == "failed"]
    return [f"- {each['check']}: {each['message']} ({each['remedy']})" for each in failed]


@contextmanager
def _placing(options: Options, folder: Path) -> Iterator[Placement]:
    if options.kubeconfig is None:
        raise StepSkipped("no --kubeconfig")
    printed = _succeed("scheduler-config", "--stack", options.stack, *(options.credentials or ["--with-password"]))
    flags = [word for word in printed.stderr.split() if word.startswith("--feature-gates=")]
    configuration = scheduler_configuration(yaml.safe_load(printed.stdout), options.kubeconfig)
    with placing([*scheduler_command(options.scheduler), *flags], configuration, options.kubeconfig, folder) as found:
        yield found


def _place(options: Options, folder: Path) -> list[str]:
    with _placing(options, folder) as placement:
        return placement.place(options.pods)


def _place_gang(options: Options, folder: Path) -> list[str]:
    """Place a gang. The bind call of its last member commits all members in one transaction, with bind's role."""
    document = {"apiVersion": "berth.dev/v1alpha1", "kind": "BerthConfiguration", "profile": options.values["Profile"]}
    (folder / "gangs.yaml").write_text(json.dumps(document | {"gangs": {"enabled": True}}))
    _succeed("config", "apply", str(folder / "gangs.yaml"), "--stack", options.stack)
    with _placing(options, folder) as placement:
        return placement.place_gang(GANG_MEMBERS)


def _retag(options: Options, account: Account, folder: Path) -> list[str]:
    _deploy(options, account, folder, "--tags", "berth-acceptance=changed")
    return ["Nothing was replaced that the verbs need:", *_doctor(options)]


def _redeploy(options: Options, account: Account, folder: Path) -> list[str]:
    """Publish new versions of all functions while the watcher runs, and watch the age of the data."""
    inspected, oldest = AWSAccount(account.stack), 0.0
    timeout = "10" if options.values.get("HttpTimeoutSeconds") == "20" else "20"

    def deploy() -> None:
        _deploy(options, account, folder, HttpTimeoutSeconds=timeout)
        time.sleep(HANDOVER_SECONDS)

    with ThreadPoolExecutor(1) as pool:
        deployed = pool.submit(deploy)
        while not deployed.done():
            with suppress(AccountUnavailable):
                item = inspected.head()
                if item is not None and item.head.pointer is not None:
                    oldest = max(oldest, time.time() - item.head.pointer.observation.observed_at)
            time.sleep(1)
        deployed.result()
    if oldest > MAX_STALENESS:
        raise StepFailed(f"the data was {oldest:.0f} s old, more than maxStaleness")
    return [f"The oldest data was {oldest:.0f} s old, until {HANDOVER_SECONDS} s after the deployment."]


def _alarm(options: Options, account: Account, folder: Path) -> list[str]:
    """Stop the scheduler, and wait until the alarm of PodsUndecided fires for a waiting pod."""
    with _placing(options, folder) as placement:
        placement.scheduler.stop()
        placement.create("waits")
        seconds = account.wait_for_alarm("PodsUndecidedAlarm", ALARM_SECONDS)
    return [f"PodsUndecided fired {seconds:.0f} s after the pod was created."]


def _delete(options: Options, account: Account) -> list[str]:
    if options.keep:
        raise StepSkipped(f"--keep: the stack {options.stack} stays; docs/how-to/delete-a-stack.md")
    return [*(eks_access.remove(account.stack) if account.created else ()), *account.delete()]


def _succeed(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Berth. Raises StepFailed if it fails."""
    done = _berth(*arguments)
    if done.returncode:
        raise StepFailed(f"berth {arguments[0]} ended with {done.returncode}", done.stderr.splitlines())
    return done


def _berth(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BERTH, *arguments], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    main()
