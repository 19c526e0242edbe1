"""A comparison as one HTML page: no script, no style and no image from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from berth_cli.policy.diff.policy_diff import (
    MOVED,
    NEWLY_PENDING,
    NEWLY_PLACED,
    PolicyDiff,
    RuleCount,
    headline,
    missing_texts,
)
from berth_cli.simulate.comparison.load import NodeLoad, moved_loads
from berth_cli.simulate.comparison.report import figures, message_of

MOST_PODS = 1000
MOST_NODES = 40
"""Bars: those whose load moves most."""

BAR, ROW, WIDTH, NAME = 7, 20, 420, 180
"""Heights of a bar and of a node's two bars, and widths, in pixels."""

STYLE = """
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #1a1a1a; background: #fff; max-width: 75em }
table { border-collapse: collapse; margin: 1em 0 }
th, td { text-align: left; padding: .2em .8em .2em 0; vertical-align: top }
th { border-bottom: 1px solid #999 } td { border-bottom: 1px solid #e4e4e4 }
.before { fill: #9aa7b5 } .after { fill: #1769aa } text { font: 11px system-ui, sans-serif }
"""


def html(diff: PolicyDiff, exceeded: Iterable[str]) -> Iterator[str]:
    """The lines of the page."""
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Berth: two policies</title>'
    yield f"<style>{STYLE}</style></head><body>"
    yield f"<h1>{escape(headline(diff))}</h1><p>{escape(diff.source)}</p>"
    for line in missing_texts(diff):
        yield f"<p><strong>Warning:</strong> {escape(line)}</p>"
    for line in exceeded:
        yield f"<p><strong>Limit exceeded:</strong> {escape(line)}</p>"
    counts = [
        (title, len(diff.pods(effects)))
        for title, effects in (("newly pending", NEWLY_PENDING), ("moved", MOVED), ("newly placed", NEWLY_PLACED))
    ]
    yield from _bars("Pods", [(title, (count,)) for title, count in counts], max(diff.judged, 1), "pods")
    for title, rules in (("newly pending", diff.rejecting_rules), ("moved", diff.moving_rules)):
        yield from _rules(title, rules)
    yield "<h2>Load</h2>"
    yield from _table(("", "before", "after"), figures(diff.comparison))
    loads = moved_loads(diff.comparison.before.nodes, diff.comparison.after.nodes)
    for resource in sorted({name for load in loads for name in {**(load.before or {}), **(load.after or {})}}):
        yield from _load_bars(resource, loads)
    if diff.changed:
        shown = diff.changed[:MOST_PODS]
        yield "<h2>Pods that change</h2>"
        rows = [(each.name, str(each.before), str(each.after), message_of(each)) for each in shown]
        yield from _table(("pod", "before", "after", "why"), rows)
        if len(diff.changed) > len(shown):
            yield f"<p>and {len(diff.changed) - len(shown)} more pods; -o json lists all</p>"
    yield "</body></html>"


def _rules(title: str, rules: Sequence[RuleCount]) -> Iterator[str]:
    if rules:
        yield f"<h2>Rules, {escape(title)}</h2>"
        yield from _table(("pods", "rule", "reason"), [(str(each.pods), each.plugin, each.reason) for each in rules])


def _load_bars(resource: str, loads: Sequence[NodeLoad]) -> Iterator[str]:
    shares = [
        (load.node, ((load.before or {}).get(resource, 0), (load.after or {}).get(resource, 0)))
        for load in loads[:MOST_NODES]
    ]
    moved = [(node, pair) for node, pair in shares if pair[0] != pair[1]]
    if moved:
        most = max(100, *(value for _, pair in moved for value in pair))
        yield from _bars(f"{resource} requested, before and after", moved, most, "%")


def _bars(title: str, rows: Sequence[tuple[str, Sequence[int]]], most: int, unit: str) -> Iterator[str]:
    """A group of bars for each row: of one value, or before and after."""
    yield f"<h2>{escape(title)}</h2>"
    height = ROW * len(rows)
    yield f'<svg role="img" width="{NAME + WIDTH + 90}" height="{height}"><title>{escape(title)}</title>'
    for index, (name, values) in enumerate(rows):
        top = ROW * index
        yield f'<text x="0" y="{top + 12}">{escape(name)}</text>'
        for number, value in enumerate(values):
            style = "after" if number == len(values) - 1 else "before"
            width = round(WIDTH * value / most)
            y = top + 2 + BAR * number
            yield f'<rect class="{style}" x="{NAME}" y="{y}" width="{width}" height="{BAR - 1}"/>'
        text = " → ".join(map(str, values))
        yield f'<text x="{NAME + round(WIDTH * max(values) / most) + 6}" y="{top + 12}">{text} {unit}</text>'
    yield "</svg>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "<table><tr>" + "".join(f"<th>{escape(each)}</th>" for each in header) + "</tr>"
    for row in rows:
        yield "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
    yield "</table>"
