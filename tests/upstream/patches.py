"""Patches a release so that its tests start Berth: adds files, and edits upstream's files."""

from __future__ import annotations

from pathlib import Path

from tests.upstream.staging import Edit, UpstreamTree

ADDED = Path(__file__).parent / "added"

# Every scheduler of the suites starts here, with options of its test.
START_BERTH = Edit(
    r"^(\topts = append\(opts, scheduler\.WithKubeConfig\(testCtx\.KubeConfig\)\))$",
    r"\1\n\topts = withBerth(t, ctx, testCtx.KubeConfig, opts)",
)
SHARE_API_SERVER = Edit(
    r"framework\.StartTestServer\(tCtx, t, framework\.TestServerSetup\{",
    "startTestServer(tCtx, t, admission, framework.TestServerSetup{",
)
# Shared servers end with the process, and do not count as a test's leak.
EXIT = Edit(r"^\tresult := tests\(\)$", r"\tresult := tests()\n\tos.Exit(result)")
# On a busy machine the server takes longer than 10 s.
API_SERVER_SECONDS = Edit(
    r"wait\.PollImmediate\(100\*time\.Millisecond, 10\*time\.Second,",
    "wait.PollImmediate(100*time.Millisecond, 60*time.Second,",
)
# Upstream leaves this file in /tmp.
API_SERVER_KEY = Edit(r'os\.CreateTemp\("/tmp", "insecure_test_key"\)', 'os.CreateTemp("", "insecure_test_key")')

# The fake extenders of the tables, and the answer that is converted without an extender.
ASK_BERTH = r"append\(extenders, &(\w+)\.extenders\[ii\]\)", r"append(extenders, throughBerth(t, &\1.extenders[ii]))"
CONVERT_THROUGH_BERTH = Edit(
    r"tt\.httpExtender\.convertToVictims\(tt\.nodeNameToMetaVictims, tt\.nodeInfos\)",
    "convertThroughBerth(t, tt.nodeNameToMetaVictims, tt.nodeInfos)",
)


def apply(tree: UpstreamTree) -> None:
    """Patch the release. Raises StagingError if the release is not as expected."""
    for file in ADDED.rglob("*.go"):
        tree.write(str(file.relative_to(ADDED)), file.read_text())
    tree.patch("test/integration/util/util.go", START_BERTH, SHARE_API_SERVER)
    tree.patch("test/integration/framework/test_server.go", API_SERVER_SECONDS, API_SERVER_KEY)
    tree.patch("test/integration/framework/etcd.go", EXIT)
    tree.patch("pkg/scheduler/extender_test.go", Edit(*ASK_BERTH), CONVERT_THROUGH_BERTH)
    tree.patch("pkg/scheduler/schedule_one_test.go", Edit(*ASK_BERTH, times=3))
