"""The allow-list's text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.authentication.allow_list import AllowList, AllowListEntry, AllowListStatus, format_entries, parse

NOON = 1_764_590_400.0  # 2025-12-01T12:00:00Z


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("", AllowList(), id="an empty text allows nobody"),
        pytest.param("# Nobody may call yet\n\n", AllowList(), id="comments and empty lines"),
        pytest.param("1f", AllowList({0x1F: None}), id="a serial"),
        pytest.param("00:1F", AllowList({0x1F: None}), id="as openssl prints it"),
        pytest.param("  1f  # scheduler", AllowList({0x1F: None}), id="with a comment"),
        pytest.param("1f\r\n2a\r\n", AllowList({0x1F: None, 0x2A: None}), id="with Windows' line ends"),
        pytest.param("1f until 2025-12-01T12:00:00Z", AllowList({0x1F: NOON}), id="until a time"),
        pytest.param("1f until 2025-12-01T13:00:00+01:00", AllowList({0x1F: NOON}), id="of another zone"),
        pytest.param("1f until 2025-12-01T12:00:00Z\n1f", AllowList({0x1F: None}), id="the later line counts"),
        pytest.param("1f until 2025-12-01T12:00:00", AllowList(malformed=1), id="a time of no zone"),
        pytest.param("1f until tomorrow", AllowList(malformed=1), id="no time"),
        pytest.param("1f until", AllowList(malformed=1), id="a time that is missing"),
        pytest.param("scheduler\n1f", AllowList({0x1F: None}, malformed=1), id="no serial: the others count"),
        pytest.param("0x1f\n*\n:\n-1", AllowList(malformed=4), id="nothing stands for everybody"),
        pytest.param("1f 2a", AllowList(malformed=1), id="two on a line"),
    ],
)
def test_reads_text(text: str, wanted: AllowList) -> None:
    assert parse(text) == wanted


@pytest.mark.parametrize(
    ("serials", "now", "listing"),
    [
        pytest.param({1}, NOON, AllowListStatus.LISTED, id="without an end"),
        pytest.param({2}, NOON - 1, AllowListStatus.LISTED, id="before its end"),
        pytest.param({2}, NOON, AllowListStatus.EXPIRED, id="at its end"),
        pytest.param({3}, NOON, AllowListStatus.NOT_LISTED, id="not on the list"),
        pytest.param({3, 1}, NOON, AllowListStatus.LISTED, id="read in two ways, one of them on it"),
        pytest.param({2, 1}, NOON, AllowListStatus.LISTED, id="read in two ways, one of them expired"),
        pytest.param(set(), NOON, AllowListStatus.NOT_LISTED, id="no serial at all"),
    ],
)
def test_tells_status_of_serial(serials: set[int], now: float, listing: AllowListStatus) -> None:
    assert AllowList({1: None, 2: NOON}).status(serials, now) is listing


entries = st.builds(
    AllowListEntry,
    st.integers(0, 2**160),
    st.none() | st.integers(0, 2**32).map(float),
    st.from_regex(r"[a-z0-9-]{0,12}", fullmatch=True),
)


@given(st.lists(entries, max_size=5, unique_by=lambda entry: entry.serial))
def test_reads_what_was_written(written: list[AllowListEntry]) -> None:
    assert parse(format_entries(written)) == AllowList({entry.serial: entry.until for entry in written})


@given(st.text(max_size=200))
def test_allows_no_serial_that_the_text_does_not_have(text: str) -> None:
    parse(text)
    assert parse(text).status([2**200], 0.0) is AllowListStatus.NOT_LISTED
