"""Runs the table tests of the scheduler's plugins and of their helpers, and records their inputs and expected outputs.

This package does not contain upstream's code. A method of a plugin is renamed, and a method of `hooks/` replaces it: it
calls the renamed method and writes input and output. A table of a function writes its rows itself. Upstream's own
checks stay, so the output is as upstream expects. Go reads the changed files by an overlay; the tree stays unchanged.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.upstream.staging import Edit, StagingError, UpstreamTree, go, stage
from tests.upstream.tables.tables import KUBERNETES, TABLES, Hook, Table

SOURCES = Path(__file__).parent
# The beginning of a test: the function, or a row of its table.
_BEGIN = re.compile(
    r"^(?:func [Tt]est\w+\(|\t+\w+\.(?:Run|SyncTest)\(.*func\()(\w+) (?:\*testing\.T|ktesting\.TContext)\) \{$",
    re.MULTILINE,
)
_FUNCTION = re.compile(r"^func (?:\(\w+ \*\w+\) )?(\w+)\(.*?^\}\n", re.MULTILINE | re.DOTALL)


def record(kubernetes: str) -> Path:
    """Run the tests of all tables and return the folder with a file of lines for each. Raises StagingError."""
    tree = stage(kubernetes)
    changed = tree.root.with_name(f"{tree.root.name}-tables")
    shutil.rmtree(changed, ignore_errors=True)
    lines = changed / "lines"
    lines.mkdir(parents=True)
    for module in dict.fromkeys(table.module for table in TABLES):
        tables = [table for table in TABLES if table.module == module]
        root = tree.root if module == KUBERNETES else _copied(module, tree)
        overlay = changed / f"{module.replace('/', '-')}.json"
        overlay.write_text(json.dumps({"Replace": dict(_changed_files(tables, root, changed / module, lines))}))
        packages = (f"./{table.package}" for table in tables)
        go("test", "-vet=off", "-trimpath", "-count=1", f"-overlay={overlay}", *packages, directory=root)
    return lines


def _copied(module: str, tree: UpstreamTree) -> Path:
    """Copy a module that is published separately: an overlay does not apply to the module cache."""
    version = tree.release.replace("v1.", "v0.", 1)
    found = json.loads(go("mod", "download", "-json", f"{module}@{version}", directory=tree.root))
    root = tree.root.with_name(f"{tree.root.name}-modules") / f"{module}@{version}"
    if not root.exists():
        shutil.copytree(found["Dir"], root, copy_function=shutil.copyfile)
    return root


def _changed_files(tables: list[Table], root: Path, changed: Path, lines: Path) -> Iterator[tuple[str, str]]:
    """Yield each replaced or added file of the tree, with the file that replaces it."""
    texts = {Path("berth/record/record.go"): _source("record.go").replace("DIRECTORY", str(lines))}
    if tables[0].module == KUBERNETES:
        texts[Path("berth/scheduling/scheduling.go")] = _source("scheduling.go")
    for table in tables:
        folder = Path(table.package)
        read = {folder / path.name: path.read_text() for path in sorted((root / folder).glob("*.go"))}
        sources = {path: text for path, text in read.items() if not path.name.endswith("_test.go")}
        for path in read.keys() - sources.keys():
            texts |= recording_test(table, path, read[path])
        for hook in table.hooks:
            text = hook_of(hook, table)
            for name in sorted(set(re.findall(r"unrecorded(\w+)\(", text))):
                sources |= _renamed(sources, hook.receiver, name)
            texts[folder / f"berth_{hook.file}_{hook.receiver}.go"] = text
        texts |= {path: text for path, text in sources.items() if text != read[path]}
    for path, text in texts.items():
        target = changed / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        yield str(root / path), str(target)


def recording_test(table: Table, path: Path, text: str) -> dict[Path, str]:
    """Return the test file with records of its rows and of the beginning of each test; nothing if it has no tests."""
    rows = [row.edit() for row in table.rows if row.file == path.name]
    for edit in rows:
        text = edit.apply(text, str(path))
    text, tests = _BEGIN.subn(rf'\g<0>\nrecord.Test("{table.name}", \1.Name())', text)
    if not tests:
        return {}
    packages = ["record", "scheduling"] if any(" scheduling." in edit.replacement for edit in rows) else ["record"]
    imports = "".join(f'\n\t"{table.module}/berth/{package}"' for package in packages)
    return {path: Edit(r"^import \($", f"import ({imports}").apply(text, str(path))}


def hook_of(hook: Hook, table: Table) -> str:
    """Return the source of a hook, for the package of the table."""
    text = _source(f"hooks/{hook.file}.go")
    if hook.functions:
        text = _FUNCTION.sub(lambda found: found[0] if found[1] in hook.functions else "", text)
    for name, here in hook.names.items():
        text = re.sub(rf"\b(unrecorded)?{name}\(", rf"\g<1>{here}(", text)
    text = text.replace("*Plugin)", f"*{hook.receiver})").replace('"plugin"', f'"{table.name}"')
    return re.sub(r"^package \w+$", f"package {Path(table.package).name}", text, flags=re.MULTILINE)


def _renamed(texts: Mapping[Path, str], receiver: str, name: str) -> dict[Path, str]:
    """Return the package's only file with this function or method, with another name for it."""
    pattern = rf"^func (\(\w+ \*{receiver}\) )?{name}\("
    found = [path for path, text in texts.items() if re.search(pattern, text, re.MULTILINE)]
    if len(found) != 1:
        raise StagingError(f"{name} of {receiver or next(iter(texts)).parent} is in {len(found)} files and not in one")
    return {found[0]: Edit(pattern, rf"func \1unrecorded{name}(").apply(texts[found[0]], str(found[0]))}


def _source(name: str) -> str:
    return (SOURCES / name).read_text().removeprefix("//go:build ignore\n")
