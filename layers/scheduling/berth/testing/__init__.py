"""Tools to test custom plugins: builders for nodes and pods, a harness, and the checks of `berth plugin check`.

The package is part of the installed command and not of the deployed functions.
"""

from berth.testing.builders import cluster, node, pod
from berth.testing.checks import Finding, Rule, check_plugin
from berth.testing.harness import PluginHarness

__all__ = ["Finding", "PluginHarness", "Rule", "check_plugin", "cluster", "node", "pod"]
