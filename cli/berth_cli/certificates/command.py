"""The commands of `berth certificates`. Exit status: 0 success, 1 failure, 2 usage error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from berth_cli.certificates.directory import CertificateDirectory, CertificateError
from berth_cli.certificates.record import IssuedCertificate
from berth_cli.options import REGION_HELP
from berth_cli.output import Format, output_option, render

DEFAULT_DIRECTORY = "berth-certificates"
OUTPUT = "AllowListParameterName"
_NAME_PATTERN = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

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


def _directory_option(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "-d",
        "--directory",
        type=click.Path(path_type=Path, file_okay=False),
        default=DEFAULT_DIRECTORY,
        show_default=True,
        help="Directory of the authority's files.",
    )(command)


def _directories_option(command: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "-d",
        "--directory",
        "directories",
        multiple=True,
        type=click.Path(path_type=Path, file_okay=False),
        default=[DEFAULT_DIRECTORY],
        show_default=True,
        help="Directory of the authority's files. Give it twice while you replace one authority with another.",
    )(command)


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

    Each cluster has a private certificate authority, each client a certificate of it. Key files have mode 0600. No
    certificate or key is ever overwritten.
    """


@certificates.command(epilog="Example: berth certificates init my-cluster --directory ~/berth/my-cluster")
@click.argument("cluster", callback=_validate_name)
@_days_option(3650)
@output_option()
@_directory_option
def init(cluster: str, days: int, output: str, directory: Path) -> None:
    """Create a certificate authority for CLUSTER.

    Its key stays in the directory. Protect it like the key of the cluster's own authority.
    """
    with _report_errors():
        found = CertificateDirectory(directory)
        found.create(cluster, _now(), timedelta(days=days))
    if output != Format.TABLE:
        click.echo(render({"name": cluster, "certificate": str(found.authority_file)}, output))
    else:
        click.echo(f"the authority is {found.authority_file}; next: berth certificates issue NAME")


@certificates.command(epilog="Example: berth certificates issue scheduler --days 365")
@click.argument("name", callback=_validate_name)
@_days_option(365)
@output_option()
@_directory_option
def issue(name: str, days: int, output: str, directory: Path) -> None:
    """Issue a certificate for the client NAME, such as scheduler."""
    found = CertificateDirectory(directory)
    with _report_errors():
        issued = found.issue(name, _now(), timedelta(days=days))
    _print_issued(found, issued, output)


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
@output_option()
@_directory_option
def rotate(name: str, days: int, overlap_days: int, output: str, directory: Path) -> None:
    """Issue a new certificate for the client NAME. The previous one ends after the overlap."""
    found = CertificateDirectory(directory)
    with _report_errors():
        issued = found.rotate(name, _now(), timedelta(days=days), timedelta(days=overlap_days))
    _print_issued(found, issued, output)


@certificates.command(epilog="Example: berth certificates revoke scheduler --stack berth-my-cluster")
@click.argument("name_or_serial")
@click.option("--stack", help="Also update the allow-list of this stack.")
@click.option("--region", help=REGION_HELP)
@output_option()
@_directory_option
def revoke(name_or_serial: str, stack: str | None, region: str | None, output: str, directory: Path) -> None:
    """Revoke all certificates of a client, or one certificate by its serial number.

    With --stack, the stack's allow-list is replaced with the certificates of this directory alone. The revocation takes
    effect within 30 seconds.
    """
    found = CertificateDirectory(directory)
    with _report_errors():
        revoked = found.revoke(name_or_serial, _now())
        if output == Format.TABLE:
            for each in revoked:
                click.echo(f"revoked {each.name} {each.serial}")
        parameter = None if stack is None else _publish_allow_list([found], stack, None, region)
    if output != Format.TABLE:
        documents = certificate_documents(
            found, _now(), [each for known in revoked for each in found.record().find(known.serial)]
        )
        click.echo(render({"certificates": documents, "parameter": parameter}, output))
    elif parameter is not None:
        click.echo(f"updated {parameter}")
    else:
        click.echo("the stack's allow-list is not updated yet; run: berth certificates allow --stack NAME")


@certificates.command("list", epilog="Example: berth certificates list -o json")
@output_option()
@_directory_option
def list_(output: str, directory: Path) -> None:
    """List the client certificates and their states."""
    found = CertificateDirectory(directory)
    with _report_errors():
        if output != Format.TABLE:
            click.echo(render(certificate_documents(found, _now(), found.record().certificates), output))
        else:
            for line in certificate_table(found, _now()):
                click.echo(line)


@certificates.command(epilog="Example: berth certificates upload --bucket my-bucket --key my-cluster.pem")
@click.option("--bucket", required=True, help="An S3 bucket with versioning, in the stack's region.")
@click.option("--key", default="truststore.pem", show_default=True, help="Key of the S3 object.")
@click.option("--region", help="AWS region of the bucket; default: from the AWS configuration.")
@output_option()
@_directories_option
def upload(bucket: str, key: str, region: str | None, output: str, directories: tuple[Path, ...]) -> None:
    """Upload the trust store to S3 and print the two stack parameters for samconfig.toml.

    Deploy afterwards: API Gateway reads only the version that the parameter names. No private key leaves the directory.
    """
    with _report_errors():
        pem = b"".join(CertificateDirectory(path).authority_pem() for path in directories)
        import boto3

        from berth_cli.certificates import aws

        truststore = aws.upload_truststore(boto3.client("s3", region_name=region), bucket, key, pem)
    parameters = {"TruststoreUri": truststore.uri, "TruststoreVersion": truststore.version}
    if output != Format.TABLE:
        click.echo(render(parameters, output))
    else:
        for parameter, value in parameters.items():
            click.echo(f'{parameter} = "{value}"')


@certificates.command(epilog="Example: berth certificates allow --stack berth-my-cluster")
@click.option("--stack", help="Name of the stack; its output AllowListParameterName names the parameter.")
@click.option("--parameter", help="Name of the SSM parameter, instead of --stack.")
@click.option("--region", help=REGION_HELP)
@output_option()
@_directories_option
def allow(
    stack: str | None, parameter: str | None, region: str | None, output: str, directories: tuple[Path, ...]
) -> None:
    """Replace the stack's allow-list with all certificates that are neither revoked nor expired."""
    if (stack is None) == (parameter is None):
        raise click.UsageError("give either --stack NAME or --parameter NAME")
    found, now = [CertificateDirectory(path) for path in directories], _now()
    with _report_errors():
        parameter_name = _publish_allow_list(found, stack, parameter, region)
        allowed = [
            document for each in found for document in certificate_documents(each, now, each.record().allowed(now))
        ]
    if output != Format.TABLE:
        click.echo(render({"parameter": parameter_name, "certificates": allowed}, output))
    else:
        click.echo(f"updated {parameter_name}; the change takes effect within 30 seconds")


def _publish_allow_list(
    found: list[CertificateDirectory], stack: str | None, parameter: str | None, region: str | None
) -> str:
    """Write the allow-list of these directories; return the name of the SSM parameter."""
    import boto3

    from berth.authentication.allow_list import format_entries
    from berth_cli.certificates import aws

    now = _now()
    for directory in found:
        directory.write_allow_list(now)
    text = format_entries(entry for directory in found for entry in directory.record().allow_list_entries(now))
    name = parameter or _allow_list_parameter(stack or "", region)
    aws.publish_allow_list(boto3.client("ssm", region_name=region), name, text)
    return name


def _allow_list_parameter(stack: str, region: str | None) -> str:
    import boto3

    [found] = boto3.client("cloudformation", region_name=region).describe_stacks(StackName=stack)["Stacks"]
    for output in found.get("Outputs", ()):
        if output.get("OutputKey") == OUTPUT:
            return str(output["OutputValue"])
    raise CertificateError(f"the stack {stack} has no output {OUTPUT}; is its Authentication mtls?")


@contextmanager
def _report_errors() -> Iterator[None]:
    """Turn errors of the block into a message and exit status 1."""
    try:
        yield
    except CertificateError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error
    except Exception as error:
        # Imported here: most of these commands do not need the AWS SDK, which is slow to import.
        from botocore.exceptions import BotoCoreError, ClientError

        if not isinstance(error, BotoCoreError | ClientError):
            raise
        raise click.ClickException(f"{error}; are AWS credentials and region set?") from error


def _print_issued(directory: CertificateDirectory, issued: IssuedCertificate, output: str) -> None:
    if output != Format.TABLE:
        [document] = certificate_documents(directory, _now(), [issued])
        click.echo(render(document, output))
        return
    certificate, key = directory.files(issued)
    click.echo(f"serial {issued.serial}, valid until {issued.not_after:%Y-%m-%d}")
    click.echo(f"the scheduler's tlsConfig: {{certFile: {certificate}, keyFile: {key}}}")
    click.echo("the stack's allow-list is not updated yet; run: berth certificates allow --stack NAME")


def _now() -> datetime:
    return datetime.now(UTC)


def certificate_table(directory: CertificateDirectory, now: datetime) -> Iterator[str]:
    """The certificates as lines of a table, with a header."""
    rows = [("NAME", "STATE", "ENDS", "SERIAL")]
    rows += [
        (each.name, each.state(now).value, _end_time(each), each.serial) for each in directory.record().certificates
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]])


def certificate_documents(
    directory: CertificateDirectory, now: datetime, certificates: Iterable[IssuedCertificate]
) -> list[dict[str, object]]:
    """The certificates as JSON objects; times in ISO 8601."""
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
        for each in certificates
    ]


def _end_time(issued: IssuedCertificate) -> str:
    ends = issued.revoked_at or min(filter(None, (issued.not_after, issued.retires_at)))
    return f"{ends:%Y-%m-%dT%H:%MZ}"
