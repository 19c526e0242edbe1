"""Generates docs/reference/cli.md: each command of `berth` with its options, as click defines them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from berth_cli.main import main
from tools.reference.markdown import code, console, page, table

MAX_COLUMNS = 85
"""The maximum length of a code line that the site shows without scrolling."""

INTRODUCTION = """Every command has `--help`. Commands for a stack take your AWS credentials and region from the usual
places: environment, profile, role. The exit status after Ctrl-C is 130, after SIGTERM or SIGHUP 143."""


def command_line() -> str:
    root = click.Context(main, info_name="berth")
    return page("Command line", "cli/berth_cli", (INTRODUCTION, _contents(main, root), *_sections(main, root)))


def _subcommands(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            yield command, click.Context(command, info_name=name, parent=context)


def _contents(group: click.Group, context: click.Context) -> str:
    rows = [
        (f"[`{inner.command_path}`](#{inner.command_path.replace(' ', '-')})", _first_sentence(command))
        for command, inner in _subcommands(group, context)
    ]
    return table(("Command", "Purpose"), rows)


def _sections(group: click.Group, context: click.Context) -> Iterator[str]:
    for command, inner in _subcommands(group, context):
        yield f"{'#' * (inner.command_path.count(' ') + 1)} {inner.command_path}"
        yield from _text(command.help)
        if not isinstance(command, click.Group):
            arguments = command.collect_usage_pieces(inner)
            if arguments != ["[OPTIONS]"]:
                yield f"Usage: `{inner.command_path} {' '.join(arguments)}`"
            yield from _options(command, inner)
        yield from _epilog(command.epilog)
        if isinstance(command, click.Group):
            yield from _sections(command, inner)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    if options:
        rows = [(_names(each, context), each.help or "", _default(each)) for each in options]
        yield table(("Option", "Description", "Default"), rows)


def _names(option: click.Option, context: click.Context) -> str:
    """Return all names of the option. The last name has the metavar, unless the option is a flag."""
    value = "" if option.is_flag else f" {option.make_metavar(context)}"
    names = [*option.opts, *option.secondary_opts]
    return ", ".join(f"`{name}`" for name in names[:-1]) + (", " if len(names) > 1 else "") + f"`{names[-1]}{value}`"


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    default = option.default
    shown = ", ".join(default) if isinstance(default, tuple | list) else default
    return code(shown) if option.show_default and not option.is_flag else ""


def _text(help_text: str | None) -> Iterator[str]:
    for paragraph in inspect.cleandoc(help_text or "").split("\n\n"):
        yield paragraph if not paragraph.startswith("\b") else f"```text\n{paragraph.removeprefix(chr(8)).strip()}\n```"


def _first_sentence(command: click.Command) -> str:
    text = " ".join(inspect.cleandoc(command.help or "").split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".") + "."


def _epilog(epilog: str | None) -> Iterator[str]:
    """Yield examples as a block of commands, and other paragraphs (exit status) as text."""
    for paragraph in (epilog or "").replace("\b\n", "").strip().split("\n\n"):
        first, _, rest = paragraph.partition("\n")
        if first.startswith("Example"):
            _, _, command = first.partition(": ")
            lines = [command] if command else inspect.cleandoc(rest).splitlines()
            yield console(part for line in lines for part in _fitted(line if line.startswith(" ") else f"$ {line}"))
        elif paragraph:
            yield paragraph


def _fitted(line: str) -> Iterator[str]:
    """Break a long command before an option, or before a pipe outside quotes."""
    while len(line) > MAX_COLUMNS:
        breaks = [found.start() for found in re.finditer(r"(?<=\S) (?=--|\| )", line[: MAX_COLUMNS - 1])]
        breaks = [at for at in breaks if line[:at].count("'") % 2 == 0]
        if not breaks:
            break
        yield f"{line[: breaks[-1]]} \\"
        line = f"    {line[breaks[-1] + 1 :]}"
    yield line
