#!/usr/bin/env bash
# The worst message of each operator, function and statement, as large as the limits allow: the milliseconds that each
# engine takes to decide it, and the instructions of the slowest, reading the message among them. Fails when one takes more
# than 4·10^9 instructions, about a second here, or goes beyond a limit and so measures nothing. `benches/worst.sh [NUMBER]`
# Instructions are counted where an engine takes longer than a tenth of a second: what is faster cannot have so many.
set -euo pipefail
cd "$(dirname "$0")/.."
most=${MOST:-4000000000}
source benches/count.sh
build_bench worst release

failed=0
number=${1:-0}
while line=$("$program" "$number") && [[ -n "$line" ]]; do
  IFS=$'\t' read -r _ name engines <<<"$line"
  read -r engine time < <(tr '\t' '\n' <<<"$engines" | grep -v EXCEEDED | sort -k2 -n | tail -n 1)
  count=– mark=
  if ((time > 100)); then
    count=$(count worst::decide_counted "$number" "$engine")
    if ((count > most)); then mark="too many"; failed=1; fi
  fi
  if [[ "$line" == *EXCEEDED* ]]; then mark="beyond a limit"; failed=1; fi
  printf '%3s %-75s %14s  %s %s\n' "$number" "$name" "$count" "${engines//$'\t'/ }" "$mark"
  [[ $# == 0 ]] || break
  number=$((number + 1))
done
exit "$failed"
