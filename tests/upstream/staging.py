"""The module k8s.io/kubernetes with its own tests, in `.build/`, where it is patched and built.

The Go proxy's archive of a release has the tests but not the staging modules, which are published separately.
The repository does not contain upstream's code: a patch has a pattern, its replacement, and the number of matches.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
# Folders with the packages and data of the tests of pkg/scheduler and test/integration/scheduler.
FOLDERS = ("api", "cmd", "pkg", "plugin", "test", "third_party")
STAGED = ".staged"
STAGING_MODULE = re.compile(r"=> \./staging/src/(\S+)")


class StagingError(Exception):
    """The release differs from what a patch expects, or Go fails."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replaces `pattern`, a regular expression in which ^ and $ are the ends of a line; it must occur `times` times."""

    pattern: str
    replacement: str
    times: int = 1

    def apply(self, text: str, path: str) -> str:
        """Return the edited text. Raises StagingError if the pattern does not occur exactly `times` times."""
        edited, found = re.subn(self.pattern, lambda match: match.expand(self.replacement), text, flags=re.MULTILINE)
        if found != self.times:
            raise StagingError(f"{path}: {self.pattern!r} occurs {found} times and not {self.times}")
        return edited


@dataclass(frozen=True, slots=True)
class UpstreamTree:
    """A writable copy of a release. `source`: the same release in the module cache, as it was published."""

    release: str
    root: Path
    source: Path
    _written: list[Path] = field(default_factory=list, compare=False, repr=False)

    def patch(self, path: str, *edits: Edit) -> None:
        """Write the published file with these edits; a file is patched by one call."""
        text = (self.source / path).read_text()
        for edit in edits:
            text = edit.apply(text, path)
        self.write(path, text)

    def write(self, path: str, text: str) -> None:
        """Write a file unless it has this text, because Go rebuilds newer files."""
        target = self.root / path
        self._written.append(target)
        if not target.exists() or target.read_text() != text:
            target.write_text(text)

    def test_binary(self, package: str) -> Path:
        """Return the path of `build_test`'s binary, which must run in the folder `root / package`, as in `go test`."""
        return self.root / "bin" / f"{package.replace('/', '-')}.test"

    def build_test(self, package: str) -> Path:
        """Build the test binary of a package such as pkg/scheduler/framework/plugins/noderesources.

        Linking takes 15 s, so a binary that is newer than every patch stays.
        """
        binary = self.test_binary(package)
        newest = max(each.stat().st_mtime for each in (self.root / STAGED, *self._written))
        if binary.exists() and binary.stat().st_mtime > newest:
            return binary
        go("test", "-c", "-trimpath", "-ldflags=-s -w", "-o", str(binary), f"./{package}", directory=self.root)
        return binary


def stage(kubernetes: str) -> UpstreamTree:
    """Copy the release of tests/kubernetes/<kubernetes>.mod to .build/upstream-<kubernetes> unless it exists."""
    module = json.loads(
        go(
            *f"mod download -json -modfile=kubernetes/{kubernetes}.mod k8s.io/kubernetes".split(),
            directory=PROJECT / "tests",
        )
    )
    tree = UpstreamTree(module["Version"], PROJECT / ".build" / f"upstream-{kubernetes}", Path(module["Dir"]))
    ready = tree.root / STAGED
    if not ready.exists() or ready.read_text() != tree.release:
        shutil.rmtree(tree.root, ignore_errors=True)
        tree.root.mkdir(parents=True)
        for folder in FOLDERS:
            shutil.copytree(tree.source / folder, tree.root / folder, copy_function=shutil.copyfile)
        _write_module(tree, kubernetes)
        ready.write_text(tree.release)
    return tree


def _write_module(tree: UpstreamTree, kubernetes: str) -> None:
    """Write go.mod with the published staging modules: v1.36.3 uses their v0.36.3.

    Neither upstream's sums nor ours include a few staging modules that go.mod requires but no test uses: -mod=mod gets
    their sums from the sum database.
    """
    published = tree.release.replace("v1.", "v0.", 1)
    text = (tree.source / "go.mod").read_text()
    tree.write("go.mod", STAGING_MODULE.sub(rf"=> \1 {published}", text))
    sums = (tree.source / "go.sum").read_text() + (PROJECT / "tests" / "kubernetes" / f"{kubernetes}.sum").read_text()
    tree.write("go.sum", "".join(sorted(set(sums.splitlines(keepends=True)))))
    go(
        "list",
        "-mod=mod",
        "-test",
        "-deps",
        "./pkg/scheduler/...",
        "./test/integration/scheduler/...",
        directory=tree.root,
    )


def go(*arguments: str, directory: Path) -> str:
    """Run a Go command at low priority, with two compilers at a time, and return its output."""
    environment = os.environ | {"GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -p=2".strip(), "GOWORK": "off"}
    done = subprocess.run(
        ["nice", "-n", "5", "go", *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StagingError(f"go {' '.join(arguments)} in {directory}:\n{done.stdout}{done.stderr}")
    return done.stdout
