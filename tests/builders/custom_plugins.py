"""Custom plugins: one that fails for one pod, and a package of plugins as a user installs it."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from importlib import invalidate_caches
from pathlib import Path

from berth.configuration.store import installed_version, version_of
from berth.scheduling.feasibility import Exemption
from berth.scheduling.framework import SUCCESS, FilterPlugin, Status
from berth.scheduling.framework.profile import Scale
from berth.scheduling.framework.shipped_profiles import build
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.custom_plugins import checked_plugin
from berth.scheduling.policy import Policy

PATH = "berth_plugins.mine:FailsForOne"


class FailsForOne(FilterPlugin):
    """Divides by zero for the pod `bad`. It reads pods, so bind also evaluates it."""

    name = "FailsForOne"

    def shape(self, pod: Pod) -> Hashable:
        return pod.name

    def filter(self, state: Pod, node: NodeInfo) -> Status:
        if state.name == "bad":
            raise ZeroDivisionError("division by zero")
        return SUCCESS


def failing_policy() -> Policy:
    return Policy(build("mine", Scale.TOTALS, [(checked_plugin(FailsForOne, PATH)(), 1)]), Exemption())


MODULE = """
from berth.scheduling.framework import NODES_ONLY, SUCCESS, FilterPlugin

class Passes(FilterPlugin):
    reads = NODES_ONLY

    def filter(self, pod, node):
        return SUCCESS
"""
NAMED = (
    '{"profile": "mine", "definitions": {"mine": {"plugins": {"enabled": [{"name": "berth_plugins.mine:Passes"}]}}}}'
)
"""A document that names the plugin of `installed_plugins`."""


FAILS_TO_START = """
from berth.scheduling.framework import SUCCESS, FilterPlugin

class Passes(FilterPlugin):
    def __init__(self, args):
        raise RuntimeError("no licence")

    def filter(self, pod, node):
        return SUCCESS
"""
"""A replacement for the plugin's module: its plugin cannot be built."""


@contextmanager
def installed_plugins(folder: Path) -> Iterator[str]:
    """Write a package into this folder that the process finds until the block ends. Yields its version."""
    package = folder / "berth_plugins"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text('__version__ = "1.0.0"\n')
    (package / "mine.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    invalidate_caches()
    installed_version.cache_clear()
    try:
        yield version_of(folder)
    finally:
        sys.path.remove(str(folder))
        installed_version.cache_clear()
        for name in [each for each in sys.modules if each.startswith("berth_plugins")]:
            del sys.modules[name]
