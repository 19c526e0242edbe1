"""`python -m tests.e2e.kubernetes.emulator_scheduler COMMAND… --config=FILE …`: kube-scheduler with another address.

The stack's output is `http://API.execute-api.localhost:PORT/scheduler`; Go does not resolve names below localhost.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

_HOST = re.compile(r"//([^/]*@)?([a-z0-9]+)\.execute-api\.localhost(:\d+)?")


def main() -> None:
    [file] = (Path(each.removeprefix("--config=")) for each in sys.argv if each.startswith("--config="))
    document = json.loads(file.read_text())
    for extender in document["extenders"]:
        extender["urlPrefix"] = _HOST.sub(
            lambda found: f"//{found[1] or ''}127.0.0.1{found[3] or ''}/_aws/execute-api/{found[2]}/$default",
            extender["urlPrefix"],
        )
    file.write_text(json.dumps(document))
    os.execv(sys.argv[1], sys.argv[1:])


main()
