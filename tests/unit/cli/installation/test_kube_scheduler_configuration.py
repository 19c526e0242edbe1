"""The addresses that --url accepts."""

from __future__ import annotations

import pytest

from berth_cli.installation.kube_scheduler_configuration import InvalidAddress, parse_address


@pytest.mark.parametrize(
    "url",
    [
        "berth.example.com/scheduler",
        "ftp://berth/scheduler",
        "https:///scheduler",
        "https://berth:99999/scheduler",
        "https://berth/scheduler?a=b",
        "https://berth/scheduler#a",
        "https://user:secret@berth/scheduler",
    ],
)
def test_error_for_an_invalid_address_does_not_quote_the_password(url: str) -> None:
    with pytest.raises(InvalidAddress) as caught:
        parse_address(url)
    assert "secret" not in str(caught.value)
