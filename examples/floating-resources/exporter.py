"""Applies the number of seats that a licence server reports as the capacity of a floating resource. It changes only
this number: in the document of a stack, or in the file of `berth serve --config`. SIGTERM ends it after an update."""

import argparse
import signal
import subprocess
import sys
import time
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

import yaml


def seats(source: str) -> int:
    try:
        with urlopen(source if "://" in source else Path(source).resolve().as_uri(), timeout=10) as answer:  # noqa: S310
            return int(answer.read(100))
    except (OSError, HTTPException, ValueError) as error:
        raise RuntimeError(f"{source} gives no number of seats: {error}; check the server, or SOURCE") from error


def field(node: yaml.Node | None, name: str) -> yaml.Node | None:
    fields = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for key, value in fields if key.value == name), None)


def with_capacity(document: str, resource: str, number: int) -> str:
    """Return the document with this capacity; its comments stay."""
    resources = field(yaml.compose(document, yaml.SafeLoader), "managedResources")
    for each in resources.value if isinstance(resources, yaml.SequenceNode) else ():
        name, value = field(each, "name"), field(field(each, "capacity"), "value")
        if name is not None and name.value == resource and value is not None:
            return f"{document[: value.start_mark.index]}{number}{document[value.end_mark.index :]}"
    raise RuntimeError(f"the document has no capacity.value for {resource}; add it, or correct --resource")


def config(*arguments: str, text: str | None = None) -> str:
    command = ["berth", "config", *arguments]
    try:
        done = subprocess.run(command, check=False, input=text, capture_output=True, text=True, timeout=120)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(f"{error}; put berth on the PATH, or check the network") from error
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


def update(source: str, resource: str, stack: str | None, file: Path) -> None:
    before = config("show", "--stack", stack) if stack else file.read_text()
    after = with_capacity(before, resource, number := seats(source))
    if stack and after != before:
        # A trial refuses a capacity below the use if all of its pods hold units.
        config("apply", "-", "--stack", stack, "--skip-trial", "--no-wait", text=after)
    elif after != before:
        config("check", "-", text=after)
        file.write_text(after)
    if after != before:
        print(f"{resource}: {number}", flush=True)


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("source", metavar="SOURCE", help="file or HTTP address with the number of seats")
parser.add_argument("--resource", required=True, help="its name in managedResources")
target = parser.add_mutually_exclusive_group(required=True)
target.add_argument("--stack", help="name of the stack")
target.add_argument("--file", type=Path, help="file of berth serve --config")
parser.add_argument("--interval", type=float, default=60, help="seconds between updates, 60 by default")
options, stopped = parser.parse_args(), list[bool]()
signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
while not stopped:
    try:
        update(options.source, options.resource, options.stack, options.file)
    except (RuntimeError, OSError, yaml.YAMLError) as error:
        print(f"the capacity stays: {error}", file=sys.stderr, flush=True)
    due = time.monotonic() + options.interval
    while not stopped and time.monotonic() < due:
        time.sleep(min(1.0, options.interval))
