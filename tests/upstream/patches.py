"""How a release is made to start Berth: our own files beside upstream's, and one edit of the place that they share."""

from __future__ import annotations

from pathlib import Path

from tests.upstream.staging import Edit, UpstreamTree

ADDED = Path(__file__).parent / "added"

# Every scheduler of the suites starts here, with options of its test.
START_BERTH = Edit(
    r"^(\topts = append\(opts, scheduler\.WithKubeConfig\(testCtx\.KubeConfig\)\))$",
    r"\1\n\topts = withBerth(t, ctx, testCtx.KubeConfig, opts)",
)

# On a busy machine it takes longer; and its key stays in /tmp otherwise.
APISERVER_SECONDS = Edit(
    r"wait\.PollImmediate\(100\*time\.Millisecond, 10\*time\.Second,",
    "wait.PollImmediate(100*time.Millisecond, 60*time.Second,",
)
APISERVER_KEY = Edit(r'os\.CreateTemp\("/tmp", "insecure_test_key"\)', 'os.CreateTemp("", "insecure_test_key")')


def apply(tree: UpstreamTree) -> None:
    """Patch the release. Raises StagingError if it is not as expected."""
    for file in ADDED.rglob("*.go"):
        tree.write(str(file.relative_to(ADDED)), file.read_text())
    tree.patch("test/integration/util/util.go", START_BERTH)
    tree.patch("test/integration/framework/test_server.go", APISERVER_SECONDS, APISERVER_KEY)
