"""Tools to test custom plugins: builders for nodes and pods, a harness, and the checks of `berth plugin check`."""

from berth_testing.builders import cluster, node, pod
from berth_testing.checks import Finding, Rule, check_plugin
from berth_testing.harness import PluginHarness

__all__ = ["Finding", "PluginHarness", "Rule", "check_plugin", "cluster", "node", "pod"]
