"""The options of `berth simulate` that change the dump, and those that say what is expected."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import click

from berth_cli.simulate.expectations import InvalidExpectation, read_expectation
from berth_cli.simulate.what_if.changes import InvalidChange, read_changes

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--add-nodes", type=click.IntRange(1, 10_000), multiple=True, metavar="N", help="What if: add N nodes."
    ),
    click.option("--like", multiple=True, metavar="NODE", help="The node that those of --add-nodes are like."),
    click.option(
        "--drain", multiple=True, metavar="NODE", help="What if: cordon the node and evict its pods, as kubectl does."
    ),
    click.option("--cordon", multiple=True, metavar="NODE", help="What if: make the node unschedulable."),
    click.option(
        "--scale",
        multiple=True,
        metavar="KIND/NAME=N",
        help="What if: scale a Deployment, StatefulSet, ReplicaSet or ReplicationController; with NAMESPACE/ in front "
        "if several have the name.",
    ),
    click.option(
        "--expect",
        multiple=True,
        metavar="FIGURE<=N",
        help="Exit with 0 if this holds, else with 1, whether or not all pods are placed. FIGURE: placed, pending, "
        "evicted; with a change also newly-pending and moved. Relations: = < > <= >=.",
    ),
)


def what_if_options(command: F) -> F:
    """Add the options; the command gets them as `changes` and `expectations`."""

    @wraps(command)
    def with_changes(
        *args: Any,
        add_nodes: tuple[int, ...],
        like: tuple[str, ...],
        drain: tuple[str, ...],
        cordon: tuple[str, ...],
        scale: tuple[str, ...],
        expect: tuple[str, ...],
        **kwargs: Any,
    ) -> Any:
        try:
            changes = read_changes(add_nodes, like, scale, cordon, drain)
            expectations = tuple(map(read_expectation, expect))
        except (InvalidChange, InvalidExpectation) as error:
            raise click.UsageError(str(error)) from error
        return command(*args, changes=changes, expectations=expectations, **kwargs)

    found: Any = with_changes
    for option in reversed(_OPTIONS):
        found = option(found)
    return found  # type: ignore[no-any-return]
