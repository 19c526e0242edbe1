"""The options of commands that write a recording, and the new file."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from berth.scheduling.configuration.document import BerthConfiguration
    from berth_cli.recording.format import RecordingWriter

F = TypeVar("F", bound=Callable[..., Any])

KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class PseudonymOptions:
    """wanted: whether the recording has pseudonyms. kept: names that stay in clear all the same."""

    wanted: bool = False
    kept: tuple[str, ...] = ()

    def check(self, *, records: bool) -> None:
        """Raises UsageError for options that have no effect."""
        if self.wanted and not records:
            raise click.UsageError("--pseudonyms needs --record FILE")
        if self.kept and not self.wanted:
            raise click.UsageError("--keep-name needs --pseudonyms")


CLEAR = PseudonymOptions()


def pseudonym_options(command: F) -> F:
    """Add the options --pseudonyms and --keep-name."""
    command = click.option(
        "--keep-name",
        "kept_names",
        multiple=True,
        metavar="NAME",
        help="With --pseudonyms: a key or a name that stays, for a policy to come or a plugin of your own; repeatable.",
    )(command)
    return click.option(
        "--pseudonyms",
        is_flag=True,
        help="Record pseudonyms for names, namespaces, labels and annotations. Names that the policy has stay.",
    )(command)


def new_recording(
    path: Path,
    option: str,
    pseudonyms: PseudonymOptions,
    configuration: BerthConfiguration,
    notes: tuple[str, ...] = (),
    *,
    has_all_fields: bool = False,
) -> RecordingWriter:
    """A new file. option: that named it, for messages. configuration: the one in force: its names stay from the
    beginning. notes, has_all_fields: of the header. Raises ClickException."""
    # Imported here: a usage error must not wait for it.
    from berth import __version__
    from berth_cli.recording.format import Header, RecordingWriter

    header = Header(time.time(), __version__, notes=notes, has_all_fields=has_all_fields)
    try:
        # A recording cannot be continued: it begins with the state of the cluster.
        path.open("xb").close()
        if not pseudonyms.wanted:
            return RecordingWriter(path, header)
        from berth_cli.recording.pseudonymised import PseudonymisingWriter
        from berth_cli.recording.pseudonyms import Pseudonyms

        names = Pseudonyms(secrets.token_bytes(KEY_BYTES), pseudonyms.kept)
        names.keep(configuration.model_dump(mode="json", by_alias=True))
        return PseudonymisingWriter(path, header, names)
    except FileExistsError as error:
        raise click.ClickException(f"{option} {path}: the file exists; name a new one") from error
    except OSError as error:
        raise click.ClickException(f"{option} {path}: {error.strerror}") from error
