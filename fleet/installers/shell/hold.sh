# The constant half of an apply: functions only, so a program that was cut on its way runs nothing.
# The payload that follows sets MARK, STATE, HOLDER, SINCE, HOME, defines `homes`, `unhome`,
# `record` and the contents c1, c2, …, and calls the verbs below. POSIX sh: dash, busybox, bash.
set -u
LC_ALL=C
export LC_ALL
PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
N=0 held='' journal='' child='' refused='' err='' sum='' mode='' reached=0 bad='' over=''
dooms=0 doomed='' kept=0 files='' waiting=0 awaited=0

# --- telling -------------------------------------------------------------------------------------

# Frames go to the first stdout, whatever a step has redirected when a signal comes.
say() { printf '%s %s\n' "$MARK" "$*" >&3; }

detail() {
  [ -z "$err" ] || printf '%s\n' "$err" | tail -n 20 | cut -c1-400 | sed "s/^/$MARK detail $1 /" >&3
}

try() { err=$("$@" 2>&1); }

# room PATH: what the shell's own printf does not tell when a disk is full.
room() {
  err="${err}${err:+, }$(df -Pk "${1%/*}" 2>/dev/null | tail -n 1 |
    sed 's/.* \([0-9][0-9]*\)  *[0-9][0-9]*% .*/\1 KiB of space are left there/')"
}

# --- looking -------------------------------------------------------------------------------------

ready() {
  case $(command -v printf) in
  printf) ;;
  *) refuse printf ;;
  esac
  for tool in sha256sum shasum openssl sha256 none; do
    command -v "$tool" >/dev/null 2>&1 && break
  done
  [ "$tool" != none ] || refuse sha256
}

sha() { # stdin, or files
  case $tool in
  sha256sum) sha256sum "$@" ;;
  shasum) shasum -a 256 "$@" ;;
  openssl) openssl dgst -sha256 -r "$@" ;;
  sha256) sha256 -q "$@" ;;
  esac
}

# One word for what lies at a path: "-" nothing, "d" a folder, "l…" a link, "f…" a file, "?" other.
look() {
  if [ -h "$1" ]; then
    sum=l$(readlink "$1" | sha)
  elif [ -d "$1" ]; then
    sum=d
  elif [ -f "$1" ]; then
    sum=f$(sha <"$1")
  elif [ -e "$1" ]; then
    sum='?'
  else
    sum=-
  fi
  sum=${sum%% *}
}

# is EXPECTED PATH. "m…" names a file by mtime and size: its hash may not leave the target.
is() {
  case $1 in
  =) return 0 ;;
  m*)
    [ -f "$2" ] && [ ! -h "$2" ] || return 1
    sum=m$(stat -c %Y "$2" 2>/dev/null || stat -f %m "$2").$(($(wc -c <"$2")))
    ;;
  *) look "$2" ;;
  esac
  [ "$sum" = "$1" ]
}

# hold N EXPECTED PATH: before the first change, find every path that changed since the plan. Files
# are looked at by `holding`, all together: starting a program for each is most of what it costs.
hold() {
  case $2 in f*) if [ -f "$3" ] && [ ! -h "$3" ]; then
    kept=$((kept + 1))
    eval "k_$kept=\$1 e_$kept=\$2 p_$kept=\$3"
    files="$files \"\$p_$kept\""
    return 0
  fi ;; esac
  is "$2" "$3" || moved "$1"
}

moved() {
  say changed "$1"
  refused=1
}

holding() {
  [ -n "$files" ] || return 0
  sums "$files" "$kept"
  while [ "$kept" -gt 0 ]; do
    eval "number=\$k_$kept expected=\$e_$kept where=\$p_$kept"
    right "$expected" "$where" "$kept" || moved "$number"
    kept=$((kept - 1))
  done
  files=''
}

# sums NAMES ROWS: sum_1, sum_2, … of so many files, their names quoted for eval. Of one that could
# not be read no line is there, and each line after it is another file's: then there are no rows.
sums() {
  rows=$2
  sums=$(eval "sha$1" 2>/dev/null) || sums=''
  ifs=$IFS IFS='
'
  set -f
  # shellcheck disable=SC2086
  set -- $sums
  set +f
  IFS=$ifs
  [ $# -eq "$rows" ] || rows=0
  row=0
  for sum; do
    row=$((row + 1)) sum=${sum#\\}
    eval "sum_$row=\${sum%% *}"
  done
}

# right EXPECTED PATH ROW: by what was seen of all together, else by a look of its own.
right() {
  sum=''
  [ "${3:-$((rows + 1))}" -gt "$rows" ] || eval "sum=f\$sum_$3"
  [ "$sum" = "$1" ] || is "$1" "$2"
}

same() { is "$1" "$2" || fail changed; }

# --- holding the target --------------------------------------------------------------------------

# started PID -> born: when the process began, in one word or more.
started() {
  born=''
  if [ -r "/proc/$1/stat" ]; then
    # The name of a program stands in it, in brackets, with any character.
    while read -r line || [ -n "$line" ]; do born="$born $line"; done <"/proc/$1/stat"
    set -f
    # shellcheck disable=SC2086
    set -- ${born##*) }
    set +f
    born=${20:-}
  else
    born=$(ps -o lstart= -p "$1" 2>/dev/null)
  fi
}

# here -> host: this machine's name.
here() {
  { read -r host </proc/sys/kernel/hostname; } 2>/dev/null || host=$(uname -n)
}

lock() {
  tries=0
  homes || refuse state
  until try mkdir "$STATE/lock"; do
    if [ -d "$STATE/lock" ]; then
      take_over && break
      busy
    fi
    tries=$((tries + 1))
    [ "$tries" -le 3 ] || refuse state
    homes || refuse state
  done
  held=1
  sign || {
    room "$STATE/lock"
    refuse state
  }
}

# Who reads it while it is written finds no number in it, and looks again.
sign() {
  here
  started $$
  printf '%s\n%s\n%s\n%s since %s\n' "$$" "$host" "$born" "$HOLDER" "$SINCE" 2>/dev/null >"$STATE/lock/holder"
}

read_holder() {
  hpid='' hhost='' hstart='' htext=''
  [ -r "$STATE/lock/holder" ] || return 1
  {
    read -r hpid
    read -r hhost
    read -r hstart
    read -r htext
  } <"$STATE/lock/holder"
  case $hpid in '' | *[!0-9]*) return 1 ;; esac
}

# A lock whose process is gone is taken over: by renaming into it, so that only one can win.
take_over() {
  if ! read_holder; then
    sleep 1
    [ -d "$STATE/lock" ] || return 1
    read_holder || hpid=0 hhost=''
  fi
  here
  [ "${hhost:-$host}" = "$host" ] || return 1
  if [ "$hpid" != 0 ]; then
    if kill -0 "$hpid" 2>/dev/null || [ -d "/proc/$hpid" ]; then
      started "$hpid"
      [ "$born" != "$hstart" ] || return 1
    fi
  fi
  try mkdir "$STATE/lock/over.$hpid" || return 1
  held=1
  sign || refuse state
  rmdir "$STATE/lock/over.$hpid"
  say took-over
}

busy() {
  printf '%s busy %s\n' "$MARK" "$(printf '%s' "${htext:-somebody}${hhost:+, process $hpid on $hhost}" |
    tr -d '\n' | cut -c1-400)" >&3
  leave 5
}

# --- leaving -------------------------------------------------------------------------------------

leave() {
  trap '' HUP INT TERM PIPE
  over=1
  [ -z "$held" ] || rm -rf "$STATE/lock"
  "${2:-unhome}"
  say end "$1"
  exit "$1"
}

refuse() {
  say refused "$1"
  detail "$N"
  leave 3
}

fail() {
  trap '' HUP INT TERM PIPE
  say failed "$N" "$1"
  detail "$N"
  stop
}

stop() {
  trap '' HUP INT TERM PIPE
  if [ -n "$child" ]; then
    kill "$child" 2>/dev/null
    (
      sleep 3
      kill -KILL "$child"
    ) </dev/null >/dev/null 2>&1 3>&- &
    wait "$child" 2>/dev/null
    child=''
  fi
  [ "$journal" = open ] || leave 4
  undo
  leave 4 unhome
}

signalled() {
  trap '' HUP INT TERM PIPE
  say signal "$1"
  stop
}

watch() {
  exec 3>&1
  for signal in HUP INT TERM PIPE; do
    # shellcheck disable=SC2064
    trap "signalled $signal" "$signal"
  done
  trap '[ -n "$over" ] || signalled EXIT' EXIT
}

# --- the journal ---------------------------------------------------------------------------------

# Everything needed to undo is written before the first change; `at` then grows by a line a step.
begin() {
  holding
  [ -z "$refused" ] || refuse changed
  J=$STATE/journal
  try mkdir "$J.new" || refuse state
  { record >"$J.new/steps" && printf '0\n' >"$J.new/at"; } 2>/dev/null || {
    room "$J"
    rm -rf "$J.new"
    refuse state
  }
  try mv "$J.new" "$J" || refuse state
  journal=open
  say begun
}

step() {
  settle
  N=$1
  printf '%s\n' "$N" 2>/dev/null >>"$STATE/journal/at" || fail journal
}

about() { printf '%s %s\n' "$N" "$1" 2>/dev/null >>"$STATE/journal/at" || fail journal; }

recorded() { was=$(sed -n "s/^$1 //p" "$STATE/journal/at" | tail -n 1); }

# j N VERB ARGUMENTS: one recorded step, undone or cleaned up after, as `mode` says.
j() {
  at=$1
  verb=$2
  shift 2
  if [ "$mode" = clean ]; then
    "clean_$verb" "$@"
  elif [ "$at" -le "$reached" ]; then
    recorded "$at"
    "undo_$verb" "$@"
  fi
}

undo() {
  # Of files that were brought together what became of the first was told after the last was begun.
  reached=$(sed 's/ .*//' "$STATE/journal/at" | sort -n | tail -n 1)
  mode=undo bad=''
  . "$STATE/journal/steps"
  j_steps
  if [ -n "$bad" ]; then
    say stuck
    return 1
  fi
  rm -rf "$STATE/journal"
  journal=''
  say undone
}

stuck() {
  bad=1
  say stuck-at "$at"
  detail "$at"
}

commit() {
  settle
  trap '' HUP INT TERM PIPE
  try mv "$STATE/journal" "$STATE/journal.done" || fail journal
  journal=kept
  say committed
  clean
}

# doom PATH: a file that is to go when all is over; all of them are taken away at once.
doom() {
  [ -h "$1" ] || { [ -e "$1" ] && [ ! -d "$1" ]; } || return 0
  fell "$1"
}

# fell PATH: as `doom`, and whatever it is.
fell() {
  dooms=$((dooms + 1))
  eval "d_$dooms=\$1"
  doomed="$doomed \"\$d_$dooms\""
  [ $((dooms % 200)) -gt 0 ] || sweep
}

sweep() {
  [ -z "$doomed" ] || eval "rm -rf$doomed"
  doomed=''
}

# Where no folder is to go, there is nothing between these that must be done in the meantime. The
# journal goes behind what it speaks of.
clean() {
  mode=clean folders=''
  . "$STATE/journal.done/steps"
  j_steps
  if [ "$folders" = none ]; then
    eval "rm -rf$doomed \"\$STATE/journal.done\" \"\$STATE/lock\""
    held=''
  else
    sweep
    j_gone
    rm -rf "$STATE/journal.done"
  fi
  leave 0 j_gone
}

# What a run that was cut left behind. Nothing else is done in the same run: look again first.
recover() {
  if [ -d "$STATE/journal.new" ]; then
    rm -rf "$STATE/journal.new"
    say cleaned
  fi
  for beside in "$STATE"/lock/holder.*; do
    [ ! -e "$beside" ] || rm -f "$beside"
  done
  if [ -d "$STATE/journal.done" ]; then
    trap '' HUP INT TERM PIPE
    say cleaned
    clean
  elif [ -d "$STATE/journal" ]; then
    trap '' HUP INT TERM PIPE
    say recovering
    undo && leave 0 j_home
    leave 4
  fi
}
