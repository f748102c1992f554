# Launching shells under a time limit, and programs on their PATH.

# --- ways of launching: what they export ----------------------------------------------------

# Stands in the launch's own words, not in its environment, which a launch may clear; so there is
# no single quote in it, and no line break.
_REPORT='printf "\n@%s [\n" $fleet_nonce; for fleet_n in $fleet_names; do '
_REPORT=$_REPORT'eval "[ -n \"\${$fleet_n+x}\" ]" || continue; eval "fleet_v=\$$fleet_n"; '
_REPORT=$_REPORT'printf "@%s %s\n%s\n" $fleet_nonce "$fleet_n" "$fleet_v"; done; '
_REPORT=$_REPORT'printf "@%s ]\n" $fleet_nonce'

_original() { # give back the environment the probe was started with
  PATH=$_P0
  if [ -n "$_L1" ]; then LC_ALL=$_L0; else unset LC_ALL; fi
}

_limited() { # command...: its status, or 124 when it took longer than _SECONDS
  if [ -n "$_timeout" ]; then
    "$_timeout" -s KILL "$_SECONDS" "$@"
    _q=$?
    case $_q in 137 | 143) return 124 ;; esac
    return $_q
  fi
  "$@" &
  _pid=$!
  (
    trap 'kill $_s; exit 0' TERM
    "$_sleep" "$_SECONDS" &
    _s=$!
    wait $_s
    kill -9 $_pid
  ) >/dev/null 2>&1 &
  _dog=$!
  wait $_pid
  _q=$?
  kill $_dog 2>/dev/null
  [ $_q -ne 137 ] || _q=124
  return $_q
}

_find_timeout() { # -> _timeout, empty where there is none that takes these arguments
  [ -z "${_timeout_known-}" ] || return 0
  _timeout_known=1
  _timeout=$(command -v timeout) || _timeout=''
  _sleep=$(command -v sleep)
  [ -z "$_timeout" ] || "$_timeout" -s KILL 5 true >/dev/null 2>&1 || _timeout=''
}

_value() { # name -> _v from _ans; 1 when it is not set
  case $_ans in *"$_NL@$_N $1$_NL"*) ;; *) return 1 ;; esac
  _v=${_ans#*"$_NL@$_N $1$_NL"}
  _v=${_v%%"$_NL@$_N "*}
}

_variables() { # key, public names, secret names: from _ans
  for _x in $2; do
    if _value "$_x"; then _var "$1" "$_x" public "$_v"; else _out var "$1" "=$_x" =unset; fi
  done
  for _x in $3; do
    if _value "$_x"; then _var "$1" "$_x" secret "$_v"; else _out var "$1" "=$_x" =unset; fi
  done
}

_run() { # command...: what it reports between its marks -> _ans, its status -> _rc
  _ans=$(
    {
      _original
      _limited "$@" </dev/null
      printf '\n@%s=%s\n\n' "$_N" $? # one line more than needed: some sed read one ahead
    } 2>/dev/null | sed -n -e "/^@$_N=/{p;q;}" -e "/^@$_N \[/,/^@$_N ]/p"
  )
  _rc=${_ans##*"@$_N="}
}

ask_launch() { # key, public names, secret names, shell words...
  _ke=$1 _pu=$2 _se=$3 _lp='' _lok=0
  _lr="fleet_nonce=$_N fleet_names=\"PATH $_pu $_se\"; $_REPORT"
  shift 3
  if [ $# -gt 0 ]; then
    PATH=$_P0 command -v "$1" >/dev/null 2>&1 ||
      { _enc "there is no $1 here"; _out launch "$_ke" =missing "$_r"; return 0; }
    set -- "$@" "exec /bin/sh -c '$_lr'"
  else
    set -- /bin/sh -c "$_lr"
  fi
  _find_timeout
  _run "$@"
  case $_ans in
    *"$_NL@$_N ]"*)
      _lok=1
      _out launch "$_ke" =ok -
      _variables "$_ke" "$_pu" "$_se"
      ! _value PATH || _lp=$_v ;;
    *)
      if [ "$_rc" = 124 ]; then _q=timeout _r="no answer within $_SECONDS s"
      else _q=failed _r="it ended with status $_rc without running its command"; fi
      _enc "$_r"
      _out launch "$_ke" "=$_q" "$_r" ;;
  esac
  _ans='' _v=''
}

ask_command() { # key, name, read, limit, manifest (0 1): looked up on the PATH of the last launch
  [ $_lok = 1 ] || return 0
  _w=${_lp:+$_lp:}
  while [ -n "$_w" ]; do
    _x=${_w%%:*} _w=${_w#*:}
    case $_x in /*) ;; *) _x=$PWD/$_x ;; esac
    [ -f "$_x/$2" ] && [ -x "$_x/$2" ] || continue
    _out command "$1" =1
    ask_path "$1.file" "$3" "$4" "${_x%/}/$2"
    [ "$5" = 0 ] || _manifest "$1.manifest" "$4"
    return 0
  done
  _out command "$1" =0
}

_manifest() { # key, limit: the nearest package.json above _final
  _x=${_final%/*}
  while [ -n "$_final" ]; do
    if [ -e "$_x/package.json" ] || [ -L "$_x/package.json" ]; then
      ask_path "$1" w "$2" "$_x/package.json"
      return 0
    fi
    [ -n "$_x" ] || return 0
    _x=${_x%/*}
  done
}
