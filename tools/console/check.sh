#!/usr/bin/env bash
# Checks format, lint and types of the console's page and its tests. FIX=1 formats first. Without npm, checks nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."

bin=.tools/console/node_modules/.bin
if [ ! -e .tools/console/.ready ]; then
  echo "the console's page is not checked: no npm" >&2
  exit 0
fi
if [ -n "${FIX:-}" ]; then mode=--write; else mode=--check; fi
"$bin/prettier" --config tools/console/prettier.json --log-level warn "$mode" \
  'cli/berth_cli/console/page/**/*.{js,css}' 'tests/console/page/**/*.js' tools/console/eslint.config.mjs
"$bin/eslint" --config tools/console/eslint.config.mjs cli/berth_cli/console/page tests/console/page
"$bin/tsc" --project tools/console/tsconfig.json
"$bin/tsc" --project tools/console/tsconfig.tests.json
