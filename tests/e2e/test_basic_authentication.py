"""Basic authentication of the deployed stack, and the error that the scheduler reports for a wrong password.

The stack runs on the emulator, which follows the AWS documentation for authorizer, secret and authorizer cache.
"""

from __future__ import annotations

import pytest

from .berth.endpoint import Endpoint
from .berth.extender import Extender
from .berth.stack import DeployedStack

pytestmark = pytest.mark.parametrize("extender", ["stack"], indirect=True)

VERBS = ("filter", "filter_onlyone", "prioritize", "bind", "preempt")


@pytest.fixture
def stack(extender: Extender) -> DeployedStack:
    assert isinstance(extender, DeployedStack)
    return extender


def status(url_prefix: str, verb: str = "filter") -> int:
    return Endpoint(url_prefix).post(verb, b"{}").status


@pytest.mark.parametrize("verb", VERBS)
def test_missing_credentials_return_401_and_wrong_credentials_return_403(stack: DeployedStack, verb: str) -> None:
    username, password = stack.password()
    assert status(stack.url_prefix_without_credentials, verb) == 401
    assert status(stack.url_prefix_with(username, "wrong"), verb) == 403
    assert status(stack.url_prefix_with("wrong", password), verb) == 403
    assert status(stack.url_prefix_with(username, password), verb) == 200
