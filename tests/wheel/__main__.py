"""`python -m tests.wheel DIRECTORY` builds the wheel into it, installs it in a new environment, and tests it there.

Then the GitHub Action's step installs the command in another environment.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import urllib3

from berth import __version__
from tests.deployment.sam import PROJECT
from tests.e2e.kubernetes.child_process import ChildProcess
from tests.integration.commands.test_demo import OUTCOMES

from .action import check_installation
from .installation import Installation, build, install

CLUSTER = PROJECT / "events" / "cluster.yaml"
EXAMPLE = PROJECT / "examples" / "custom-plugin"
FIXTURE = PROJECT / "events" / "filter" / "cache-mode"
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/scheduler")
START_SECONDS = 60
IN_FOLDER = ("sh", "-c", 'cd "$0" && exec env -u PYTHONPATH "$@"')

IMPORT_ALL = """
import importlib, pkgutil, berth, berth_cli
print(berth_cli.__file__)
for package in (berth, berth_cli):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
"""


def version(berth: Installation) -> None:
    """The command and the distribution have the version of the package."""
    assert berth.run("--version") == f"berth, version {__version__}\n"
    assert berth.python("import importlib.metadata as it; print(it.version('berth'))") == f"{__version__}\n"


def kubectl_plugin(berth: Installation) -> None:
    """The program that kubectl runs for `kubectl berth` is installed too."""
    plugin = berth.command.with_name("kubectl-berth")
    assert berth.output([plugin, "--version"]) == f"kubectl berth, version {__version__}\n"


def modules(berth: Installation) -> None:
    """Every module is importable from the environment, not from this folder."""
    assert Path(berth.python(IMPORT_ALL).strip()).is_relative_to(berth.environment)


def demo(berth: Installation) -> None:
    """Every scenario of the demo has the expected outcome, with its examples and functions."""
    lines = [line.strip() for line in berth.run("demo").splitlines()]
    assert [line for line in OUTCOMES if line not in lines] == []


def plugins(berth: Installation) -> None:
    """The example's plugin is checked and packaged, without this folder."""
    name = "berth_plugins.team_nodes:TeamNodes"
    assert f"{name} keeps every rule" in berth.run("plugin", "check", name, "--plugins", EXAMPLE)
    layer = berth.folder / "plugins.zip"
    berth.run("plugin", "package", EXAMPLE, "--file", layer)
    assert "python/berth_plugins/team_nodes.py" in ZipFile(layer).namelist()


def simulate(berth: Installation) -> None:
    """The pods of a dump are placed."""
    assert "1 of 1 pods placed" in berth.run("simulate", "--cluster", PROJECT / "examples" / "cluster.yaml")


def configuration(berth: Installation) -> None:
    """The schema is the documented one."""
    assert berth.run("config", "schema") == (PROJECT / "docs" / "configuration.schema.json").read_text()
    berth.run("config", "check", PROJECT / "examples" / "configuration.yaml")


def scheduler_config(berth: Installation) -> None:
    """A scheduler's configuration is printed."""
    printed = berth.run("scheduler-config", "--url", "http://127.0.0.1:8080/scheduler")
    assert "kind: KubeSchedulerConfiguration" in printed


def serve(berth: Installation) -> None:
    """filter returns the expected response of its fixture over HTTP."""
    event = json.loads(FIXTURE.with_suffix(".json").read_text())
    expected = json.loads(FIXTURE.with_suffix(".expected.json").read_text())
    log = berth.folder / "serve.log"
    server = ChildProcess([*IN_FOLDER, berth.folder, berth.command, "serve", "--cluster", CLUSTER, "--port", "0"], log)
    try:
        server.wait_until(lambda: ADDRESS.search(log.read_text()) is not None, seconds=START_SECONDS)
        (address,) = ADDRESS.findall(log.read_text())
        headers = {"Content-Type": "application/json"}
        answer = urllib3.request("POST", f"{address}/filter", body=event["body"], headers=headers, retries=False)
    finally:
        server.stop()
    assert (answer.status, answer.json()) == (expected["statusCode"], expected["body"])


CHECKS: tuple[Callable[[Installation], None], ...] = (
    version,
    kubectl_plugin,
    modules,
    configuration,
    scheduler_config,
    plugins,
    simulate,
    serve,
    demo,
)


def main(directory: Path) -> None:
    wheel = build(directory)
    print(f"{wheel.relative_to(PROJECT) if wheel.is_relative_to(PROJECT) else wheel}: {wheel.stat().st_size:,} bytes")
    with tempfile.TemporaryDirectory(prefix="berth-wheel-") as temporary:
        berth = install(wheel, Path(temporary))
        for check in CHECKS:
            check(berth)
            print(f"{check.__name__}: {check.__doc__}")
    with tempfile.TemporaryDirectory(prefix="berth-action-") as temporary:
        check_installation(Path(temporary))
        print(f"action: {check_installation.__doc__}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
