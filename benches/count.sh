# Functions that count instructions with callgrind. Other scripts here source this file and set the
# limits.

if ! command -v valgrind >/dev/null; then
  echo "valgrind is not installed (Debian: apt install valgrind); without it nothing can be counted" >&2
  exit 1
fi

# build_bench NAME PROFILE: builds the benchmark and sets `program` to its path.
build_bench() {
  local built
  built=$(cargo bench --locked -p rulec --profile "$2" --bench "$1" --no-run 2>&1) || { echo "$built" >&2; exit 1; }
  program=$(sed -n "s/.*(\(.*$1-[0-9a-f]*\)).*/\1/p" <<<"$built" | tail -n 1)
  if [[ ! -x "$program" ]]; then
    echo "cargo did not say where it put the benchmark \`$1\`:" >&2
    echo "$built" >&2
    exit 1
  fi
}

# count FUNCTION ARGUMENT...: prints the number of instructions inside the function of `program`,
# including threads that it starts.
count() {
  local log collected function=$1
  shift
  log=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect="*$function*" \
    "$program" "$@" 2>&1) || { echo "$log" >&2; exit 1; }
  collected=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' <<<"$log")
  if [[ -z "$collected" || "$collected" == 0 ]]; then
    echo "callgrind has collected nothing:" >&2
    echo "$log" >&2
    exit 1
  fi
  echo "$collected"
}
