"""`python -m tests.chaos.berth_on_tables serve …`: the berth command with a wall clock that may be wrong.

The file named by CHAOS_CLOCK contains the seconds by which this process's clock is ahead. With `--store dynamodb` the
tables survive the process, and several processes share them.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.deployment.wrong_clock import follow

CLOCK = "CHAOS_CLOCK"


def main() -> None:
    follow(Path(os.environ[CLOCK]))
    # Imported only now, because modules may take the clock when they are imported.
    from berth_cli.main import main as berth

    berth()


if __name__ == "__main__":
    main()
