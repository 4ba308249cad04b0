#!/usr/bin/env bash
# Instructions a decision on three fixed workloads, against the committed figures of benches/guard.txt.
# It reports and asserts nothing. `benches/callgrind.sh --bless` writes the figures anew.
set -euo pipefail
cd "$(dirname "$0")/.."
figures=benches/guard.txt
# the workload's name (see benches/guard.rs), and decisions to count over
workloads=("jit 2000" "index 1000" "lines 1000")

bless=no
case "${1:-}" in
  "") ;;
  --bless) bless=yes ;;
  *) echo "usage: benches/callgrind.sh [--bless]" >&2; exit 2 ;;
esac
if ! command -v valgrind >/dev/null; then
  echo "valgrind is not installed (Debian: apt install valgrind); without it nothing can be counted" >&2
  exit 1
fi

built=$(cargo bench --locked -p rulec --profile release --bench guard --no-run 2>&1) || { echo "$built" >&2; exit 1; }
program=$(sed -n 's/.*(\(.*guard-[0-9a-f]*\)).*/\1/p' <<<"$built" | tail -n 1)
if [[ ! -x "$program" ]]; then
  echo "cargo did not say where it put the benchmark \`guard\`:" >&2
  echo "$built" >&2
  exit 1
fi

# Instructions a decision: callgrind collects inside `decide_all…` alone.
count() {
  local log
  log=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*guard::decide_all*' \
    "$program" "$1" "$2" 2>&1) || { echo "$log" >&2; exit 1; }
  local collected
  collected=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$log")
  if [[ -z "$collected" || "$collected" == 0 ]]; then
    echo "callgrind has collected nothing:" >&2
    echo "$log" >&2
    exit 1
  fi
  echo $((collected / $2))
}

new=""
printf '%8s %14s %14s %9s\n' workload committed now change
for workload in "${workloads[@]}"; do
  read -r name decisions <<<"$workload"
  now=$(count "$name" "$decisions")
  new+="$name $now"$'\n'
  before=$(awk -v name="$name" '$1 == name { print $2 }' "$figures" 2>/dev/null || true)
  change=–
  if [[ -n "$before" ]]; then
    change=$(awk -v now="$now" -v before="$before" 'BEGIN { printf "%+.1f%%", (now / before - 1) * 100 }')
  fi
  printf '%8s %14s %14s %9s\n' "$name" "${before:-none}" "$now" "$change"
done

if [[ "$bless" == yes ]]; then
  { echo "# Workload, and instructions a decision; written by benches/callgrind.sh --bless"; printf '%s' "$new"; } >"$figures"
  echo "written to $figures"
fi
