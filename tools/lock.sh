#!/usr/bin/env bash
# Locks all requirements, each with the hashes of every platform's files. Arguments go to uv, such as --upgrade.
set -euo pipefail
cd "$(dirname "$0")/.."

# compile <file to write> <source or option>...
compile() {
  echo "$1"
  .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --output-file "$@"
}

# lock <requirements without suffix> <source or option>...
lock() {
  local requirements=$1
  shift
  compile "$requirements.txt" "$requirements.in" "$@"
}

# lock_layer <layer> "<packages that it leaves out>" <option>...
# A layer has the versions that the tests ran with.
lock_layer() {
  local layer=$1 left_out=$2
  shift 2
  # shellcheck disable=SC2046,SC2086  # split on purpose: one option for each package
  lock "layers/$layer/requirements" --constraint requirements/dev.txt \
    $(printf -- '--no-emit-package %s ' $left_out) "$@"
}

lock requirements/uv "$@"
lock requirements/dev pyproject.toml "$@"

# What the command has where it is installed: what pyproject.toml asks for, in the versions that the tests ran with.
compile requirements/cli.txt pyproject.toml --constraint requirements/dev.txt "$@"

# What builds it from this folder, as the GitHub Action does.
lock requirements/build --constraint requirements/dev.txt "$@"

# The runtime has boto3 and what it needs, compiled to byte-code: 17 MB less to fetch at a cold start, and nothing here
# needs a newer one. (The X-Ray SDK of the tracer asks for botocore.)
lock_layer scheduling "botocore python-dateutil six urllib3" "$@"

# The scheduling layer has pydantic; and aiohttp with its company serves kubernetes.aio only, which is left out too.
lock_layer kubernetes "pydantic pydantic-core annotated-types typing-extensions typing-inspection
  aiohttp aiohttp-retry aiosignal aiohappyeyeballs attrs frozenlist multidict propcache yarl" "$@"

lock tools/sam/requirements "$@"
lock tools/ministack/requirements "$@"
lock tools/checkov/requirements "$@"
lock tools/supply_chain/requirements "$@"
lock tools/docs/requirements "$@"
lock tools/hooks/requirements "$@"
