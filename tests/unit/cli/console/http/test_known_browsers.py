"""The file of browsers that may come back: who is in it, for how long, and who else may have touched it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from berth_cli.console.http.known_browsers import (
    KNOWN_SECONDS,
    MOST_BROWSERS,
    KnownBrowsers,
    file_of,
    is_key,
    proves,
)
from tests.unit.cli.console.browser_keys import Browser

ORIGIN = "http://127.0.0.1:8090"
BROWSER = Browser()


def known(path: Path | None, now: float = 1000.0) -> KnownBrowsers:
    return KnownBrowsers(path, lambda: now)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "berth" / "browsers.json"


def test_browser_is_known_after_a_restart(path: Path) -> None:
    assert not known(path).has(BROWSER.key)
    known(path).add(BROWSER.key)
    assert known(path).has(BROWSER.key)
    assert not known(path).has(Browser().key)


def test_file_and_its_directory_are_for_their_owner_alone(path: Path) -> None:
    known(path).add(BROWSER.key)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_file_has_public_keys_alone(path: Path) -> None:
    known(path).add(BROWSER.key)
    assert orjson.loads(path.read_bytes()) == {"browsers": [{"key": BROWSER.key, "openedAt": 1000.0}]}


@pytest.mark.parametrize(
    ("passed", "is_known"),
    [
        pytest.param(0.0, True, id="at once"),
        pytest.param(KNOWN_SECONDS - 1, True, id="the last second"),
        pytest.param(KNOWN_SECONDS, False, id="expired"),
        pytest.param(-1.0, False, id="a clock that was put back"),
    ],
)
@pytest.mark.parametrize("is_kept", [True, False])
def test_browser_is_known_for_a_week(path: Path, is_kept: bool, passed: float, is_known: bool) -> None:
    now = 1000.0
    browsers = KnownBrowsers(path if is_kept else None, lambda: now)
    browsers.add(BROWSER.key)
    now += passed
    assert browsers.has(BROWSER.key) is is_known
    if is_kept:
        assert known(path, now).has(BROWSER.key) is is_known


def test_expired_browsers_leave_the_file(path: Path) -> None:
    known(path).add(BROWSER.key)
    other = Browser()
    known(path, 1000.0 + KNOWN_SECONDS).add(other.key)
    assert [each["key"] for each in orjson.loads(path.read_bytes())["browsers"]] == [other.key]


def test_browser_that_opens_an_address_again_is_known_for_longer(path: Path) -> None:
    known(path).add(BROWSER.key)
    known(path, 2000.0).add(BROWSER.key)
    assert known(path, 1000.0 + KNOWN_SECONDS).has(BROWSER.key)


def test_oldest_browser_is_forgotten_when_there_are_too_many(path: Path) -> None:
    browsers = known(path)
    keys = [Browser().key for _ in range(MOST_BROWSERS + 1)]
    for key in keys:
        browsers.add(key)
    assert [known(path).has(key) for key in keys] == [False] + [True] * MOST_BROWSERS


def written(content: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(content)


def linked(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o600)


@pytest.mark.parametrize(
    ("damage", "cause"),
    [
        pytest.param(lambda path: path.chmod(0o640), "not for its owner alone", id="the group may read it"),
        pytest.param(lambda path: path.chmod(0o602), "not for its owner alone", id="others may write it"),
        pytest.param(linked, "cannot be read", id="a link"),
        pytest.param(directory, "cannot be read", id="a directory"),
        pytest.param(pipe, "not for its owner alone", id="a pipe"),
        pytest.param(written(b""), "cannot be understood", id="empty"),
        pytest.param(written(b"{"), "cannot be understood", id="cut off"),
        pytest.param(written(b"[]"), "cannot be understood", id="another document"),
        pytest.param(written(b'{"browsers": [{"key": 7}]}'), "cannot be understood", id="a number as key"),
        pytest.param(written(b'{"browsers": [null]}'), "cannot be understood", id="no browser"),
    ],
)
def test_file_that_cannot_be_trusted_is_named_and_knows_nobody(
    path: Path, damage: Callable[[Path], object], cause: str, caplog: pytest.LogCaptureFixture
) -> None:
    known(path).add(BROWSER.key)
    damage(path)
    with caplog.at_level(logging.WARNING, "berth.console"):
        assert not known(path).has(BROWSER.key)
    assert cause in caplog.text
    assert BROWSER.key not in caplog.text


def test_text_that_is_no_key_is_passed_over(path: Path) -> None:
    path.parent.mkdir(parents=True)
    browsers = [{"key": "x", "openedAt": 1000.0}, {"key": BROWSER.key, "openedAt": 1000.0}]
    path.write_bytes(orjson.dumps({"browsers": browsers}))
    path.chmod(0o600)
    assert known(path).has(BROWSER.key)


def test_directory_that_cannot_be_written_is_no_reason_to_stop(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").write_text("a file")
    browsers = known(tmp_path / "state" / "browsers.json")
    browsers.add(BROWSER.key)
    assert browsers.has(BROWSER.key)
    assert "cannot be" in caplog.text


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        pytest.param({"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s", id="XDG"),
        pytest.param({"HOME": "/h"}, "/h/.local/state", id="home"),
        pytest.param({"XDG_STATE_HOME": "s", "HOME": "/h"}, "/h/.local/state", id="relative"),
        pytest.param({}, None, id="no home"),
    ],
)
def test_file_is_in_the_users_state(environment: dict[str, str], wanted: str | None) -> None:
    assert file_of(8090, environment) == (wanted and Path(wanted, "berth", "console-browsers-8090.json"))


@pytest.mark.parametrize(
    ("key", "wanted"),
    [
        pytest.param(BROWSER.key, True, id="a point"),
        pytest.param("", False, id="empty"),
        pytest.param("A" * 87, False, id="not on the curve"),
        pytest.param(BROWSER.key + "A", False, id="too long"),
        pytest.param(BROWSER.key[:-1] + "\n", False, id="another character"),
    ],
)
def test_only_points_of_the_curve_are_keys(key: str, wanted: bool) -> None:
    assert is_key(key) is wanted


@pytest.mark.parametrize(
    ("key", "signature", "wanted"),
    [
        pytest.param(BROWSER.key, BROWSER.sign(ORIGIN, "c1"), True, id="its own"),
        pytest.param(BROWSER.key, BROWSER.sign(ORIGIN, "c2"), False, id="of another challenge"),
        pytest.param(BROWSER.key, BROWSER.sign("http://127.0.0.1:8091", "c1"), False, id="for another origin"),
        pytest.param(BROWSER.key, Browser().sign(ORIGIN, "c1"), False, id="of another browser"),
        pytest.param(BROWSER.key, "", False, id="none"),
        pytest.param(BROWSER.key, "A" * 86, False, id="zeros"),
        pytest.param("A" * 87, BROWSER.sign(ORIGIN, "c1"), False, id="with no key"),
    ],
)
def test_proof_is_of_one_browser_one_origin_and_one_challenge(key: str, signature: str, wanted: bool) -> None:
    assert proves(key, signature, ORIGIN, "c1") is wanted
