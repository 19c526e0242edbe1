"""The comparison as one HTML page: complete, escaped, and with nothing from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from berth_cli.main import main
from tests.conftest import PROJECT

EXAMPLES = PROJECT / "examples" / "policy-ci"
VOID = frozenset({"meta", "rect"})


class Page(HTMLParser):
    """The elements of a page, and the text of each. Fails on tags that are not closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page_of(new: Path, dump: Path = EXAMPLES / "dump.yaml") -> Page:
    arguments = ["policy", "diff", str(EXAMPLES / "berth.yaml"), str(new), "--dump", str(dump), "-o", "html"]
    return Page(CliRunner().invoke(main, arguments, prog_name="berth").stdout)


@pytest.fixture(scope="module")
def page() -> Page:
    return page_of(EXAMPLES / "proposed.yaml")


def test_has_verdict_limits_rules_and_pods(page: Page) -> None:
    assert "2 newly pending, 1 moved, 0 newly placed" in page.texts
    assert any("2 of 11 pods newly pending, at most 0 allowed" in text for text in page.texts)
    assert {"default/web-5d9c-g", "Rules, newly pending", "ResourceSegregation"} <= set(page.texts)
    assert page.open == []


def test_has_bars_of_the_load_before_and_after(page: Page) -> None:
    assert "cpu requested, before and after" in page.texts
    assert {"gpu-2", "59 → 34 %"} <= set(page.texts)
    widths = [int(attributes["width"] or 0) for tag, attributes in page.tags if tag == "rect"]
    assert max(widths) <= 420


def test_needs_nothing_from_elsewhere(page: Page) -> None:
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in page.tags}
    assert not {"src", "href"} & {name for _, attributes in page.tags for name in attributes}


def test_names_are_text_and_no_markup(tmp_path: Path) -> None:
    dump = tmp_path / "dump.yaml"
    dump.write_text((EXAMPLES / "dump.yaml").read_text().replace("web-5d9c", "<b>web"))
    found = page_of(EXAMPLES / "proposed.yaml", dump)
    assert any(text.startswith("default/<b>web") for text in found.texts)
    assert "b" not in {tag for tag, _ in found.tags}
