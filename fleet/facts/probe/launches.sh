# Launching shells under a time limit, and programs on their PATH.

# --- ways of launching: what they export ----------------------------------------------------

# Stands in the launch's own words, not in its environment, which a launch may clear; so there is
# no single quote in it, and no line break.
_REPORT='printf "\n@%s [\n" $fleet_nonce; for fleet_n in $fleet_names; do '
_REPORT=$_REPORT'eval "[ -n \"\${$fleet_n+x}\" ]" || continue; eval "fleet_v=\$$fleet_n"; '
_REPORT=$_REPORT'printf "@%s %s\n%s\n" $fleet_nonce "$fleet_n" "$fleet_v"; done; '
_REPORT=$_REPORT'printf "@%s ]\n" $fleet_nonce'

# What programs of its PATH say of themselves, after all that it exports: they may never end. Each is
# the first that lies there, and of what it says no more is kept than a version takes.
_ASK='for fleet_n in $fleet_programs; do fleet_p=$PATH:; while [ -n "$fleet_p" ]; do '
_ASK=$_ASK'fleet_v=${fleet_p%%:*}; fleet_p=${fleet_p#*:}; fleet_v=${fleet_v%/}/${fleet_n%%=*}; '
_ASK=$_ASK'if [ -f "$fleet_v" ] && [ -x "$fleet_v" ]; then '
_ASK=$_ASK'printf "@%s program %s\n" $fleet_nonce "$fleet_v"; '
_ASK=$_ASK'"$fleet_v" "${fleet_n#*=}" </dev/null 2>/dev/null; printf "\n"; '
_ASK=$_ASK'break; fi; done; done'

_original() { # give back the environment the probe was started with
  PATH=$_P0
  if [ -n "$_L1" ]; then LC_ALL=$_L0; else unset LC_ALL; fi
}

_clock() { # -> _t: hundredths of a second; whole seconds where /proc does not tell them
  if { read -r _t _u </proc/uptime; } 2>/dev/null; then _t=${_t%.*}${_t#*.}; else _t=$(date +%s)00; fi
}

_limited() { # command...: its status; 124 and _late=1 when it was ended after _SECONDS
  _late=0
  _clock
  _began=$_t
  if [ -n "$_timeout" ]; then
    "$_timeout" -s KILL "$_SECONDS" "$@"
    _q=$?
  else
    _watched "$@"
  fi
  # A program that ends itself by a signal has the same status; only the time tells them apart.
  case $_q in
    137 | 143)
      _clock
      [ $((_t - _began)) -lt $((_SECONDS * 100)) ] || _late=1 _q=124 ;;
  esac
  return $_q
}

_watched() { # command...: its status -> _q
  _program sleep
  _sleep=$_dir/sleep
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
}

_ending() { # status, _late -> _r: how a program ended that did not do its work
  _r="it ended with status $1"
  if [ "$2" = 1 ]; then
    _r="no answer within $_SECONDS s"
  elif [ "$1" -gt 128 ] && [ "$1" -le 192 ]; then
    _q=$(kill -l $(($1 - 128)) 2>/dev/null)
    [ -z "$_q" ] || _r="$_r, that of signal $(($1 - 128)) ($_q),"
  fi
}

_find_timeout() { # -> _timeout, empty where there is none that takes these arguments
  [ -z "${_timeout_known-}" ] || return 0
  _timeout_known=1
  _program timeout "$PATH" || return 0
  _timeout=$_dir/timeout
  # A program of its own takes them; of one that is many, reached by a link, it has to be seen.
  if [ -f "$_timeout" ] && ! [ -L "$_timeout" ]; then return 0; fi
  "$_timeout" -s KILL 5 true >/dev/null 2>&1 || _timeout=''
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
    if _value "$_x"; then _later "$1" "$_x" "$_v"; else _out var "$1" "=$_x" =unset; fi
  done
}

_reported() { # stdin -> stdout, what stands between the marks, and how it ended; no noise is kept
  _q='' _m=0 _i=-1
  while IFS= read -r _l; do
    case $_l in
      "@$_N="*) _q=$_q$_NL$_l && break ;;
      "@$_N ["*) _m=1 ;;
      "@$_N program "*) _i=205 ;;
      "@$_N ]"*) _q=$_q$_NL$_l _m=0 ;;
    esac
    if [ $_m = 0 ]; then
      # Of a program, which is named in the first line, the next four; one that does not end is left.
      [ $_i -ge 0 ] || continue
      _i=$((_i - 1))
      [ $_i -gt 0 ] || break
      [ $_i -ge 200 ] || continue
    fi
    _q=$_q$_NL$_l
  done
  printf '%s\n' "$_q"
}

_run() { # command...: what it reports between its marks -> _ans, its status and _late -> _rc
  _ans=$(
    {
      _original
      _limited "$@" </dev/null
      printf '\n@%s=%s\n' "$_N" "$? $_late"
    } 2>/dev/null | _reported
  )
  _rc=${_ans##*"@$_N="}
}

want_versions() { # program=argument...: what the next launch asks for
  _programs=$*
}

run_launch() { # key, public names, secret names, shell words...: what it reports -> _ans; 1 where there
  # is no such shell. What came of all of them is put together in _launched.
  _ke=$1 _pu=$2 _se=$3 _lp='' _lok=0 _told='' _launched=$_launched$_NL$1
  _lr="fleet_nonce=$_N fleet_names=\"PATH $_pu $_se\"; $_REPORT"
  if [ -n "${_programs-}" ]; then
    _lr="$_lr; fleet_programs=\"$_programs\"; $_ASK"
    _programs=''
  fi
  shift 3
  if [ $# -gt 0 ]; then
    if ! PATH=$_P0 command -v "$1" >/dev/null 2>&1; then _r=$1; return 1; fi
    set -- "$@" "exec /bin/sh -c '$_lr'"
  else
    set -- /bin/sh -c "$_lr"
  fi
  _find_timeout
  _run "$@"
  _launched=$_launched$_NL$_rc$_NL$_ans
}

ask_launch() { # as run_launch
  if ! run_launch "$@"; then
    _enc "there is no $_r here"
    _out launch "$_ke" =missing "$_r"
    return 0
  fi
  case $_ans in
    *"$_NL@$_N ]"*)
      _lok=1
      _out launch "$_ke" =ok -
      _variables "$_ke" "$_pu" "$_se"
      ! _value PATH || _lp=$_v
      _told=${_ans#*"$_NL@$_N ]"} ;;
    *)
      _late=${_rc#* }
      _ending "${_rc% *}" "$_late"
      if [ "$_late" = 1 ]; then _q=timeout; else _q=failed _r="$_r without running its command"; fi
      _enc "$_r"
      _out launch "$_ke" "=$_q" "$_r" ;;
  esac
  _ans='' _v=''
}

_program() { # name, folders to look in -> _dir, where it lies; 1 when there is none. Without folders
  # those of programs for users or the machine.
  _way=${2:-$_P0:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin}: _dir=''
  while [ -n "$_way" ] && ! [ -x "$_dir/$1" ]; do _dir=${_way%%:*} _way=${_way#*:}; done
  [ -x "$_dir/$1" ]
}

ask_check() { # key, program, arguments...: how its check ended, and which line it complained of;
  # its words stay here, for they may quote a secret
  _ke=$1 _nm=$2
  shift 2
  _find_timeout
  _program "$_nm" || { _out check "$_ke" =missing - -; return 0; }
  _r=$(
    {
      _original
      _limited "$_dir/$_nm" "$@" </dev/null 2>&1
      printf '\n@%s=%s' "$_N" "$? $_late"
    } | tail -c 4000
  )
  _rc=${_r##*"@$_N="}
  case $_rc in
    '0 0') _q=ok ;;
    *' 1') _q=timeout ;;
    *) case $_r in *'ermission denied'*) _q=denied ;; *) _q=failed ;; esac ;;
  esac
  _r=$(printf '%s\n' "$_r" | sed -n 's|.*[ "'"'"']\(/[^ "'"'"':]*:[0-9][0-9]*\).*|\1|p' | head -n 1)
  [ $_q = failed ] || _r=''
  _opt "$_r"
  _out check "$_ke" "=$_q" "=${_rc% *}" "$_r"
}

ask_crontab() { # word: how many lines of this user's crontab hold it, comments left out
  _find_timeout
  if ! _program crontab; then
    _out crontab =0 # no cron, so nothing is started by it
    return 0
  fi
  _r=$(
    _limited "$_dir/crontab" -l </dev/null 2>&1
    printf '\n@%s=%s' "$_N" "$? $_late"
  )
  _rc=${_r##*"@$_N="}
  case $_r in
    *"$_NL@$_N=0 0")
      _r=$(printf '%s\n' "$_r" | grep -v '^[[:space:]]*#' | grep -cF -e "$1")
      _out crontab "=$_r" ;;
    *'no crontab'* | *"can't open"*) _out crontab =0 ;;
    *)
      _ending "${_rc% *}" "${_rc#* }"
      _unseen crontab "crontab -l: ${_r%,}" ;;
  esac
  _r=''
}

see_programs() { # names: what lies first on the PATH of the last launch, where it is a link, is read
  # together with the links that ask_paths meets
  for _nm do
    _way=${_lp:+$_lp:}
    while [ -n "$_way" ]; do
      _dir=${_way%%:*} _way=${_way#*:}
      [ -f "$_dir/$_nm" ] || continue
      ! [ -L "${_dir%/}/$_nm" ] || _see_link "${_dir%/}/$_nm"
      break
    done
  done
}

ask_command() { # key, name, read, limit, manifest (0 1): looked up on the PATH of the last launch;
  # further: whether its version was asked for, whether to tell every one (0 1), what to read beside
  # the manifest
  [ $_lok = 1 ] || return 0
  _way=${_lp:+$_lp:} _hits=0 _ke=$1 _nm=$2 _re=$3 _lim=$4 _man=$5 _ver=${6-0} _all=${7-0}
  if [ $# -gt 7 ]; then shift 7; else set --; fi
  while [ -n "$_way" ]; do
    _dir=${_way%%:*} _way=${_way#*:}
    case $_dir in /*) ;; *) _dir=$PWD/$_dir ;; esac
    _dir=${_dir%/} _names=$_names${_dir%/}$_NL${_dir%/}/$_nm$_NL
    [ -f "$_dir/$_nm" ] && [ -x "$_dir/$_nm" ] || continue
    _hits=$((_hits + 1))
    if [ $_hits -gt 1 ]; then
      _more "$_ke.more.$((_hits - 1))" "$_dir/$_nm"
    else
      _first "$_ke" "$_dir/$_nm" "$@"
    fi
    [ "$_all" = 1 ] && [ $_hits -lt 20 ] || return 0
  done
  [ $_hits -gt 0 ] || _out command "$_ke" =0
}

_first() { # key, file, what to read beside the manifest...: the program that a launch would run
  _out command "$1" =1
  ask_path "$1.file" "$_re" "$_lim" "$2"
  [ "$_man" = 0 ] || _manifest "$1.manifest" "$_lim"
  [ "$_ver" = 0 ] || _version "$1" "$2"
  [ $# -gt 2 ] && [ -n "$_home" ] || return 0
  _ckey=$1 _bn=0
  shift 2
  for _name do
    _bn=$((_bn + 1))
    ask_path "$_ckey.beside.$_bn" w "$_lim" "$_home/$_name"
  done
}

_more() { # key, file: a further program of that name
  ask_path "$1.file" "$_re" "$_lim" "$2"
  [ "$_man" = 0 ] || _manifest "$1.manifest" "$_lim"
}

_version() { # key, file: what the launch was told when it asked this file for its version
  _r=''
  case $_told in *"$_NL@$_N program $2$_NL"*)
    _r=${_told#*"$_NL@$_N program $2"}
    _r=${_r%%"$_NL@$_N"[ =]*} _r=${_r#"$_NL"} ;;
  esac
  [ ${#_r} -le 400 ] || _r=''
  case $_r in
    *"$_NL"*)
      _ifs=$IFS IFS=$_NL
      _noglob
      # shellcheck disable=SC2086
      set -- "$1" $_r
      _glob
      _ckey=$1 IFS=' '
      shift
      _r=$*
      IFS=$_ifs
      set -- "$_ckey" ;;
  esac
  _opt "$_r"
  _out version "$1" "$_r"
}

_manifest() { # key, limit: the nearest package.json above _final; its folder -> _home
  _x=${_final%/*} _home=''
  while [ -n "$_final" ]; do
    _names=$_names$_x/package.json$_NL
    if [ -e "$_x/package.json" ] || [ -L "$_x/package.json" ]; then
      _home=$_x
      ask_path "$1" w "$2" "$_x/package.json"
      return 0
    fi
    [ -n "$_x" ] || return 0
    _x=${_x%/*}
  done
}
