#!/usr/bin/env bash
# Instructions a decision on a few fixed workloads, against the committed figures of benches/guard.txt.
# It reports and asserts nothing. `benches/callgrind.sh --bless` writes the figures anew.
set -euo pipefail
cd "$(dirname "$0")/.."
figures=benches/guard.txt
# the workload's name (see benches/guard.rs), and decisions to count over
workloads=("jit 2000" "index 1000" "lines 1000" "verbs 2000" "fields 2000" "all 2000")

bless=no
case "${1:-}" in
  "") ;;
  --bless) bless=yes ;;
  *) echo "usage: benches/callgrind.sh [--bless]" >&2; exit 2 ;;
esac
source benches/count.sh
build_bench guard release

new=""
printf '%8s %14s %14s %9s\n' workload committed now change
for workload in "${workloads[@]}"; do
  read -r name decisions <<<"$workload"
  # Callgrind collects inside `decide_all…` alone.
  counted=$(count guard::decide_all "$name" "$decisions")
  now=$((counted / decisions))
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
