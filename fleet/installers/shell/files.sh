# The verbs for files, links, folders and marked blocks.

# --- files and links -----------------------------------------------------------------------------

swap() {
  if [ -h "$2" ] && [ -d "$2" ]; then
    try mv -fT "$1" "$2" || try mv -fh "$1" "$2" ||
      try perl -e 'rename($ARGV[0], $ARGV[1]) or die "$!\n"' "$1" "$2"
  elif [ -d "$2" ]; then
    err='a folder is in the way'
    return 1
  else
    # busybox cannot rename over a link that leads to itself; nothing is lost with it.
    try mv -f "$1" "$2" || { [ -h "$2" ] && ! [ -e "$2" ] && try rm -f "$2" && try mv -f "$1" "$2"; }
  fi
}

# A second name for what lies there: on a full disk it costs nothing, and it keeps time and owner.
keep() {
  if [ -h "$1" ]; then
    try cp -Pp "$1" "$2"
  else
    ln "$1" "$2" 2>/dev/null || try cp -p "$1" "$2"
  fi
}

# replace PATH NEW OLD [LOOK]: NEW is ready beside; OLD is empty where nothing lies at PATH. LOOK is
# what NEW is, where that is known.
replace() {
  [ -z "$3" ] || keep "$1" "$3" || fail keep
  [ -n "${4:-}" ] || look "$2"
  about "${4:-$sum}"
  swap "$2" "$1" || fail place
  say 'done' "$N"
}

unwritten() {
  room "$1"
  fail write
}

# put N EXPECTED PATH NEW OLD MODE SUM CONTENT [TIME]
put() {
  step "$1"
  same "$2" "$3"
  err=''
  (
    umask 077
    "$8" >"$4"
  ) 2>/dev/null || unwritten "$4"
  look "$4"
  [ "$sum" = "f$7" ] || unwritten "$4"
  [ "$6" = 600 ] || try chmod "$6" "$4" || fail write
  [ -z "${9:-}" ] || TZ=UTC0 try touch -t "$9" "$4" || fail write
  replace "$3" "$4" "$5" "f$7"
}

# link N EXPECTED PATH NEW OLD TEXT SUM
link() {
  step "$1"
  same "$2" "$3"
  try ln -s "$6" "$4" || fail write
  replace "$3" "$4" "$5" "$7"
}

# again N EXPECTED PATH NEW OLD KEPT: puts back what was kept when the path was adopted.
again() {
  step "$1"
  same "$2" "$3"
  keep "$6" "$4" || fail write
  replace "$3" "$4" "$5"
}

# edit N EXPECTED PATH NEW OLD SIZE CONTENT: the content takes its unchanged parts from PATH.
edit() {
  step "$1"
  same "$2" "$3"
  SOURCE=$3
  try cp -p "$3" "$4" || fail write
  "$7" 2>/dev/null >"$4" || unwritten "$4"
  [ "$(($(wc -c <"$4")))" = "$6" ] || unwritten "$4"
  replace "$3" "$4" "$5"
}

# part FROM TO: bytes of the file being edited.
part() { tail -c "+$(($1 + 1))" "$SOURCE" | head -c "$(($2 - $1))"; }

# undo_file PATH NEW OLD [BACKUP]: OLD may be the backup, which is then not kept.
undo_file() {
  rm -f "$2"
  if [ -z "$was" ]; then
    [ -z "$3" ] || rm -f "$3"
    return 0
  fi
  look "$1"
  now=$sum
  if [ "$now" = "$was" ]; then
    if [ -z "$3" ]; then
      try rm -f "$1" || stuck
    else
      { swap "$3" "$1" && rm -f "$3"; } || stuck
    fi
    return 0
  fi
  [ -z "$3" ] && [ "$now" = - ] && return 0
  if [ -n "$3" ]; then
    look "$3"
    [ "$sum" = "$now" ] && rm -f "$3" && return 0
  fi
  say left "$at"
}

clean_file() {
  doom "$2"
  [ -z "$3" ] || [ -n "${4:-}" ] || doom "$3"
}

undo_again() { undo_file "$@"; }

clean_again() {
  doom "$2"
  doom "$4"
  [ -z "$3" ] || doom "$3"
}

# take N EXPECTED PATH OLD
take() {
  step "$1"
  same "$2" "$3"
  try mv "$3" "$4" || fail place
  say 'done' "$N"
}

undo_take() {
  [ -e "$2" ] || [ -h "$2" ] || return 0
  if [ -e "$1" ] || [ -h "$1" ]; then
    say left "$at"
  else
    try mv "$2" "$1" || stuck
  fi
}

clean_take() { [ ! -e "$2" ] && [ ! -h "$2" ] || fell "$2"; }

# access N EXPECTED PATH MODE
access() {
  step "$1"
  same "$2" "$3"
  try chmod "$4" "$3" || fail place
  say 'done' "$N"
}

undo_access() {
  [ ! -f "$1" ] || try chmod "$2" "$1" || stuck
}

clean_access() { :; }

# --- folders -------------------------------------------------------------------------------------

undo_folder() {
  [ "$was" != there ] || return 0
  [ ! -d "$1" ] || rmdir "$1" 2>/dev/null || say left "$at"
}

clean_folder() { :; }

# --- a marked block in a file that others own ----------------------------------------------------

# A file that had no final newline gets one, and the first line of the block says so (JOINED).
# find_block PATH BEGIN JOINED END: 0 with the numbers of its lines, 1 none, 2 broken.
find_block() {
  first=$(grep -nFx -e "$2" -e "$3" "$1" | cut -d : -f 1)
  last=$(grep -nFx -e "$4" "$1" | cut -d : -f 1)
  case "$first:$last" in
  :) return 1 ;;
  *[!0-9:]* | :* | *:) return 2 ;;
  esac
  [ "$first" -lt "$last" ] || return 2
}

# block N EXPECTED PATH NEW OLD MODE BEGIN JOINED END CONTENT
block() {
  step "$1"
  same "$2" "$3"
  if [ -n "$5" ]; then
    find_block "$3" "$7" "$8" "$9"
    [ $? != 2 ] || fail markers
    try cp -p "$3" "$4" || fail write
  else
    (
      umask 077
      : >"$4"
    ) 2>/dev/null && try chmod "$6" "$4" || fail write
  fi
  block_text "$3" "$7" "$8" "$9" "${10}" 2>/dev/null >"$4" || unwritten "$4"
  replace "$3" "$4" "$5"
}

block_text() { # PATH BEGIN JOINED END CONTENT
  if [ ! -e "$1" ]; then
    printf '%s\n' "$2" && "$5" && printf '%s\n' "$4"
  elif find_block "$1" "$2" "$3" "$4"; then
    head -n "$first" "$1" && "$5" && tail -n "+$last" "$1"
  elif [ -s "$1" ] && [ -n "$(tail -c 1 "$1")" ]; then
    cat "$1" && printf '\n%s\n' "$3" && "$5" && printf '%s\n' "$4"
  else
    cat "$1" && printf '%s\n' "$2" && "$5" && printf '%s\n' "$4"
  fi
}

# unblock N EXPECTED PATH NEW OLD CREATED BEGIN JOINED END SUM
unblock() {
  step "$1"
  same "$2" "$3"
  find_block "$3" "$7" "$8" "$9"
  case $? in
  1)
    say gone "$N"
    return 0
    ;;
  2) fail markers ;;
  esac
  found=$(head -n "$((last - 1))" "$3" | tail -n "+$((first + 1))" | sha)
  if [ "${found%% *}" != "${10}" ]; then
    say edited "$N"
    return 0
  fi
  before=$(($(head -n "$((first - 1))" "$3" | wc -c)))
  head -n "$first" "$3" | tail -n 1 | grep -qFx -e "$8" &&
    [ -z "$(tail -n "+$((last + 1))" "$3" | head -c 1)" ] && before=$((before - 1))
  try cp -p "$3" "$4" || fail write
  { head -c "$before" "$3" && tail -n "+$((last + 1))" "$3"; } 2>/dev/null >"$4" || fail write
  if [ -n "$6" ] && [ ! -s "$4" ]; then
    keep "$3" "$5" || fail keep
    rm -f "$4"
    about -
    try rm -f "$3" || fail place
    say 'done' "$N"
  else
    replace "$3" "$4" "$5"
  fi
}
