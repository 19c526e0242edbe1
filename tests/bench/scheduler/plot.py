"""The picture of the table: pods a second by extender and number of nodes. The same results give the same picture."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.scheduler.cases import Case, Extender
from tests.bench.scheduler.results import Results

WIDTH, LEFT, RIGHT = 760, 150, 70
BAR, GAP, HEAD = 18, 5, 30
COLOURS = {
    Extender.NONE: "#7d8590",
    Extender.NULL: "#a8b0b9",
    Extender.NULL_ONLYONE: "#a8b0b9",
    Extender.GO_FULL: "#c2803a",
}
BERTH = "#2f6fb3"
STYLE = 'font-family="system-ui, sans-serif" font-size="12"'


def plot(results: Results) -> str:
    """A bar for each plain case; a group for each size, with a scale of its own."""
    body: list[str] = []
    top = GAP
    for nodes in results.sizes:
        bars = [
            (case, rate)
            for case in results.cases
            if case == Case(case.extender) and (rate := results.rate(case, nodes)) is not None
        ]
        body += _group(f"{nodes:,} nodes, pods a second", bars, top)
        top += HEAD + len(bars) * (BAR + GAP)
    label = "Pods a second through kube-scheduler, by extender and number of nodes"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top + GAP}" role="img" {STYLE}>',
            f"<title>{label}</title>",
            f'<rect width="{WIDTH}" height="{top + GAP}" fill="#ffffff"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _group(title: str, bars: list[tuple[Case, float]], top: int) -> Iterator[str]:
    most = max((rate for _, rate in bars), default=0) or 1
    yield f'<text x="{GAP}" y="{top + 18}" font-weight="bold" fill="#1f2328">{title}</text>'
    for number, (case, rate) in enumerate(bars):
        y = top + HEAD + number * (BAR + GAP)
        width = rate / most * (WIDTH - LEFT - RIGHT)
        text = f'y="{y + 13}" fill="#1f2328"'
        yield f'<text x="{LEFT - 8}" {text} text-anchor="end">{case.name}</text>'
        colour = COLOURS.get(case.extender, BERTH)
        yield f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'
        yield f'<text x="{LEFT + width + 6:.1f}" {text}>{rate:.1f}</text>'
