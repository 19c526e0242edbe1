"""Prints the tables of docs/reference/capacity.md: python -m tests.capacity."""

from __future__ import annotations

from tests.capacity.model import (
    Load,
    changes_that_fill_a_partition,
    environments_that_fill_a_partition,
    units,
)
from tests.capacity.sizes import snapshot_bytes_per_node

NODES = (500, 5_000, 15_000)
CHANGES = (1.0, 25.0, 100.0)


def main() -> None:
    print(
        "| nodes | pod changes/s | publications/s | bytes a flush | head: writes/s | log: writes/s "
        "| snapshots: writes/s | head: reads/s | log: reads/s | log: reads/s, nodes alone | $ a month |"
    )
    print("|---" * 11 + "|")
    for nodes in NODES:
        for changes in CHANGES:
            found = units(Load(nodes, changes, calls=changes / 2))
            # Every policy's preempt reads pods. Its environment is warmed up, and hardly ever called.
            preempt = units(Load(nodes, changes, calls=0.0, environments=1))
            print(
                f"| {nodes:,} | {changes:g} | {found.publications:.2f} | {found.flush_bytes:,.0f} "
                f"| {found.head_writes:.1f} | {found.log_writes:.1f} | {found.snapshot_writes:.1f} "
                f"| {found.head_reads:.1f} | {found.log_reads:.1f} | {preempt.log_reads:.1f} "
                f"| {found.dollars_a_month:.2f} |"
            )
    print(f"\nsnapshot: {snapshot_bytes_per_node():,.0f} bytes a node with its 30 pods")
    print(f"log key full at {changes_that_fill_a_partition():,.0f} pod changes a second")
    for changes in CHANGES:
        count = environments_that_fill_a_partition(Load(5_000, changes, calls=1e9))
        print(f"at {changes:g} changes/s {count:,} environments may read every publication")


if __name__ == "__main__":
    main()
