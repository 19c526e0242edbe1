"""Where the password of Basic credentials comes from: nowhere, a file, or a secret of the stack."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from berth_cli.deployed_stack import LIMITS, DeployedStack, StackUnavailable
from berth_cli.scheduler_config.address import Basic

STACK, SECRET, STDIN = "stack", "secret:", "-"
SECRET_TYPE = "AWS::SecretsManager::Secret"  # noqa: S105  the type of a resource


class NoPassword(Exception):
    """The source has none. The message has no part of what it has."""


def basic(user: str | None, source: str | None, stack: DeployedStack | None, region: str | None) -> Basic | None:
    """Basic credentials; None where none are wanted. Raises NoPassword and StackUnavailable.

    source: a file with the password and nothing else, `-`, `stack`, or `secret:` and a name or ARN in Secrets Manager,
    whose value is `{"username": …, "password": …}`.
    """
    if source is None:
        return None if user is None else Basic(user)
    if source == STACK or source.startswith(SECRET):
        found = _of_secret(source.removeprefix(SECRET) if source != STACK else _secret_of(stack), region)
        return found if user is None else Basic(user, found.password)
    if user is None:
        raise NoPassword("a file has the password alone: give --user NAME too")
    try:
        text = sys.stdin.read() if source == STDIN else Path(source).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise NoPassword(f"{source}: {getattr(error, 'strerror', None) or 'is not text'}") from error
    password = text.removesuffix("\n").removesuffix("\r")
    if not password or "\n" in password:
        raise NoPassword(f"{'standard input' if source == STDIN else source} is not one line with a password")
    return Basic(user, password)


def _secret_of(stack: DeployedStack | None) -> str:
    if stack is None:
        raise NoPassword("--password-from stack needs --stack NAME")
    secrets = [found for found in stack.resources.get(SECRET_TYPE, {}).values() if found]
    if len(secrets) != 1:
        raise StackUnavailable(
            f"the stack {stack.name} has {len(secrets)} secrets, not one; name it with --password-from secret:NAME"
        )
    return secrets[0]


def _of_secret(secret: str, region: str | None) -> Basic:

    try:
        record = json.loads(secret_text(secret, region))
        return Basic(str(record["username"]), str(record["password"]))
    except (ValueError, KeyError, TypeError):
        raise NoPassword(f'the secret {secret} is not {{"username": …, "password": …}}') from None


def secret_text(secret: str, region: str | None) -> str:
    """The value of a secret in Secrets Manager. Raises StackUnavailable."""
    try:
        found = boto3.client("secretsmanager", region_name=region, config=LIMITS).get_secret_value(SecretId=secret)
    except (BotoCoreError, ClientError) as error:
        raise StackUnavailable(f"the secret {secret} cannot be read: {error}") from error
    return str(found.get("SecretString", ""))
