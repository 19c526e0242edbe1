"""The commands of `berth certificates`. Exit status: 0 success, 1 failure, 2 usage error."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from berth_cli.installation.certificate_directory import CertificateDirectory, CertificateError, IssuedCertificate
from berth_cli.terminal.options import REGION_HELP
from berth_cli.terminal.output import Format, echo_table, output_option, render

DEFAULT_DIRECTORY = "berth-certificates"
HEADER = ("NAME", "STATE", "ENDS", "SERIAL")
NOT_ALLOWED_YET = "the stack's allow-list is not updated yet; run: berth certificates allow --stack NAME"
_NAME_PATTERN = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_UNVERSIONED = (None, "", "null")

EPILOG = """\b
Examples, from a new authority to a scheduler that may call Berth:
  berth certificates init my-cluster
  berth certificates issue scheduler
  berth certificates upload --bucket my-bucket     # copy the output to samconfig.toml
  sam deploy --config-env my-cluster
  berth certificates allow --stack berth-my-cluster

\b
Exit status: 0 success, 1 failure, 2 usage error.
"""


def _directory_option(*, multiple: bool = False) -> Callable[..., Any]:
    """Add --directory. The command gets one or several CertificateDirectory objects as `found`."""
    more = " Give it twice while you replace one authority with another." if multiple else ""
    return click.option(
        "-d",
        "--directory",
        "found",
        multiple=multiple,
        type=click.Path(path_type=Path, file_okay=False),
        callback=lambda _, __, given: (
            [CertificateDirectory(path) for path in given] if multiple else CertificateDirectory(given)
        ),
        default=[DEFAULT_DIRECTORY] if multiple else DEFAULT_DIRECTORY,
        show_default=True,
        help=f"Directory of the authority's files.{more}",
    )


def _days_option(default: int) -> Callable[..., Any]:
    return click.option(
        "--days", type=click.IntRange(1, 7300), default=default, show_default=True, help="Lifetime in days."
    )


def _validate_name(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not _NAME_PATTERN.fullmatch(value):
        raise click.BadParameter("use letters a to z, digits and hyphens, at most 63 characters")
    return value


@click.group(epilog=EPILOG)
def certificates() -> None:
    """Manage client certificates for mutual TLS.

    Each cluster has a private certificate authority, which signs one certificate for each client. Key files have mode
    0600. Certificates and keys are never overwritten.
    """


@certificates.command(epilog="Example: berth certificates init my-cluster --directory ~/berth/my-cluster")
@click.argument("cluster", callback=_validate_name)
@_days_option(3650)
@_directory_option()
def init(cluster: str, days: int, found: CertificateDirectory) -> None:
    """Create a certificate authority for CLUSTER.

    Its private key stays in the directory. Protect it like the key of the cluster's own authority.
    """
    found.create(cluster, _now(), timedelta(days=days))
    click.echo(f"the authority is {found.authority_file}; next: berth certificates issue NAME")


@certificates.command(epilog="Example: berth certificates issue scheduler --days 365")
@click.argument("name", callback=_validate_name)
@_days_option(365)
@_directory_option()
def issue(name: str, days: int, found: CertificateDirectory) -> None:
    """Issue a certificate for the client NAME, such as scheduler."""
    _echo_issued(found, found.issue(name, _now(), timedelta(days=days)))


@certificates.command(epilog="Example: berth certificates rotate scheduler --overlap-days 7")
@click.argument("name", callback=_validate_name)
@_days_option(365)
@click.option(
    "--overlap-days",
    type=click.IntRange(0, 365),
    default=7,
    show_default=True,
    help="Days during which the previous certificate stays valid.",
)
@_directory_option()
def rotate(name: str, days: int, overlap_days: int, found: CertificateDirectory) -> None:
    """Issue a new certificate for the client NAME. The previous one stays valid for the overlap."""
    _echo_issued(found, found.issue(name, _now(), timedelta(days=days), timedelta(days=overlap_days)))


def _echo_issued(directory: CertificateDirectory, issued: IssuedCertificate) -> None:
    certificate, key = directory.files(issued)
    click.echo(f"serial {issued.serial}, valid until {issued.not_after:%Y-%m-%d}")
    click.echo(f"the scheduler's tlsConfig: {{certFile: {certificate}, keyFile: {key}}}")
    click.echo(NOT_ALLOWED_YET)


@certificates.command(epilog="Example: berth certificates revoke scheduler")
@click.argument("name_or_serial")
@_directory_option()
def revoke(name_or_serial: str, found: CertificateDirectory) -> None:
    """Revoke all certificates of a client, or one certificate by its serial number.

    A stack accepts them until `berth certificates allow` replaces its allow-list.
    """
    for each in found.revoke(name_or_serial, _now()):
        click.echo(f"revoked {each.name} {each.serial}")
    click.echo(NOT_ALLOWED_YET)


@certificates.command("list", epilog="Example: berth certificates list -o json")
@output_option()
@_directory_option()
def list_(output: str, found: CertificateDirectory) -> None:
    """List the client certificates and their states."""
    listed, now = found.record().certificates, _now()
    if output != Format.TABLE:
        click.echo(render([_document(found, each, now) for each in listed], output))
    else:
        echo_table(HEADER, ((each.name, each.state(now), _end_time(each), each.serial) for each in listed))


@certificates.command(epilog="Example: berth certificates upload --bucket my-bucket --key my-cluster.pem")
@click.option("--bucket", required=True, help="An S3 bucket with versioning, in the stack's region.")
@click.option("--key", default="truststore.pem", show_default=True, help="Key of the S3 object.")
@click.option("--region", help="AWS region of the bucket; default: from the AWS configuration.")
@_directory_option(multiple=True)
def upload(bucket: str, key: str, region: str | None, found: Sequence[CertificateDirectory]) -> None:
    """Upload the trust store to S3 and print the stack parameter for samconfig.toml.

    Deploy the stack afterwards: API Gateway reads only the object version that the parameter names. Private keys stay
    in the directory.
    """
    pem = b"".join(each.authority_pem() for each in found)
    import boto3

    from berth_cli.sources.stack import aws_errors

    with aws_errors():
        client = boto3.client("s3", region_name=region)
        answer = client.put_object(Bucket=bucket, Key=key, Body=pem, ContentType="application/x-pem-file")
    version = answer.get("VersionId")
    if version in _UNVERSIONED:
        raise CertificateError(
            f"the bucket {bucket} has no versioning, and API Gateway needs an object version; enable it with: "
            f"aws s3api put-bucket-versioning --bucket {bucket} --versioning-configuration Status=Enabled"
        )
    click.echo(f'TruststoreUri = "s3://{bucket}/{key}?versionId={version}"')


@certificates.command(epilog="Example: berth certificates allow --stack berth-my-cluster")
@click.option("--stack", required=True, help="Name of the stack; its cache table has the list.")
@click.option("--region", help=REGION_HELP)
@_directory_option(multiple=True)
def allow(stack: str, region: str | None, found: Sequence[CertificateDirectory]) -> None:
    """Replace the stack's allow-list with all certificates that are neither revoked nor expired."""
    import boto3

    from berth.authentication.allow_list import format_entries
    from berth.authentication.dynamodb_allow_list import DynamoDBAllowList
    from berth.authentication.outcomes import Authentication
    from berth_cli.sources.stack import CACHE_TABLE_NAME, aws_errors, describe

    now = _now()
    for directory in found:
        directory.write_allow_list(now)
    text = format_entries(entry for directory in found for entry in directory.record().allow_list_entries(now))
    found_stack = describe(stack, region)
    if found_stack.parameters.get("Authentication") != Authentication.MTLS:
        raise CertificateError(f"the stack {stack} has no allow-list: its parameter Authentication is not mtls")
    table = found_stack.output(CACHE_TABLE_NAME)
    with aws_errors():
        DynamoDBAllowList(boto3.client("dynamodb", region_name=region), table).replace(text)
    click.echo(f"updated the allow-list in {table}; the change takes effect within 30 seconds")


def _now() -> datetime:
    return datetime.now(UTC)


def _document(directory: CertificateDirectory, issued: IssuedCertificate, now: datetime) -> dict[str, object]:
    """Return the certificate as a JSON object, with times in ISO 8601."""
    certificate, key = map(str, directory.files(issued))
    document = issued.model_dump(mode="json", by_alias=True)
    return {**document, "state": issued.state(now), "certificate": certificate, "key": key}


def _end_time(issued: IssuedCertificate) -> str:
    return f"{issued.revoked_at or issued.ends_at:%Y-%m-%dT%H:%MZ}"
