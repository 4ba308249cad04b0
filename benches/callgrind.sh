#!/usr/bin/env bash
# Counts instructions per decision on a few fixed workloads, and compares them with the committed
# counts in benches/guard.txt. It only reports; no count makes it fail.
# `benches/callgrind.sh --bless` rewrites the counts.
set -euo pipefail
cd "$(dirname "$0")/.."
figures=benches/guard.txt
# Workload name (see benches/guard.rs), and the number of decisions to count.
workloads=("jit 2000" "index 1000" "lines 1000" "verbs 2000" "plain 2000" "fields 2000" "all 2000")

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
  # Callgrind collects only inside `decide_all…`.
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
