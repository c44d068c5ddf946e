# Helpers that the benchmarks source: a temporary folder, processes that end with the script, results and tables.

work=$(mktemp -d)
pids=()
stop() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

# start NAME COMMAND...: runs the command in the background. Sets `pid`, and sets `address` to the address in the
# "listening on ..." line that the command prints.
start() {
  local name=$1
  shift
  : >"$work/$name.out"
  "$@" >"$work/$name.out" 2>"$work/$name.err" &
  pid=$!
  pids+=("$pid")
  for _ in $(seq 100); do
    address=$(sed -n 's/^listening on //p' "$work/$name.out")
    [ -z "$address" ] || return 0
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  echo "$name did not start:" >&2
  cat "$work/$name.out" "$work/$name.err" >&2
  exit 1
}

# measure NAME COMMAND...: runs the command and adds the line that it prints to the results of NAME.
measure() {
  local name=$1
  shift
  "$@" >>"$work/$name.result" || { echo "$name cannot be measured" >&2; cat "$work"/*.err >&2; exit 1; }
}

# median NAME FIELD: prints the median of FIELD in all results of NAME.
median() {
  sed -n "s/.*\<$2=\([0-9.]*\).*/\1/p" "$work/$1.result" | sort -g |
    awk '{ value[NR] = $1 } END { print NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2 }'
}

calc() { awk "BEGIN { printf \"$1\", $2 }"; }

# row TITLE FORMAT VALUE...: prints a row of a table, with the values in columns.
row() {
  local title=$1 format=$2
  shift 2
  printf '  %-30s' "$title"
  local value
  for value in "$@"; do printf "%12s" "$(printf "$format" "$value")"; done
  echo
}

heading() {
  echo
  echo "$1"
  shift
  printf '  %-30s' ""
  printf "%12s" "$@"
  echo
}

resident_mib() { awk '/^VmRSS/ { printf "%.1f", $2 / 1024 }' "/proc/$1/status"; }

# Both functions print used CPU time, in ticks of ten milliseconds. ticks_of_all prints the time of the whole machine;
# ticks_of_ours prints the time of this script and of the processes that it has started.
ticks_of_all() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 + $9 }' /proc/stat; }
ticks_of_ours() {
  # The time of ended processes is part of this shell's own time.
  for process in $$ "${pids[@]}"; do sed 's/.*) //' "/proc/$process/stat" 2>/dev/null || true; done |
    awk '{ sum += $12 + $13 + $14 + $15 } END { print sum }'
}
