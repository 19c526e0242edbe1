"""Builds the stack, deploys it to the emulator, starts its functions, and describes how to call it."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import urllib3
import yaml

from berth.cluster.api_server.kubeconfig import from_secret
from berth.nodecache.feed.cluster import ClusterUnavailable
from tests.deployment import emulator as ministack
from tests.deployment import sam
from tests.deployment.emulator import Emulator
from tests.e2e.kubernetes.loopback import HOST

PROFILE = "label-priority"
HTTP_TIMEOUT_SECONDS = 10
"""The httpTimeout in seconds: the first call starts a process and unpacks the layers on this machine."""
FIRST_PUBLICATION_SECONDS = 150
"""The time limit in seconds for the first publication. The schedule starts the watcher once a minute."""
FIRST_CALLS_SECONDS = 150
"""The time limit in seconds for the first calls of all verbs. On a busy machine each start takes seconds."""
POLL_SECONDS = 0.5
VERBS, THROTTLED_STATUS = ("filter", "prioritize", "bind", "preempt"), 429
ENVIRONMENT, SCHEDULER = "environment", "scheduler.yaml"
BERTH = Path(sys.executable).with_name("berth")

Step = Callable[[str], AbstractContextManager[None]]
"""Shows the name of a step, and its duration."""


class CannotStart(Exception):
    """The stack cannot be started. The message states the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class Address:
    """The stack's address and credentials. `url` ends with /scheduler and does not contain the credentials."""

    url: str
    username: str
    password: str

    def call(self, method: str, path: str, body: bytes | None = None) -> urllib3.BaseHTTPResponse:
        credentials = urllib3.make_headers(basic_auth=f"{self.username}:{self.password}")
        headers = {"Content-Type": "application/json", **credentials}
        url = f"{self.url.removesuffix('/scheduler')}/{path}"
        return urllib3.request(method, url, body=body, headers=headers, retries=False, timeout=HTTP_TIMEOUT_SECONDS)


def leave_accounts(environment: MutableMapping[str, str]) -> None:
    """Remove the shell's AWS variables: commands must not reach its account, or fail because of its profile."""
    for name in [each for each in environment if each.startswith("AWS_")]:
        del environment[name]


def check_tools(port: int) -> None:
    """Raise CannotStart if a tool is missing or the port is in use. Called before the build, which takes a minute."""
    for name, path in {"sam": sam.COMMAND, "ministack, the emulator of AWS,": ministack.COMMAND}.items():
        if not path.exists():
            raise CannotStart(f"{name} is not installed: {path} is missing; run: make local-stack")
    printed = subprocess.run([ministack.PYTHON, "--version"], capture_output=True, text=True, check=False).stdout
    ours = sam.Machine.this().python_version
    if not printed.startswith(f"Python {ours}."):
        raise CannotStart(
            f"the emulator has {printed.strip() or 'a Python that does not start'}, and .venv has {ours}; functions "
            "would not start. Make the emulator again: rm -r .tools/ministack && make local-stack"
        )
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CannotStart(
                f"port {port} cannot be used: {error.strerror}; choose another one: PORT=14566"
            ) from error


def read_kubeconfig(path: Path) -> Mapping[str, object]:
    """Read the document. Raises CannotStart if the file is not a kubeconfig."""
    try:
        document = yaml.safe_load(path.read_text())
    except (OSError, ValueError, yaml.YAMLError):
        document = None
    if not isinstance(document, dict):
        raise CannotStart(f"{path} is not a kubeconfig")
    return document


def deploy(
    emulator: Emulator, kubeconfig: Mapping[str, object], directory: Path, own: Mapping[str, str], step: Step
) -> None:
    """Build and deploy the stack. `own`: the user's parameters. Raises CannotStart and SamFailed."""
    machine = sam.Machine.this()
    secrets = emulator.create_kubeconfigs(watcher=kubeconfig, binder=kubeconfig)
    try:
        from_secret(emulator.client("secretsmanager"), secrets["BinderKubeconfigSecretArn"])
    except ClusterUnavailable as error:
        raise CannotStart(
            f"{error}. A function gets the kubeconfig as data; make such a file: kubectl config view --raw --minify "
            "--flatten > FILE. For a user that runs a command, follow docs/install/other-clusters.md (tokens)"
        ) from error
    defaults = {
        "Authentication": "basic",
        "Profile": PROFILE,
        # write_files writes the configuration of a scheduler with the name default-scheduler.
        "SchedulerNames": "berth-scheduler,default-scheduler",
        "HttpTimeoutSeconds": str(HTTP_TIMEOUT_SECONDS),
        **machine.parameters,
    }
    with step("sam build: functions and layers, about a minute"):
        template = sam.build(directory / "build", machine)
    with step("sam deploy: the stack, about half a minute"):
        sam.deploy(template, {**secrets, **defaults, **own}, emulator.environment())


def address(emulator: Emulator) -> Address:
    """Return a path-style URL of the emulator, because Go does not resolve the host name in the stack's output."""
    secret = emulator.client("secretsmanager").get_secret_value(SecretId=_physical_id(emulator, "PasswordSecret"))
    record = yaml.safe_load(secret["SecretString"])
    url = f"{emulator.endpoint_url}/_aws/execute-api/{_physical_id(emulator, 'Api')}/$default/scheduler"
    return Address(url, record["username"], record["password"])


def start_watcher(emulator: Emulator) -> None:
    """Start the watcher now: the schedule may start it up to a minute later."""
    emulator.client("lambda").invoke(
        FunctionName=f"{_physical_id(emulator, 'WatcherFunction')}:live",
        InvocationType="Event",
        Payload=(sam.PROJECT / "events" / "watcher" / "scheduled.json").read_bytes(),
    )


def wait_until_healthy(called: Address, account: Path) -> None:
    """Wait until /healthz answers 200. Raises CannotStart with its response. `account`: the emulator's directory."""
    deadline = time.monotonic() + FIRST_PUBLICATION_SECONDS
    while (answer := called.call("GET", "healthz")).status != 200:
        if time.monotonic() > deadline:
            raise CannotStart(
                f"the watcher published nothing within {FIRST_PUBLICATION_SECONDS} s; /healthz answers {answer.status} "
                f"{answer.data.decode(errors='replace').strip()}; the emulator's log in {account} has the cause"
            )
        time.sleep(POLL_SECONDS)


def start_verbs(called: Address) -> None:
    """Call each verb until it is not throttled. Otherwise users' calls would wait for processes to start, or
    fail because starting processes use up the account's concurrency. Raises CannotStart."""
    deadline = time.monotonic() + FIRST_CALLS_SECONDS
    for verb in VERBS:
        while called.call("POST", f"scheduler/{verb}", b"{}").status == THROTTLED_STATUS:
            if time.monotonic() > deadline:
                raise CannotStart(
                    f"{verb} is throttled for more than {FIRST_CALLS_SECONDS} s: the emulator takes "
                    f"{ministack.CONCURRENT_EXECUTIONS} concurrent calls, and this machine starts functions too "
                    "slowly; end what else runs on it"
                )
            time.sleep(POLL_SECONDS)


def write_files(directory: Path, emulator: Emulator, called: Address, kubeconfig: Path | None) -> None:
    """Write the variables for a shell, and the scheduler's configuration. Both files contain the password."""
    variables = {name: value for name, value in emulator.environment().items() if name.startswith("AWS_")} | {
        "BERTH_STACK": sam.STACK_NAME,
        "BERTH_URL": called.url,
        "BERTH_USER": f"{called.username}:{called.password}",
    }
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in sorted(variables.items())]
    _write_private(directory / ENVIRONMENT, "".join(lines))
    kubeconfigs = [] if kubeconfig is None else [f"--scheduler-kubeconfig={kubeconfig.resolve()}"]
    options = (f"--stack={sam.STACK_NAME}", f"--url={called.url}", "--with-password", *kubeconfigs)
    command = [str(BERTH), "scheduler-config", *options]
    printed = subprocess.run(command, env=emulator.environment(), capture_output=True, text=True, check=False)
    if printed.returncode:
        raise CannotStart(f"berth scheduler-config ended with {printed.returncode}: {printed.stderr.strip()}")
    _write_private(directory / SCHEDULER, printed.stdout)


def remove_files(directory: Path) -> None:
    """Remove the files that `write_files` wrote: without the account, address and password are invalid."""
    for name in (ENVIRONMENT, SCHEDULER):
        (directory / name).unlink(missing_ok=True)


def keep_log(account: Path) -> None:
    """Remove each execution environment's copy of its function, but keep the emulator's log."""
    for each in account.glob("*/"):
        shutil.rmtree(each, ignore_errors=True)


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)


def _physical_id(emulator: Emulator, logical_id: str) -> str:
    found = emulator.client("cloudformation").describe_stack_resource(
        StackName=sam.STACK_NAME, LogicalResourceId=logical_id
    )
    physical_id: str = found["StackResourceDetail"]["PhysicalResourceId"]
    return physical_id
