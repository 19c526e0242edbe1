"""`python -m tests.bench.cold_start_python PYTHON`: the figures `cold.…` with another interpreter, such as that of the
runtime image.

Its environment needs the requirements of the layers, botocore and urllib3. Run it twice: the first run compiles Berth.
"""

from __future__ import annotations

import os
import sys
from unittest.mock import patch

from tests.bench import cold_start
from tests.bench.figures import shown

PATHS = ("layers/scheduling", "layers/kubernetes")


def main(python: str) -> None:
    """Print them."""
    paths = os.pathsep.join(str(cold_start.PROJECT / path) for path in PATHS)
    with patch.dict(os.environ, {"PYTHONPATH": paths}), patch.object(sys, "executable", python):
        for figure in cold_start.figures():
            print(shown(figure, "table"), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
