"""The sources of the Basic credentials' password: none, a file, standard input or Secrets Manager."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from berth_cli.deployed_stack import CLIENT_CONFIG, DeployedStack, StackUnavailable
from berth_cli.scheduler_config.address import BasicCredentials

FROM_STACK, FROM_SECRET, FROM_STDIN = "stack", "secret:", "-"
SECRET_TYPE = "AWS::SecretsManager::Secret"  # noqa: S105  the type of a resource


class PasswordUnavailable(Exception):
    """The source contains no password. The message quotes nothing of the source."""


def basic(
    user: str | None, source: str | None, stack: DeployedStack | None, region: str | None
) -> BasicCredentials | None:
    """The credentials; None without user and source. Raises PasswordUnavailable and StackUnavailable.

    `source`: a file that contains only the password, `-` for standard input, `stack`, or `secret:` and the name or ARN
    of a secret with the value `{"username": …, "password": …}`.
    """
    if source is None:
        return None if user is None else BasicCredentials(user)
    if source == FROM_STACK or source.startswith(FROM_SECRET):
        found = _credentials_from_secret(
            source.removeprefix(FROM_SECRET) if source != FROM_STACK else _password_secret(stack), region
        )
        return found if user is None else BasicCredentials(user, found.password)
    if user is None:
        raise PasswordUnavailable("a file contains only the password: also give --user NAME")
    try:
        text = sys.stdin.read() if source == FROM_STDIN else Path(source).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise PasswordUnavailable(f"{source}: {getattr(error, 'strerror', None) or 'is not text'}") from error
    password = text.removesuffix("\n").removesuffix("\r")
    if not password or "\n" in password:
        raise PasswordUnavailable(
            f"{'standard input' if source == FROM_STDIN else source} is not a single line with a password"
        )
    return BasicCredentials(user, password)


def _password_secret(stack: DeployedStack | None) -> str:
    if stack is None:
        raise PasswordUnavailable("--password-from stack needs --stack NAME")
    secrets = [found for found in stack.resources.get(SECRET_TYPE, {}).values() if found]
    if len(secrets) != 1:
        raise StackUnavailable(
            f"the stack {stack.name} has {len(secrets)} secrets, not one; select one with --password-from secret:NAME"
        )
    return secrets[0]


def _credentials_from_secret(secret: str, region: str | None) -> BasicCredentials:

    try:
        record = json.loads(read_secret(secret, region))
        return BasicCredentials(str(record["username"]), str(record["password"]))
    except (ValueError, KeyError, TypeError):
        raise PasswordUnavailable(f'the secret {secret} is not {{"username": …, "password": …}}') from None


def read_secret(secret: str, region: str | None) -> str:
    """The value of a secret in Secrets Manager. Raises StackUnavailable."""
    try:
        found = boto3.client("secretsmanager", region_name=region, config=CLIENT_CONFIG).get_secret_value(
            SecretId=secret
        )
    except (BotoCoreError, ClientError) as error:
        raise StackUnavailable(f"the secret {secret} cannot be read: {error}") from error
    return str(found.get("SecretString", ""))
