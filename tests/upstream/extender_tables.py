"""The tables of pkg/scheduler about extenders, with Berth instead of their fake extenders.

A fake extender is a function from node to verdict. Its verdicts go through Berth's verbs, by a plugin that returns the
verdicts in the pod's annotation, and through kube-scheduler's own HTTP client; the table compares the scheduler's
results. The other tables do not test an extender behind HTTP:

- TestIsInterested: which pods the scheduler sends.
- TestSchedulerBinding, TestCallExtenders: which of several extenders the scheduler calls, and the effect of an error.
- TestConvertToMetaVictims: the request; the case of TestConvertToVictims sends the same request.
- TestPreempt (defaultpreemption): a fake that decides by its own cache, in a package without an HTTP client.
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
# The nodes of all tables.
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
