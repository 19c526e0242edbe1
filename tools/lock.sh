#!/usr/bin/env bash
# Locks all requirements, each with the hashes of every platform's files. Arguments go to uv, such as --upgrade.
set -euo pipefail
cd "$(dirname "$0")/.."
options=(--quiet --universal --python-version 3.11 --generate-hashes --no-header "$@")

# lock <requirements without suffix> <source or option>...
lock() {
  local requirements=$1
  shift
  echo "$requirements.txt"
  .venv/bin/uv pip compile "${options[@]}" --output-file "$requirements.txt" "$@"
}

# lock_layer <layer> <package that it leaves out>...
# A layer has the versions that the tests ran with.
lock_layer() {
  local layer=layers/$1
  shift
  lock "$layer/requirements" "$layer/requirements.in" --constraint requirements/dev.txt "${@/#/--no-emit-package=}"
}

lock requirements/uv requirements/uv.in
lock requirements/dev requirements/dev.in pyproject.toml
# The dependencies of the installed command, and the requirements with which the GitHub Action builds it.
lock requirements/cli pyproject.toml --constraint requirements/dev.txt
lock requirements/build requirements/build.in --constraint requirements/dev.txt
lock_layer scheduling
# The scheduling layer has pydantic. Only kubernetes.aio, which is left out, needs aiohttp and its dependencies.
lock_layer kubernetes pydantic pydantic-core annotated-types typing-extensions typing-inspection \
  aiohttp aiohttp-retry aiosignal aiohappyeyeballs attrs frozenlist multidict propcache yarl
for tool in sam ministack checkov supply_chain docs hooks; do
  lock "tools/$tool/requirements" "tools/$tool/requirements.in"
done
