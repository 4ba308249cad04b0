#!/usr/bin/env bash
# Usage: `benches/worst.sh [NUMBER]`. Runs the worst-case message of each operator, function and
# statement, as large as the limits allow. Prints the processor milliseconds of each engine, and the
# instructions of the slowest engine, including parsing of the message. Fails if a case takes more
# than 10^10 instructions, or exceeds a limit and so measures nothing. One second is 10 to 20·10^9
# instructions here. They are counted only if an engine takes over 300 ms.
set -euo pipefail
cd "$(dirname "$0")/.."
most=${MOST:-10000000000}
source benches/count.sh
build_bench worst release

failed=0
number=${1:-0}
while line=$("$program" "$number") && [[ -n "$line" ]]; do
  IFS=$'\t' read -r _ name engines <<<"$line"
  read -r engine time < <(tr '\t' '\n' <<<"$engines" | grep -v EXCEEDED | sort -k2 -n | tail -n 1)
  count=– mark=
  if ((time > 300)); then
    count=$(count worst::decide_counted "$number" "$engine")
    if ((count > most)); then mark="too many"; failed=1; fi
  fi
  if [[ "$line" == *EXCEEDED* ]]; then mark="beyond a limit"; failed=1; fi
  printf '%3s %-75s %14s  %s %s\n' "$number" "$name" "$count" "${engines//$'\t'/ }" "$mark"
  [[ $# == 0 ]] || break
  number=$((number + 1))
done
exit "$failed"
