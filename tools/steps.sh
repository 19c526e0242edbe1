#!/usr/bin/env bash
# tools/steps.sh change | nightly: makes the targets in .ci/change or .ci/nightly, some in parallel, and prints a table
# of results and times, and the last lines of a failed step. `change` ends at the first failure; `nightly` goes on.
# The output of each step is in .build/steps/STEP.log. CONTINUE=1 skips the steps that have passed at this commit.
set -uo pipefail
set -f # the shell must not expand a * in a step
cd "$(dirname "$0")/.."

lane=${1:?change or nightly}
# These builds are not deployed, so without the runtime's Python they do not contain byte-code.
python3.13 -c '' 2>/dev/null || export BERTH_BYTECODE_PYTHON=
logs=.build/steps results=.build/steps/results
passed=.build/$lane/$(git rev-parse HEAD)
[ -z "$(git status --porcelain)" ] || passed=
if [ "${CONTINUE:-}" ] && [ -z "$passed" ]; then
  echo "CONTINUE=1: there are changes that are not committed; what has passed, passed without them" >&2
  exit 2
fi
rm -rf "$logs" && mkdir -p "$logs" ${passed:+"$passed"} && : >"$results"

# step WORD...: makes a target, and prints result, seconds and the last line of its output.
step() {
  local name=$* began=$SECONDS result=passed log line
  name=${name//[^A-Za-z0-9=.,-]/_} log=$logs/${name//[^A-Za-z0-9=.,-]/_}.log
  if [ "${CONTINUE:-}" ] && [ -e "$passed/$name" ]; then
    echo "passed before" >"$log"
  else
    echo "== make $*"
    make "$@" </dev/null >"$log" 2>&1 || result=FAILED
    [ ! -e "$logs/ending" ] || result=ended
  fi
  line=$(sed 's/\x1b\[[0-9;]*m//g' "$log" | grep -v '^make' | grep '[[:alnum:]]' | tail -1 | cut -c1-90)
  printf '%-7s %5d s  %-42s %s\n' "$result" $((SECONDS - began)) "$*" "$line" | tee -a "$results"
  if [ "$result" = FAILED ]; then
    tail -100 "$log"
    echo "all of it: $log"
    return 1
  fi
  [ "$result" = ended ] || [ -z "$passed" ] || touch "$passed/$name"
}

track() { # NAME: makes the steps of the track; in `change` until a step fails
  local name words failed=0
  while read -r name words; do
    [ "$name" = "$1" ] || continue
    step $words || failed=1
    [ -e "$logs/ending" ] || [ "$lane$failed" = change1 ] && break
  done <".ci/$lane"
  return $failed
}

# Ends the running tracks, and waits for their cleanup.
end() {
  touch "$logs/ending"
  local groups=$(jobs -p | sed 's/^/-/')
  [ -z "$groups" ] || kill -INT -- $groups 2>/dev/null
  for _ in {1..60}; do
    [ "$(jobs -pr)" ] || return 0
    sleep 1
  done
  kill -KILL -- $groups 2>/dev/null
}
table() {
  echo && cat "$results"
  echo "$(grep -c ^passed "$results") steps passed, $(grep -c ^FAILED "$results") failed in $SECONDS s"
}
trap 'end; table; exit 130' INT TERM
set -m # each track is a process group: a signal reaches everything that it has started

failed=0
track first &
wait $! || failed=1
if [ $failed = 0 ]; then
  track work &
  track clusters &
  track alarms &
  { renice -n 19 $BASHPID >/dev/null && track spare; } &
  for _ in 1 2 3 4; do
    wait -n && continue
    failed=1
    [ "$lane" = nightly ] || { end && break; }
  done
fi
if [ $failed = 0 ] || [ "$lane" = nightly ]; then
  track last &
  wait $! || failed=1
fi

table
exit $failed
