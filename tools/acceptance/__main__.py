"""`python -m tools.acceptance --stack NAME [--kubeconfig FILE] [--parameter NAME=VALUE]… [--keep]`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from berth import __version__
from berth_cli.deployed_stack import URL_PREFIX
from berth_cli.doctor import findings as doctor
from tools.acceptance import eks_access
from tools.acceptance.account import Account
from tools.acceptance.cost import cost
from tools.acceptance.placement import place, scheduler_command, scheduler_configuration
from tools.acceptance.report import Facts, markdown
from tools.acceptance.run import Ended, Result, Step, StepFailed, StepSkipped, run

PROJECT = Path(__file__).resolve().parents[2]
SAM = PROJECT / ".tools" / "sam" / "bin" / "sam"
BERTH = Path(sys.executable).parent / "berth"
INTERRUPTED = 130
SHOWN_LINES = 30
FIRST_PUBLICATION_SECONDS = 240
"""The schedule starts the watcher within a minute, and its lists take their time in a large cluster."""
POLL_SECONDS = 3
CALL_SECONDS = 60
"""Nothing is warm after a deployment, and a cold start is no failure here."""
METRICS_DELAY = timedelta(minutes=3)
"""CloudWatch shows a metric a few minutes after its time."""

MEASURED_VERBS = ("filter", "filter_onlyone", "prioritize", "bind", "preempt")
ALL_ARE_WARM = (
    "The watcher had warmed up every verb before: no first call is a cold start. Calls at once are cold starts where "
    "they need more environments."
)

EPILOG = """\b
Examples:
  make acceptance STACK=berth-acceptance PARAMETERS="EksClusterName=… EksEndpoint=… EksCertificateAuthority=…"
  make acceptance STACK=berth-acceptance KUBECONFIG=~/.kube/config PARAMETERS="WatcherKubeconfigSecretArn=… …"

\b
Exit status: 0 no step failed, 1 a step failed, 2 usage error, 130 Ctrl-C. Without --keep the stack is always deleted.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The values of the command line."""

    stack: str
    region: str | None
    parameters: tuple[str, ...]
    kubeconfig: Path | None
    scheduler: str | None
    url: str | None
    pods: int
    calls: int
    burst: int
    keep: bool
    use_build: Path | None
    metrics_wait: float


@click.command(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--stack", required=True, help="Name of the stack that is created and deleted; it must not exist.")
@click.option("--region", help="AWS region; default: from the AWS configuration.")
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Template parameter; repeatable.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Administrator of the cluster that the parameters name: pods are placed there, in a namespace of their own.",
)
@click.option(
    "--scheduler", help="Command that runs kube-scheduler; default: what `make e2e` built, else kube-scheduler."
)
@click.option("--url", help="urlPrefix for scheduler and measurement, if it is not the stack's output.")
@click.option("--pods", type=click.IntRange(min=1), default=20, show_default=True, help="Pods to place.")
@click.option("--calls", type=click.IntRange(min=1), default=100, show_default=True, help="Measured calls of a verb.")
@click.option("--burst", type=click.IntRange(0, 200), default=10, show_default=True, help="Calls of a verb at once.")
@click.option("--keep", is_flag=True, help="Leave the stack in place.")
@click.option(
    "--template",
    "use_build",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A built template; default: run sam build.",
)
@click.option(
    "--metrics-wait",
    type=click.FloatRange(min=0),
    default=METRICS_DELAY.total_seconds(),
    show_default=True,
    help="Seconds to wait for CloudWatch's metrics before the cost is read.",
)
@click.option(
    "--report", type=click.Path(path_type=Path, dir_okay=False), default=Path("acceptance.md"), show_default=True
)
def main(report: Path, **values: object) -> None:
    """Try Berth in an AWS account: deploy, check, place pods, measure, show the cost, delete, and write a report.

    Uses the caller's AWS credentials. A run takes about ten minutes and costs a few cents. The report names no account
    and no host, so that it can be attached to an issue.
    """
    options = Options(**values)  # type: ignore[arg-type]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    account = Account(options.region, options.stack)
    began = datetime.now(UTC)
    ended: list[Ended] = []
    with tempfile.TemporaryDirectory(prefix="berth-acceptance-") as folder:
        for each in run(_steps(options, account, Path(folder), began), time.monotonic, _begin):
            ended.append(each)
            click.echo(f"   {each.result}, {each.seconds:.0f} s", err=True)
            for line in each.lines if each.result is Result.FAILED else ():
                click.echo(f"   {line}", err=True)
    facts = Facts(__version__, options.region or account.region, f"{began:%Y-%m-%d %H:%M} UTC", options.parameters)
    report.write_text(markdown(facts, ended))
    click.echo(f"report: {report}", err=True)
    results = {each.result for each in ended}
    sys.exit(INTERRUPTED if Result.INTERRUPTED in results else int(Result.FAILED in results))


def _begin(name: str) -> None:
    click.echo(f"== {name}", err=True)


def _steps(options: Options, account: Account, folder: Path, began: datetime) -> list[Step]:
    return [
        Step("Account", account.check),
        Step("Build and deploy", lambda: _deploy(options, account, folder)),
        Step("Rights in the EKS cluster", lambda: eks_access.allow(account.stack, options.kubeconfig)),
        Step("First publication of the watcher", lambda: _wait_for_watcher(options)),
        Step("berth doctor", lambda: _doctor(options)),
        Step("Pods placed by kube-scheduler", lambda: _place(options, folder)),
        Step("Times of the verbs", lambda: measure(options)),
        Step("Cost of the run", lambda: _cost(options, account, began), always=True),
        Step("Deletion", lambda: _delete(options, account), always=True),
    ]


def _deploy(options: Options, account: Account, folder: Path) -> list[str]:
    if not SAM.exists():
        raise StepFailed("sam is not set up: run `make tools`")
    template = options.use_build
    overrides = _parameters_file(folder, options.parameters)
    if template is None:
        _run([SAM, "build", "--no-cached", "--build-dir", folder / "build", "--parameter-overrides", overrides])
        template = folder / "build" / "template.yaml"
    # Without samconfig.toml: its tables are for stacks that stay.
    (folder / "samconfig.toml").touch()
    arguments: list[str | Path] = [
        *("deploy", "--template-file", template, "--config-file", folder / "samconfig.toml"),
        *("--stack-name", options.stack, "--region", account.region, "--resolve-s3", "--s3-prefix", options.stack),
        *("--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset", "--no-progressbar"),
        *("--parameter-overrides", overrides),
    ]
    _run([SAM, *arguments])
    return []


def _parameters_file(folder: Path, parameters: Sequence[str]) -> str:
    """SAM splits values at quotes, so they are given in a file. The trial's ledger must not survive its stack."""
    pairs = (each.partition("=") for each in parameters)
    values = {
        "Authentication": "basic",
        "LedgerDeletionProtection": "false",
        **{name: value for name, _, value in pairs},
    }
    path = folder / "parameters.yaml"
    path.write_text(json.dumps(values))  # JSON is YAML
    return f"file://{path}"


def _wait_for_watcher(options: Options) -> list[str]:
    """doctor's check of the cache passes as soon as there is a state to decide on."""
    started = time.monotonic()
    while True:
        done = _berth("doctor", *_doctor_arguments(options), "-o", "json", check=False)
        findings = {each["check"]: each for each in _findings(done)}
        if findings.get(doctor.CheckName.CACHE, {}).get("result") == doctor.Result.OK:
            return [f"The first publication came {time.monotonic() - started:.0f} s after the deployment."]
        if time.monotonic() - started > FIRST_PUBLICATION_SECONDS:
            raise StepFailed(
                f"the watcher published nothing within {FIRST_PUBLICATION_SECONDS} s: is its access entry or its "
                "kubeconfig right?",
                _failed_findings(findings.values()),
            )
        time.sleep(POLL_SECONDS)


def _doctor_arguments(options: Options) -> list[str]:
    arguments = ["--stack", options.stack, "--timeout", str(CALL_SECONDS)]
    if options.region:
        arguments += ["--region", options.region]
    if options.url:
        arguments += ["--url", options.url]
    if options.kubeconfig:
        arguments += ["--kubeconfig", str(options.kubeconfig)]
    return arguments


def _doctor(options: Options) -> list[str]:
    findings = _findings(_berth("doctor", *_doctor_arguments(options), "-o", "json", check=False))
    failures = _failed_findings(findings)
    if failures:
        raise StepFailed(f"berth doctor has {len(failures)} failures", failures)
    counts = [
        sum(each["result"] == result for each in findings)
        for result in (doctor.Result.OK, doctor.Result.WARNING, doctor.Result.SKIPPED)
    ]
    return ["{} ok, {} warnings, {} skipped.".format(*counts)]


def _findings(done: subprocess.CompletedProcess[str]) -> list[Mapping[str, str]]:
    try:
        found: list[Mapping[str, str]] = json.loads(done.stdout)["findings"]
    except (ValueError, KeyError):
        raise StepFailed(f"berth doctor ended with {done.returncode}", done.stderr.splitlines()) from None
    return found


def _failed_findings(findings: Iterable[Mapping[str, str]]) -> list[str]:
    return [
        f"- {each['check']}: {each['told']} ({each['remedy']})"
        for each in findings
        if each["result"] == doctor.Result.FAILED
    ]


def _place(options: Options, folder: Path) -> list[str]:
    if options.kubeconfig is None:
        raise StepSkipped("no --kubeconfig")
    region = ["--region", options.region] if options.region else []
    printed = _berth("scheduler-config", "--stack", options.stack, *region, "--password-from", "stack", "-o", "json")
    document = json.loads(printed.stdout)
    url = _with_credentials(options.url, document["extenders"][0]["urlPrefix"]) if options.url else None
    configuration = scheduler_configuration(document, options.kubeconfig, url)
    return place(scheduler_command(options.scheduler), configuration, options.kubeconfig, options.pods, folder)


def _with_credentials(url: str, own: str) -> str:
    """The user information of the stack's own address, at another address."""
    userinfo, at, _ = own.partition("://")[2].rpartition("@")
    return url.replace("://", f"://{userinfo}{at}", 1)


def measure(options: Options) -> list[str]:
    """`berth bench`. Raises StepFailed."""
    done = _berth(
        *("bench", *_doctor_arguments(options), "--calls", str(options.calls), "--burst", str(options.burst)),
        *(argument for verb in MEASURED_VERBS for argument in ("--verb", verb)),
        *("-o", "markdown"),
        check=False,
    )
    lines = done.stdout.splitlines()
    if done.returncode:
        raise StepFailed("a call was not answered", [*lines, *done.stderr.splitlines()])
    return [*lines, "", ALL_ARE_WARM]


def _cost(options: Options, account: Account, began: datetime) -> list[str]:
    _ = account.stack.outputs.get(URL_PREFIX)  # fails here, and not after the wait, where nothing was deployed
    time.sleep(options.metrics_wait)
    return list(cost(*account.usage(began, datetime.now(UTC))))


def _delete(options: Options, account: Account) -> list[str]:
    if options.keep:
        raise StepSkipped(f"--keep: the stack {options.stack} stays; docs/how-to/delete-a-stack.md")
    return [*(eks_access.remove(account.stack) if account.created else ()), *account.delete()]


def _berth(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([BERTH, *arguments], capture_output=True, text=True, check=False)
    if check and done.returncode:
        raise StepFailed(f"berth {arguments[0]} ended with {done.returncode}", done.stderr.splitlines())
    return done


def _run(command: Sequence[str | Path]) -> None:
    variables = {**os.environ, "SAM_CLI_TELEMETRY": "0"}
    done = subprocess.run(
        command, cwd=PROJECT, env=variables, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines()[-SHOWN_LINES:]
        raise StepFailed(f"sam {command[1]} ended with {done.returncode}", ["```text", *lines, "```"])


if __name__ == "__main__":
    main()
