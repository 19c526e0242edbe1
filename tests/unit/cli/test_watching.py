"""The watcher beside the local server."""

from __future__ import annotations

from threading import Event

import pytest

from berth_cli.server import CannotListen, listen, watching


def test_it_runs_again_and_again_until_the_block_ends() -> None:
    third = Event()
    runs: list[int] = []

    def watch() -> None:
        runs.append(len(runs))
        if len(runs) == 3:
            third.set()

    with watching(watch, 0.001):
        assert third.wait(10)
    seen = len(runs)
    assert not Event().wait(0.02)
    assert len(runs) == seen


def test_a_run_that_fails_is_not_the_last() -> None:
    """Else the server would go on with a cache that nobody brings up to date."""
    again = Event()
    failed: list[bool] = []

    def watch() -> None:
        if failed:
            again.set()
            return
        failed.append(True)
        raise ValueError("what no one foresaw")

    with watching(watch, 0.001):
        assert again.wait(2)


def test_a_taken_port_says_what_to_do() -> None:
    with listen("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(CannotListen) as caught:
            listen("127.0.0.1", port)
    assert str(caught.value).startswith(f"127.0.0.1:{port} cannot be listened on (Address already in use")
    assert str(caught.value).endswith("; choose another with --port")


@pytest.mark.parametrize(("host", "port"), [("no-such-host.invalid", 0), ("127.0.0.1", 70_000), ("127.0.0.1", -1)])
def test_an_address_that_does_not_exist_says_what_to_do(host: str, port: int) -> None:
    with pytest.raises(CannotListen, match="cannot be listened on"):
        listen(host, port)
