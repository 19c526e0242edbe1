"""The output of `berth policy diff`: a table, Markdown for a comment, or a JSON object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from berth_cli.placement.comparison import comparison_document, figure_rows, figures, pod_rows, rules_document
from berth_cli.placement.policy.policy_diff import MOVED, NEWLY_PENDING, PolicyDiff, headline, missing_texts
from berth_cli.placement.report import pods_text
from berth_cli.terminal.output import Format, examples, render

MARKDOWN = "markdown"
"""A value of -o that only comparisons accept."""

ROWS_SHOWN = 50
"""The maximum number of pods in a table: GitHub accepts comments of up to 65,536 characters."""


def table(diff: PolicyDiff, exceeded: Iterable[str]) -> Iterator[str]:
    """Yield the lines for a terminal."""
    yield from (f"warning: {each}" for each in missing_texts(diff))
    yield f"{diff.source}: {headline(diff)}"
    if diff.listed:
        yield ""
        yield from pod_rows(diff.listed[:ROWS_SHOWN])
    yield from _others(diff)
    for title, rules in (("newly pending", diff.rejecting_rules), ("moved", diff.moving_rules)):
        if rules:
            yield ""
            yield f"rules, {title}:"
            yield from (f"  {pods_text(rule.count)}: {rule.text}" for rule in rules)
    yield ""
    yield from figure_rows(diff.comparison)
    for line in exceeded:
        yield ""
        yield f"limit exceeded: {line}"


def markdown(diff: PolicyDiff, exceeded: Iterable[str]) -> Iterator[str]:
    """Yield the lines for a comment on a pull request."""
    for each in missing_texts(diff):
        yield f"Warning: {_escaped(each)}."
        yield ""
    yield f"**{headline(diff)}** ({_escaped(diff.source)})"
    for line in exceeded:
        yield ""
        yield f"Limit exceeded: {line}."
    if diff.listed:
        yield ""
        yield from _markdown_table(
            ("Pod", "Before", "After", "Message"),
            [(each.name, str(each.before), str(each.after), each.message) for each in diff.listed[:ROWS_SHOWN]],
        )
    yield from map(_escaped, _others(diff))
    yield ""
    yield "<details><summary>Load</summary>"
    yield ""
    yield from _markdown_table(("", "Before", "After"), figures(diff.comparison))
    yield ""
    yield "</details>"


def _others(diff: PolicyDiff) -> Iterator[str]:
    """Yield lines about the changed pods that are not shown one by one."""
    if len(diff.listed) > ROWS_SHOWN:
        yield from ("", f"and {len(diff.listed) - ROWS_SHOWN} more pods: -o json lists all")
    if moved := diff.by_score:
        names = examples([each.name for each in moved])
        yield from ("", f"{pods_text(len(moved))} moved to a node with a higher score: {names}")


def rendered(diff: PolicyDiff, exceeded: Sequence[str], output: str) -> str:
    """Return the comparison in the format of `-o`."""
    match output:
        case Format.TABLE:
            return "\n".join(table(diff, exceeded))
        case "markdown":
            return "\n".join(markdown(diff, exceeded))
    return render(document(diff, exceeded), output)


def document(diff: PolicyDiff, exceeded: Iterable[str]) -> dict[str, object]:
    """Build the document for programs. It lists only the pods that the policies place differently."""
    found = comparison_document(diff.comparison, diff.changed)
    return {
        "source": diff.source,
        "missingFields": list(diff.missing),
        "judged": diff.judged,
        "repeated": {"decisions": diff.repeated, "differing": diff.differing},
        "newlyPending": len(diff.pods(NEWLY_PENDING)),
        "moved": len(diff.pods(MOVED)),
        "limitsExceeded": list(exceeded),
        "rules": {
            "newlyPending": rules_document(diff.rejecting_rules, "pods"),
            "moved": rules_document(diff.moving_rules, "pods"),
        },
        **found,
    }


def _markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(map(_escaped, row))} |"


def _escaped(text: str) -> str:
    """Escape a cell: labels and reasons may contain any text, such as `|` or an HTML tag."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("@", "&#64;")
