"""docs/reference/events-and-reasons.md lists every reason and every outcome that a user can see."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from berth.scheduling.gangs.gang import REASONS as GANG_REASONS
from berth.scheduling.reason_code import REASON_CODES_VERSION, ReasonCode
from tests.conftest import PROJECT

PAGE = (PROJECT / "docs/reference/events-and-reasons.md").read_text()
LAYER = PROJECT / "layers/scheduling/berth"
SIMULATED_SCHEDULER = PROJECT / "cli/berth_cli/placement/scheduler"
# Other outcomes never leave the function that they belong to.
VISIBLE = ("Filter", "Prioritize", "Bind", "Preempt", "Failure", "Authorizer", "Watcher", "Health", "PreTraffic")


# What stands for a name or a number in the page's texts.
PLACEHOLDER = re.compile(r"…|\b(?:NAME|NODE|KEY|HOST|TIME|FIELD|N)\b")


def parsed_modules(containing: str = "", root: Path = LAYER) -> Iterator[tuple[Path, ast.Module]]:
    """Those whose text contains this, since every collection of the tests waits for two of the parses."""
    for path in sorted(root.rglob("*.py")):
        text = path.read_text()
        if containing in text:
            yield path, ast.parse(text)


def constants(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Names and values of the texts that are assigned here."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))):
                yield name, text


def visible_outcomes() -> Iterator[str]:
    wanted = {f"{name}Outcome" for name in VISIBLE}
    for _, module in parsed_modules("Outcome("):
        for statement in module.body:
            if isinstance(statement, ast.ClassDef) and statement.name in wanted:
                wanted.remove(statement.name)
                yield from (value for _, value in constants(statement.body))
    assert not wanted


def reasons() -> Iterator[str]:
    for path, module in parsed_modules("REASON"):
        if "scheduling" in path.relative_to(LAYER).parts:
            yield from (text for name, text in constants(module.body) if name.startswith("REASON"))


def is_documented(reason: str) -> bool:
    """A reason has a placeholder where the page has a name."""
    before, _, after = reason.partition("{}")
    return before in PAGE and after in PAGE


def test_every_outcome_and_reason_is_documented() -> None:
    assert [each for each in visible_outcomes() if f"`{each}`" not in PAGE] == []
    assert [each for each in reasons() if not is_documented(each)] == []
    assert [each for each in GANG_REASONS if f"`{each}`" not in PAGE] == []
    assert set(documented_codes()) == set(ReasonCode)
    assert f"This is version {REASON_CODES_VERSION} of the codes" in PAGE


def documented_codes() -> Iterator[str]:
    """What stands in the tables' column of codes."""
    position = -1
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if not line.startswith("|") or "code" in cells:
            position = cells.index("code") if "code" in cells else -1
        elif position > 0:
            yield from re.findall(r"`(\w+)`", cells[position])


def documented_texts() -> Iterator[str]:
    """The texts of three words or more in the page's tables, commands left out."""
    for line in PAGE.splitlines():
        if line.startswith("|"):
            for span in re.findall(r"`([^`]+)`", line):
                if span.count(" ") >= 2 and not span.startswith(("berth ", "whenStale", "preemption: {")):
                    yield span


def test_every_documented_text_is_in_the_code() -> None:
    modules = [*parsed_modules(), *parsed_modules(root=SIMULATED_SCHEDULER)]
    nodes = [node for _, module in modules for node in ast.walk(module) if isinstance(node, ast.Constant)]
    strings = "\0".join(node.value for node in nodes if isinstance(node.value, str))
    texts = set(documented_texts())
    assert len(texts) > 50
    parts = {part.strip(" .:") for text in texts for part in PLACEHOLDER.split(text)}
    assert [part for part in parts if part not in strings] == []
