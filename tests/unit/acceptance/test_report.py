"""Redaction of public reports: accounts, endpoints and private values are replaced, other text stays."""

from __future__ import annotations

import pytest

from tools.acceptance.report import private_values, redacted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("arn:aws:iam::123456789012:role/a", "arn:aws:iam::ACCOUNT:role/a"),
        (
            "https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com/x",
            "https://API.execute-api.eu-central-1.amazonaws.com/x",
        ),
        (f"https://{'0A' * 16}.gr7.us-east-1.eks.amazonaws.com", "https://CLUSTER.gr7.us-east-1.eks.amazonaws.com"),
        ("1234567890123 bytes in 12 ms", "1234567890123 bytes in 12 ms"),
    ],
)
def test_report_hides_account_and_endpoints(text: str, expected: str) -> None:
    assert redacted(text) == expected


def test_report_hides_private_values() -> None:
    private = {"berth.example.com": "DomainName", "example": "EksCluster"}
    assert redacted("https://berth.example.com/scheduler of example", private) == (
        "https://DomainName/scheduler of EksCluster"
    )


def test_report_hides_a_short_value_only_as_a_whole_word() -> None:
    assert redacted("a device of dev, arn:cluster/dev", {"dev": "EksCluster"}) == (
        "a device of EksCluster, arn:cluster/EksCluster"
    )


def test_report_keeps_the_text_around_a_public_value() -> None:
    private = private_values({"WatcherMode": "events", "EksCluster": "dev,https://dev,CA==", "KeyArn": ""})
    assert private == dict.fromkeys(["dev,https://dev,CA==", "dev", "https://dev", "CA=="], "EksCluster")
    assert redacted("Berth 0.1.0 after 11 s", private) == "Berth 0.1.0 after 11 s"
