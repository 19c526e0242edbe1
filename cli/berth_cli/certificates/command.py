"""The commands of `berth certificates`. Exit status: 0 done, 1 refused or failed, 2 wrong options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import orjson

from berth_cli.certificates.directory import CertificateDirectory, Refused
from berth_cli.certificates.record import Issued

DIRECTORY = "berth-certificates"
OUTPUT = "AllowListParameterName"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

EPILOG = """\b
Examples, from nothing to a scheduler that may call:
  berth certificates init my-cluster
  berth certificates issue scheduler
  berth certificates upload --bucket my-bucket     # its output goes into samconfig.toml
  sam deploy --config-env my-cluster
  berth certificates allow --stack berth-my-cluster
"""


def _directory(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "-d",
        "--directory",
        type=click.Path(path_type=Path, file_okay=False),
        default=DIRECTORY,
        show_default=True,
        help="Where the authority's files are.",
    )(command)


def _directories(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "-d",
        "--directory",
        "directories",
        multiple=True,
        type=click.Path(path_type=Path, file_okay=False),
        default=[DIRECTORY],
        show_default=True,
        help="Where the authority's files are. Twice, while one authority follows another.",
    )(command)


def _days(default: int) -> Callable[..., Any]:
    return click.option("--days", type=click.IntRange(1, 7300), default=default, show_default=True, help="How long.")


def _name(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not _NAME.fullmatch(value):
        raise click.BadParameter("letters a to z, digits and hyphens, 63 at most")
    return value


@click.group(epilog=EPILOG)
def certificates() -> None:
    """Client certificates for mutual TLS: a private authority for a cluster, one certificate for each client.

    Files are made with mode 0600 where they hold a key, and are never overwritten.
    """


@certificates.command(epilog="Example: berth certificates init my-cluster --directory ~/berth/my-cluster")
@click.argument("cluster", callback=_name)
@_days(3650)
@_directory
def init(cluster: str, days: int, directory: Path) -> None:
    """Make an authority for CLUSTER. Its key stays in the directory: keep it as you keep the cluster's own."""
    with _told():
        CertificateDirectory(directory).create(cluster, _now(), timedelta(days=days))
    click.echo(f"the authority is {directory / 'ca.crt'}; next: berth certificates issue NAME")


@certificates.command(epilog="Example: berth certificates issue scheduler --days 365")
@click.argument("name", callback=_name)
@_days(365)
@_directory
def issue(name: str, days: int, directory: Path) -> None:
    """Make the certificate of the client NAME, such as scheduler."""
    found = CertificateDirectory(directory)
    with _told():
        issued = found.issue(name, _now(), timedelta(days=days))
    _show(found, issued)


@certificates.command(epilog="Example: berth certificates rotate scheduler --overlap-days 7")
@click.argument("name", callback=_name)
@_days(365)
@click.option(
    "--overlap-days",
    type=click.IntRange(0, 365),
    default=7,
    show_default=True,
    help="For how long the certificate before it may call.",
)
@_directory
def rotate(name: str, days: int, overlap_days: int, directory: Path) -> None:
    """Make another certificate for the client NAME. The one before it ends by itself, after the overlap."""
    found = CertificateDirectory(directory)
    with _told():
        issued = found.rotate(name, _now(), timedelta(days=days), timedelta(days=overlap_days))
    _show(found, issued)


@certificates.command(epilog="Example: berth certificates revoke scheduler --stack berth-my-cluster")
@click.argument("name_or_serial")
@click.option("--stack", help="The stack whose allow-list it is to leave at once.")
@click.option("--region", help="The stack's region, where it is not the AWS configuration's.")
@_directory
def revoke(name_or_serial: str, stack: str | None, region: str | None, directory: Path) -> None:
    """Revoke all certificates of a client, or one by its serial number.

    With --stack the stack's allow-list is written anew, from this directory alone; from then on it takes 30 seconds at
    most.
    """
    found = CertificateDirectory(directory)
    with _told():
        revoked = found.revoke(name_or_serial, _now())
        for each in revoked:
            click.echo(f"revoked {each.name} {each.serial}")
        if stack is not None:
            click.echo(f"written: {_allow([found], stack, None, region)}")
    if stack is None:
        click.echo("the stack does not know yet: berth certificates allow --stack NAME")


@certificates.command("list", epilog="Example: berth certificates list -o json")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_directory
def list_(output: str, directory: Path) -> None:
    """Show the client certificates, and what has become of each."""
    found = CertificateDirectory(directory)
    with _told():
        if output == "json":
            click.echo(orjson.dumps(as_json(found, _now()), option=orjson.OPT_INDENT_2))
        else:
            for line in as_text(found, _now()):
                click.echo(line)


@certificates.command(epilog="Example: berth certificates upload --bucket my-bucket --key my-cluster.pem")
@click.option("--bucket", required=True, help="An S3 bucket that keeps versions, in the stack's region.")
@click.option("--key", default="truststore.pem", show_default=True, help="The object's key.")
@click.option("--region", help="The bucket's region, where it is not the AWS configuration's.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_directories
def upload(bucket: str, key: str, region: str | None, output: str, directories: tuple[Path, ...]) -> None:
    """Put the trust store into S3, and print the stack's two parameters for samconfig.toml.

    Then deploy: API Gateway reads the version that it is told, and no newer one. No key is sent anywhere.
    """
    with _told():
        pem = b"".join(CertificateDirectory(path).authority_pem() for path in directories)
        import boto3

        from berth_cli.certificates import aws

        truststore = aws.upload(boto3.client("s3", region_name=region), bucket, key, pem)
    parameters = {"TruststoreUri": truststore.uri, "TruststoreVersion": truststore.version}
    if output == "json":
        click.echo(orjson.dumps(parameters, option=orjson.OPT_INDENT_2))
    else:
        for parameter, value in parameters.items():
            click.echo(f'{parameter} = "{value}"')


@certificates.command(epilog="Example: berth certificates allow --stack berth-my-cluster")
@click.option("--stack", help="The stack's name; its output AllowListParameterName says which parameter.")
@click.option("--parameter", help="The parameter's name, instead of the stack's.")
@click.option("--region", help="The stack's region, where it is not the AWS configuration's.")
@_directories
def allow(stack: str | None, parameter: str | None, region: str | None, directories: tuple[Path, ...]) -> None:
    """Write the stack's allow-list: all certificates that are neither revoked nor over, and no others."""
    if (stack is None) == (parameter is None):
        raise click.UsageError("give either --stack NAME or --parameter NAME")
    with _told():
        written = _allow([CertificateDirectory(path) for path in directories], stack, parameter, region)
    click.echo(f"written: {written}; it counts after 30 seconds at most")


def _allow(found: list[CertificateDirectory], stack: str | None, parameter: str | None, region: str | None) -> str:
    """Which parameter was written."""
    import boto3

    from berth.authentication.allow_list import text_of
    from berth_cli.certificates import aws

    now = _now()
    for directory in found:
        directory.write_allow_list(now)
    text = text_of(entry for directory in found for entry in directory.record().entries(now))
    name = parameter or _parameter_of(stack or "", region)
    aws.publish_allow_list(boto3.client("ssm", region_name=region), name, text)
    return name


def _parameter_of(stack: str, region: str | None) -> str:
    import boto3

    [found] = boto3.client("cloudformation", region_name=region).describe_stacks(StackName=stack)["Stacks"]
    for output in found.get("Outputs", ()):
        if output.get("OutputKey") == OUTPUT:
            return str(output["OutputValue"])
    raise Refused(f"the stack {stack} has no output {OUTPUT}; is its Authentication mtls?")


@contextmanager
def _told() -> Iterator[None]:
    """What cannot be done, as a message and exit status 1."""
    try:
        yield
    except Refused as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error
    except Exception as error:
        # Only now: most of these commands have no use for the AWS SDK, which is slow to import.
        from botocore.exceptions import BotoCoreError, ClientError

        if not isinstance(error, BotoCoreError | ClientError):
            raise
        raise click.ClickException(f"{error}; are AWS credentials and region set?") from error


def _show(directory: CertificateDirectory, issued: Issued) -> None:
    certificate, key = directory.files(issued)
    click.echo(f"serial {issued.serial}, until {issued.not_after:%Y-%m-%d}")
    click.echo(f"the scheduler's tlsConfig: {{certFile: {certificate}, keyFile: {key}}}")
    click.echo("the stack does not know yet: berth certificates allow --stack NAME")


def _now() -> datetime:
    return datetime.now(UTC)


def as_text(directory: CertificateDirectory, now: datetime) -> Iterator[str]:
    """One line each, under a heading."""
    rows = [("NAME", "STATE", "ENDS", "SERIAL")]
    rows += [(each.name, each.state(now).value, _ends(each), each.serial) for each in directory.record().certificates]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])


def as_json(directory: CertificateDirectory, now: datetime) -> list[dict[str, object]]:
    """The same for programs; times in ISO 8601."""
    return [
        {
            "name": each.name,
            "serial": each.serial,
            "state": each.state(now),
            "notAfter": each.not_after,
            "retiresAt": each.retires_at,
            "revokedAt": each.revoked_at,
            "certificate": str(directory.files(each)[0]),
            "key": str(directory.files(each)[1]),
        }
        for each in directory.record().certificates
    ]


def _ends(issued: Issued) -> str:
    ends = issued.revoked_at or min(filter(None, (issued.not_after, issued.retires_at)))
    return f"{ends:%Y-%m-%dT%H:%MZ}"
