#!/usr/bin/env bash
# Usage: `benches/growth.sh [KIND|DIMENSION]`. Counts the instructions to compile a source of each kind
# of statement and list, with n and with 4n of them. Fails if a kind takes more than six times the
# instructions for four times the source. Then counts the instructions of `rulec check` and of `rulec
# plan` in each dimension of the files, with n and with 2n. The counts are exact for one machine and
# build, and do not depend on its load.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${PROFILE:-release}
n=${N:-500}
source benches/count.sh
build_bench growth "$profile"

failed=0
printf '%-24s %14s %14s %6s\n' kind "$n" $((4 * n)) times
while read -r kind; do
  [[ $# == 0 || "$1" == "$kind" ]] || continue
  few=$(count growth::compile_counted "$kind" "$n")
  many=$(count growth::compile_counted "$kind" $((4 * n)))
  times=$(awk -v few="$few" -v many="$many" 'BEGIN { printf "%.1f", many / few }')
  mark=
  # Training the classifier takes intents × examples: see docs/limits.md.
  if awk -v times="$times" 'BEGIN { exit !(times > 6) }'; then
    if [[ "$kind" == intent ]]; then mark="(trains a classifier)"; else mark="too many"; failed=1; fi
  fi
  printf '%-24s %14s %14s %6s %s\n' "$kind" "$few" "$many" "$times" "$mark"
done < <("$program")

size=${SIZE:-200}
for verb in check plan; do
  printf '\n%-24s %14s %14s %6s\n' "$verb, by dimension" "$size" $((2 * size)) times
  while read -r most dimension; do
    [[ $# == 0 || "$1" == "$dimension" ]] || continue
    # The index is built in proportion to the file in every dimension.
    [[ "$verb" == check ]] || most=2.5
    few=$(count "growth::${verb}_counted" "$verb" "$dimension" "$size")
    many=$(count "growth::${verb}_counted" "$verb" "$dimension" $((2 * size)))
    times=$(awk -v few="$few" -v many="$many" 'BEGIN { printf "%.1f", many / few }')
    mark=
    if awk -v times="$times" -v most="$most" 'BEGIN { exit !(times > most) }'; then mark="too many"; failed=1; fi
    printf '%-24s %14s %14s %6s %s\n' "$dimension" "$few" "$many" "$times" "$mark"
  done < <("$program" check)
done
exit "$failed"
