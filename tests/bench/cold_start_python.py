"""The figures `cold.…` with another interpreter.

`python -m tests.bench.cold_start_python PYTHON`: its environment needs the requirements of the layers, botocore and
urllib3. `python -m tests.bench.cold_start_python --image IMAGE LIBRARIES`: the interpreter and the AWS SDK of a runtime
image, in Docker. LIBRARIES has the requirements of both layers for that interpreter: `uv pip install --no-deps
--require-hashes --target LIBRARIES -r layers/scheduling/requirements.txt -r layers/kubernetes/requirements.txt`.

Run each twice: the first run compiles Berth.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from unittest.mock import patch

from tests.bench import cold_start
from tests.bench.figures import shown

PATHS = [str(cold_start.PROJECT / path) for path in ("layers/scheduling", "layers/kubernetes")]
SDK = "/var/runtime"
"""Where a runtime image has the AWS SDK."""

# Docker passes on the variables that it is given the names of. A container of its own for each run, as each is a start.
IN_DOCKER = """#!/bin/sh
names=$(env | sed -n 's/^\\(\\(AWS\\|BERTH\\|POWERTOOLS\\|PYTHON\\)[A-Z_]*\\)=.*/--env \\1/p')
exec docker run --rm --network host --workdir {project} --volume {project}:{project} --volume {temporary}:{temporary} \\
  --volume {libraries}:{libraries}:ro --entrypoint python3 $names {image} "$@"
"""


def main(arguments: list[str]) -> None:
    """Print them."""
    with ExitStack() as until_the_end:
        match arguments:
            case ["--image", image, libraries]:
                directory = Path(until_the_end.enter_context(TemporaryDirectory()))
                interpreter, paths = _in_docker(image, libraries, directory), [*PATHS, libraries, SDK]
            case [interpreter]:
                paths = PATHS
            case _:
                sys.exit(__doc__)
        until_the_end.enter_context(patch.dict(os.environ, {"PYTHONPATH": os.pathsep.join(paths)}))
        until_the_end.enter_context(patch.object(sys, "executable", interpreter))
        for figure in cold_start.figures():
            print(shown(figure, "table"), flush=True)


def _in_docker(image: str, libraries: str, directory: Path) -> str:
    """The path of a command that runs the image's interpreter."""
    command = directory / "python"
    command.write_text(
        IN_DOCKER.format(image=image, libraries=libraries, project=cold_start.PROJECT, temporary=gettempdir())
    )
    command.chmod(0o755)
    return str(command)


if __name__ == "__main__":
    main(sys.argv[1:])
