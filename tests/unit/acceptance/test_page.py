"""The page about a run says what the run makes and what it leaves."""

from __future__ import annotations

import pytest
import yaml

from tests.conftest import PROJECT
from tools.acceptance.eks_access import MANIFESTS

PAGE = (PROJECT / "docs" / "how-to" / "acceptance.md").read_text()
MADE = PAGE[PAGE.index("## What it makes") : PAGE.index("## Measure only")]
KINDS = sorted({each["kind"] for each in yaml.safe_load_all(MANIFESTS.read_text())})


@pytest.mark.parametrize("kind", KINDS)
def test_names_every_kind_that_is_applied_in_the_cluster(kind: str) -> None:
    assert kind in MADE


@pytest.mark.parametrize("what", ["access entries", "namespace", "ledger", "bucket", "aws-sam-cli-managed-default"])
def test_says_of_everything_in_the_account_whether_it_is_deleted(what: str) -> None:
    [row, *_] = [line for line in MADE.splitlines() if what in line and line.startswith("|")]
    assert row.split("|")[2].strip().startswith(("yes", "no:"))
