"""Options of `berth serve` that belong together."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.serve.options import Shadow, StoreOptions, http_timeout_of

FULL, LABELLED = (BerthConfiguration.model_validate({"profile": each}) for each in ("full", "label-priority"))


@pytest.mark.parametrize(
    ("shadow", "in_force", "warnings"),
    [
        pytest.param(LABELLED, FULL, [], id="that reads less"),
        pytest.param(
            FULL,
            LABELLED,
            [
                "--shadow new.yaml is judged without Services and controllers, by which PodTopologySpread spreads pods "
                "without constraints: the policy in force does not read them",
                "--shadow new.yaml is judged without images, which ImageLocality scores: the policy in force does not "
                "read them",
            ],
            id="that reads more",
        ),
    ],
)
def test_a_shadow_policy_names_what_it_is_judged_without(
    shadow: BerthConfiguration, in_force: BerthConfiguration, warnings: list[str]
) -> None:
    assert list(Shadow(Path("new.yaml"), shadow).warnings(in_force)) == warnings


@pytest.mark.parametrize(
    ("is_dynamodb", "config", "warnings"),
    [
        pytest.param(False, Path("berth.yaml"), [], id="memory: the file is followed"),
        pytest.param(True, None, [], id="no file"),
        pytest.param(
            True,
            Path("berth.yaml"),
            [
                "berth.yaml is in use only until a document is applied to the shared tables, and a change of it has no "
                "effect; apply it: berth config apply FILE --cache-table berth-cache"
            ],
            id="shared tables",
        ),
    ],
)
def test_says_that_shared_tables_do_not_follow_a_file(
    is_dynamodb: bool, config: Path | None, warnings: list[str]
) -> None:
    assert list(StoreOptions(is_dynamodb, None, None, None, None).warnings(config)) == warnings


@pytest.mark.parametrize(("text", "seconds"), [("5s", 5.0), ("2s", 2.0), ("30s", 30.0)])
def test_http_timeout_is_a_duration(text: str, seconds: float) -> None:
    assert http_timeout_of(text) == seconds


@pytest.mark.parametrize("text", ["1s", "31s", "5", "soon"])
def test_another_http_timeout_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError, match="is no duration from 2s to 30s"):
        http_timeout_of(text)
