"""Runs `sam build`, `sam deploy` and `sam local invoke` from its own environment (`.tools/sam`)."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[2]
COMMAND = PROJECT / ".tools" / "sam" / "bin" / "sam"

# The tests deploy with this section of samconfig.toml and its stack.
CONFIG_ENV = "emulator"
STACK_NAME = "berth-emulator"

ARCHITECTURES = {"aarch64": "arm64", "arm64": "arm64", "x86_64": "x86_64", "AMD64": "x86_64"}
SHOWN_LINES = 40
QUIET = {"SAM_CLI_TELEMETRY": "0", "SAM_CLI_POLL_DELAY": "1"}


class SamFailed(Exception):
    """A SAM command failed; the message contains the end of its output."""


@dataclass(frozen=True)
class Machine:
    """The platform that functions are built for; on the emulator it must be this machine's platform."""

    architecture: str
    python_version: str

    @classmethod
    def this(cls) -> Machine:
        version = sys.version_info
        return cls(ARCHITECTURES[platform.machine()], f"{version.major}.{version.minor}")

    @property
    def parameters(self) -> dict[str, str]:
        return {"Architecture": self.architecture}

    @property
    def build_variables(self) -> dict[str, str]:
        """Return the platform for the makefiles of the layers, which do not get the template's parameters.

        The emulator runs functions in its own Python, whatever their runtime is.
        """
        return {
            "BERTH_ARCHITECTURE": self.architecture,
            "BERTH_PYTHON_VERSION": self.python_version,
            "BERTH_BYTECODE_PYTHON": sys.executable,
        }

    @property
    def base_image(self) -> str:
        """Return the image in which `sam local` runs functions."""
        return f"public.ecr.aws/lambda/python:{self.python_version}-{self.architecture}"


def build(directory: Path, machine: Machine) -> Path:
    """Build the stack into `directory` and return the built template."""
    run(
        [
            *("build", "--no-cached", "--build-dir", directory),  # tests that run at the same time share the cache
            *("--parameter-overrides", _parameters(directory, machine.parameters)),
        ],
        PROJECT,
        {**os.environ, **machine.build_variables},
    )
    return directory / "template.yaml"


def deploy(template: Path, parameters: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Deploy a built template to the account of `environment`; an empty change set is not an error."""
    run(
        [
            "deploy",
            f"--template-file={template}",
            f"--config-file={PROJECT / 'samconfig.toml'}",  # by default SAM looks for it beside the template
            f"--config-env={CONFIG_ENV}",
            f"--stack-name={STACK_NAME}",
            "--no-fail-on-empty-changeset",
            "--no-progressbar",
            "--parameter-overrides",
            _parameters(template.parent, parameters),
        ],
        PROJECT,
        environment,
    )


def deployed_parameters(template: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(_parameters_file(template.parent).read_text())
    return found


def local_invoke(
    logical_id: str,
    event: Path,
    *,
    template: Path,
    machine: Machine,
    image: str,
    variables: Path,
    environment: Mapping[str, str],
) -> str:
    """Invoke a built function in a container of `image` and return its response.

    `variables` is a file for `--env-vars`: values of variables that the template declares.
    """
    return run(
        [
            "local",
            "invoke",
            logical_id,
            f"--event={event}",
            f"--template-file={template}",
            f"--invoke-image={image}",
            "--skip-pull-image",
            f"--env-vars={variables}",
            "--parameter-overrides",
            # The answers in events/ are those of this profile.
            " ".join(f"{name}={value}" for name, value in {"Profile": "label-priority", **machine.parameters}.items()),
        ],
        PROJECT,
        environment,
    )


def run(arguments: list[str | Path], project: Path, environment: Mapping[str, str]) -> str:
    """Run SAM and return its output. Raises SamFailed."""
    done = subprocess.run(
        [COMMAND, *arguments],
        cwd=project,
        env={**environment, **QUIET},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        shown = "\n".join((done.stdout + done.stderr).splitlines()[-SHOWN_LINES:])
        raise SamFailed(f"sam {arguments[0]} exited with {done.returncode}\n{shown}")
    return done.stdout


def _parameters(beside: Path, parameters: Mapping[str, str]) -> str:
    """Write the parameters to a file, because SAM splits values at quotes. JSON is valid YAML, the format SAM reads."""
    path = _parameters_file(beside)
    path.write_text(json.dumps(dict(parameters)))
    return f"file://{path}"


def _parameters_file(beside: Path) -> Path:
    return beside.with_suffix(".parameters.yaml")
