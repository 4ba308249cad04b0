#!/usr/bin/env bash
# Instructions of compiling a source of each kind of statement and list, with n and with 4n of them. Fails when
# a kind takes more than six times as many for four times the source. `benches/growth.sh [KIND]`
# The numbers are exact for one machine and build, so that nothing depends on how busy it is.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}
n=${N:-500}
if ! command -v valgrind >/dev/null; then
  echo "valgrind is not installed (Debian: apt install valgrind); without it nothing can be counted" >&2
  exit 1
fi
built=$(cargo bench --locked -p rulec --profile "$profile" --bench growth --no-run 2>&1) || { echo "$built" >&2; exit 1; }
program=$(sed -n 's/.*(\(.*growth-[0-9a-f]*\)).*/\1/p' <<<"$built" | tail -n 1)
if [[ ! -x "$program" ]]; then
  echo "cargo did not say where it put the benchmark \`growth\`:" >&2
  echo "$built" >&2
  exit 1
fi

# Instructions inside `compile_counted`, those of threads that it starts among them.
count() {
  local log collected
  log=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*growth::compile_counted*' \
    "$program" "$1" "$2" 2>&1) || { echo "$log" >&2; exit 1; }
  collected=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$log")
  if [[ -z "$collected" || "$collected" == 0 ]]; then
    echo "callgrind has collected nothing:" >&2
    echo "$log" >&2
    exit 1
  fi
  echo "$collected"
}

failed=0
printf '%-24s %14s %14s %6s\n' kind "$n" $((4 * n)) times
while read -r kind; do
  [[ $# == 0 || "$1" == "$kind" ]] || continue
  few=$(count "$kind" "$n")
  many=$(count "$kind" $((4 * n)))
  times=$(awk -v few="$few" -v many="$many" 'BEGIN { printf "%.1f", many / few }')
  mark=
  # Training the classifier takes the product of intents and examples: see docs/limits.md.
  if awk -v times="$times" 'BEGIN { exit !(times > 6) }'; then
    if [[ "$kind" == intent ]]; then mark="(trains a classifier)"; else mark="too many"; failed=1; fi
  fi
  printf '%-24s %14s %14s %6s %s\n' "$kind" "$few" "$many" "$times" "$mark"
done < <("$program")
exit "$failed"
