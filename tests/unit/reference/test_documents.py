"""Every berth command and every make target in the documents exists, with the options that the documents give it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import click

from berth_cli.installation.doctor.checks.cluster import TESTED
from berth_cli.main import main
from tests.builders.documents import PAGES, commands
from tests.conftest import PROJECT
from tests.scheduler_facts.facts import MEASURED, Facts
from tools.reference.__main__ import GENERATED, outdated

PRINTED = {"cli.md"}
INLINE = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"(?:^|[(;&|]) *(?:[\w./-]*/)?(berth|make) +([a-z][^;&|#()>…]*)")
OF_EVERY_COMMAND = {"--help", "-h", "--version"}


def lines(page: Path) -> Iterator[str]:
    """Yield the commands that a reader can copy: lines behind a prompt, and code in a sentence."""
    yield from commands(page)
    sentences = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL).replace("\n", " ")
    yield from (code for code in INLINE.findall(sentences) if code.startswith(("berth ", "make ")))


def documented(program: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the page and the words after the program's name, once for each page."""
    for path in PAGES:
        if path.name in PRINTED:
            continue
        found = [match for line in lines(path) for match in COMMAND.findall(line)]
        for words in dict.fromkeys(rest.strip() for name, rest in found if name == program):
            yield path.name, words.split()


def is_known(words: list[str]) -> bool:
    """Return whether this berth command exists and has all of these options."""
    command: click.Command = main
    for word in words:
        if not isinstance(command, click.Group):
            break
        found = command.get_command(click.Context(command), word.strip(":"))
        if found is None and not word.isupper():
            return False
        command = found or command
    options = {word.partition("=")[0].strip(",.:") for word in words if re.match(r"--?[a-z]", word)}
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return options <= known | OF_EVERY_COMMAND


def test_every_documented_berth_command_exists() -> None:
    found = list(documented("berth"))
    assert len(found) > 100
    assert [command for command in found if not is_known(command[1])] == []
    assert not is_known(["simulat"])
    assert not is_known(["simulate", "--clusters"])


def test_every_documented_make_target_exists() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    named = [
        (page, word)
        for page, words in documented("make")
        for word in takewhile(lambda word: re.fullmatch(r"[a-z][a-z0-9-]*", word), words)
    ]
    assert len(named) > 20
    assert [each for each in named if each[1] not in targets] == []


# The deployer's rights cover every AWS command of the install pages.

DOCS = PROJECT / "docs"
INSTALL = sorted((DOCS / "install").glob("*.md"))
AWS_COMMAND = re.compile(r"(?<![\w./-])aws(?: \\\n)? +([a-z][a-z0-9-]+) +([a-z][a-z0-9-]+)")
"""Service and operation of a command of the AWS CLI."""
CLI_ACTIONS = {
    ("logs", "tail"): "logs:FilterLogEvents",
    ("cloudformation", "wait"): "cloudformation:DescribeStacks",
    ("eks", "wait"): "eks:DescribeCluster",
}
PREFIXES = {"service-quotas": "servicequotas", "s3api": "s3"}


def test_deployer_rights_cover_every_command_of_the_install_pages() -> None:
    page = (DOCS / "how-to/deployer-rights.md").read_text()
    policy = (DOCS / "deployer-policy.json").read_text()
    pages = [*INSTALL, DOCS / "how-to/mutual-tls.md", DOCS / "how-to/watcher-in-the-cluster.md"]
    actions = {
        CLI_ACTIONS.get((service, command), f"{PREFIXES.get(service, service)}:{command.title().replace('-', '')}")
        for path in pages
        for service, command in AWS_COMMAND.findall(path.read_text().replace("\\\n", " "))
    }
    assert "eks:CreateAccessEntry" in actions
    assert {each for each in actions if f"`{each}`" not in page and f'"{each}"' not in policy} == set()


# The files under docs/ that are generated from the code.


def test_generated_files_are_up_to_date(tmp_path: Path) -> None:
    without_demo = {name: generate for name, generate in GENERATED.items() if not name.endswith(".svg")}
    assert list(outdated(without_demo)) == [], "make reference"
    (tmp_path / "same.md").write_text("a")
    (tmp_path / "other.md").write_text("a")
    written = {"same.md": lambda: "a", "other.md": lambda: "b", "missing.md": lambda: "c"}
    assert outdated(written, tmp_path) == {"other.md": "b", "missing.md": "c"}


def test_every_kubernetes_version_tested_by_doctor_has_measured_facts() -> None:
    kept = {path.stem: Facts.read(path).kubernetes for path in MEASURED.glob("*.json")}
    assert sorted(kept) == list(TESTED)
    assert all(release.startswith(f"v{minor}.") for minor, release in kept.items())
