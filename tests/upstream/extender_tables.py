"""The tables of pkg/scheduler about extenders, with Berth in the place of their fake extenders.

A fake extender is a function from node to verdict. Its verdicts go through Berth's verbs, by a plugin that gives what
the pod's annotation says, and through kube-scheduler's own HTTP client; the table compares what the scheduler makes of
the answers. The other tables say nothing about an extender that is behind HTTP:

- TestIsInterested: which pods the scheduler sends at all.
- TestSchedulerBinding, TestCallExtenders: which of several extenders the scheduler asks, and what an error does.
- TestConvertToMetaVictims: the request; the case of TestConvertToVictims sends the same one.
- TestPreempt (defaultpreemption): a fake that judges by a cache of its own, in a package that has no HTTP client.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.e2e.berth.berth_serve import BerthServe
from tests.upstream.results import Execution, read_results
from tests.upstream.staging import UpstreamTree

PACKAGE = "pkg/scheduler"
TESTS = (
    "TestSchedulerWithExtenders",
    "TestFindNodesThatPassExtenders",
    "TestSchedulerSchedulePod",
    "Test_prioritizeNodes",
    "TestConvertToVictims",
)
PLUGINS = Path(__file__).parent / "plugins"
# Of all tables together.
NODES = ("1", "2", "3", "a", "b", "c", "node1", "node2")
DOCUMENT = """\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
unresolvable: as-plugins-say
profile: given
definitions:
  given:
    plugins: {enabled: [{name: "berth_plugins.given_verdicts:GivenVerdicts"}]}
    scores: as-is
"""


def run(tree: UpstreamTree, berth: Path, directory: Path) -> Iterator[Execution]:
    """Run the tables once in node-cache mode and once in full mode."""
    dump = directory / "nodes.json"
    items = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}} for name in NODES]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    options = ("--plugins", str(PLUGINS), "--verbose")
    with BerthServe(dump, directory, document=DOCUMENT, command=(berth,), is_dump=True, options=options) as serve:
        for mode in ("cache", "full"):
            log = directory / f"tables-{mode}.log"
            environment = {"BERTH_URL": serve.url_prefix, "BERTH_NODE_CACHE": "yes" if mode == "cache" else ""}
            with log.open("wb") as output:
                subprocess.run(
                    [tree.test_binary(PACKAGE), "-test.v", f"-test.run=^({'|'.join(TESTS)})$"],
                    cwd=tree.root / PACKAGE,
                    env=os.environ | environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    check=False,
                )
            yield Execution(f"extender-tables/{mode}", log, read_results(log.read_text()))
