# The deep check's side of the shell: place the program, run it in the launching shell, print what
# it found. Stands on the probe's library (core, launches). Leaves no file and no process.

_START='command -v node >/dev/null 2>&1 || {
  echo "there is no node on the PATH" >"$FLEET_DEEP/why"; exit 0; }
node -e "var v=process.versions.node.split(\".\");process.exit(v[0]>22||v[0]==22&&v[1]>=19?0:9)" || {
  echo "node $(node --version 2>/dev/null) is older than 22.19" >"$FLEET_DEEP/why"; exit 0; }
cd "$FLEET_DEEP" && exec node "$FLEET_DEEP/run.mjs" "$FLEET_DEEP"'

deep_begin() { # nonce, seconds
  _N=$1 _SECONDS=$2 _deep=''
  umask 077
  _deep=$(PATH=$_P0:$PATH mktemp -d "${TMPDIR:-/tmp}/fleet-deep.XXXXXX" 2>/dev/null) || {
    _tell "no folder could be made in ${TMPDIR:-/tmp}"
    exit 0
  }
  trap 'rm -rf "$_deep"' 0
  trap 'exit 1' 1 2 15
}

_tell() { # why there is no result
  printf '\n@fleet-deep %s why %s\n' "$_N" "$1"
}

deep_file() { # name, text
  printf '%s' "$2" >"$_deep/$1"
}

deep_run() { # words of the launching shell; none for the environment as it is
  FLEET_DEEP=$_deep FLEET_DEEP_START=$_START FLEET_DEEP_SHELL=$$
  export FLEET_DEEP FLEET_DEEP_START FLEET_DEEP_SHELL
  if [ $# -gt 0 ]; then
    PATH=$_P0 command -v "$1" >/dev/null 2>&1 || { _tell "there is no $1 here"; return 0; }
    # shellcheck disable=SC2016
    set -- "$@" 'exec /bin/sh -c "$FLEET_DEEP_START"'
  else
    set -- /bin/sh -c "$_START"
  fi
  _find_timeout
  (
    _original
    _limited "$@" </dev/null
    printf '%s %s' $? "$_late" >"$_deep/status"
  ) >/dev/null 2>&1
  _rc=$(cat "$_deep/status" 2>/dev/null)
  if [ -s "$_deep/result" ]; then
    printf '\n@fleet-deep %s result %s\n' "$_N" "$(cat "$_deep/result")"
  elif [ -s "$_deep/why" ]; then
    _tell "$(cat "$_deep/why")"
  else
    _late=${_rc#* }
    _ending "${_rc% *}" "$_late"
    [ "$_late" = 1 ] || _r="its shell ran nothing: ${_r%,}"
    _tell "$_r"
  fi
}
