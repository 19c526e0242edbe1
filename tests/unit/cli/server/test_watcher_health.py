"""The files that a pod's probes read."""

from __future__ import annotations

import os
from pathlib import Path

from berth_cli.server.watcher_process import ALIVE, READY, TOUCH_SECONDS, Health
from tests.fakes.clock import HandDrivenClock


def test_progress_touches_the_alive_file_every_ten_seconds(tmp_path: Path) -> None:
    clock = HandDrivenClock()
    health = Health(tmp_path / "health", clock)
    health.progressed()
    alive = tmp_path / "health" / ALIVE
    os.utime(alive, (0, 0))
    clock.advance(TOUCH_SECONDS / 2)
    health.progressed()
    assert alive.stat().st_mtime == 0
    clock.advance(TOUCH_SECONDS / 2)
    health.progressed()
    assert alive.stat().st_mtime > 0


def test_is_ready_once_a_leader_is_known(tmp_path: Path) -> None:
    health = Health(tmp_path, HandDrivenClock())
    health.new_leader("")  # the lease was released
    assert not (tmp_path / READY).exists()
    health.new_leader("watcher_1")
    health.new_leader("")
    assert (tmp_path / READY).exists()


def test_file_of_a_previous_container_does_not_make_it_ready(tmp_path: Path) -> None:
    (tmp_path / READY).touch()
    Health(tmp_path, HandDrivenClock())
    assert not (tmp_path / READY).exists()


def test_full_disk_does_not_stop_the_watcher(tmp_path: Path) -> None:
    health = Health(tmp_path / "health", HandDrivenClock())
    (tmp_path / "health").rmdir()
    health.progressed()
    health.new_leader("watcher_1")


def test_does_not_write_files_without_a_directory() -> None:
    health = Health(None, HandDrivenClock())
    health.progressed()
    health.new_leader("watcher_1")
