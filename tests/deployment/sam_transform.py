"""AWS::Serverless-2016-10-31 as SAM's own translator has it: a template in, the processed one out, both JSON.

Run by the emulator's interpreter, which has the translator (`.tools/ministack/bin/python`).
"""

from __future__ import annotations

import json
import sys

from samtranslator.public.translator import ManagedPolicyLoader  # type: ignore[import-not-found]
from samtranslator.translator.transform import transform  # type: ignore[import-not-found]

if __name__ == "__main__":
    # Without IAM to ask: the template names no managed policy.
    json.dump(transform(json.load(sys.stdin), {}, ManagedPolicyLoader(None)), sys.stdout)
