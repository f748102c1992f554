# What runs here: processes, listening sockets, the addresses of interfaces.

# --- processes -------------------------------------------------------------------------------

_split() { # text of NUL-ended pieces on stdin -> one piece a line; line feeds inside read \001
  tr '\n\000' '\001\n'
}

_joined() { # piece -> _r, with its line feeds back
  case $1 in
    *"$_SOH"*) _r=$(printf '%s.' "$1" | tr '\001' '\n') && _r=${_r%.} ;;
    *) _r=$1 ;;
  esac
}

_matches() { # arguments one a line in _args: whether every word in _words is one of them
  for _q in $_words; do
    _m=0
    for _i in $_args; do
      case $_i in "$_q" | *[/.]"$_q") _m=1 && break ;; esac
    done
    [ $_m = 1 ] || return 1
  done
}

_command_line() { # -> _r: the program, and those arguments that were asked for
  _r=''
  for _i in $_args; do
    if [ -z "$_r" ]; then _r=${_i%% *} && continue; fi
    for _q in $_words; do
      case $_i in
        "$_q" | *[/.]"$_q")
          case $_i in *' '*) _i=$_q ;; esac # a whole script may stand before the word
          _r="$_r $_i"
          break ;;
      esac
    done
  done
}

_flag_values() { # key: flags in _args, values of those in _pflags, presence of those in _sflags
  _pend=''
  for _i in $_args ''; do
    if [ -n "$_pend" ]; then
      _q=$_pend _pend=''
      case $_i in
        -* | '') _flag "$1" "$_q" '' ;;
        *) _flag "$1" "$_q" "$_i"; continue ;;
      esac
    fi
    _one_flag "$1" "$_i"
  done
}

_flag() { # key, name, value; a secret flag has no value
  case "$_NL$_sflags$_NL" in
    *"$_NL$2$_NL"*) _enc "$2"; _out secret "$1" "$_r"; return 0 ;;
  esac
  _joined "$3"
  _enc "$_r"
  _a=$_r
  _enc "$2"
  _out flag "$1" "$_r" "$_a"
}

_one_flag() { # key, argument
  case $2 in -*) ;; *) return 0 ;; esac
  case $2 in
    *=*)
      case "$_NL$_pflags$_NL$_sflags$_NL" in *"$_NL${2%%=*}$_NL"*) _flag "$1" "${2%%=*}" "${2#*=}" ;; esac ;;
    *)
      case "$_NL$_pflags$_NL$_sflags$_NL" in *"$_NL$2$_NL"*) _pend=$2 ;; esac ;;
  esac
}

_user_name() { # uid -> _r
  case $_uids in
    *" $1="*) _r=${_uids#*" $1="} && _r=${_r%% *} && return 0 ;;
  esac
  _r=$( (getent passwd "$1" || grep "^[^:]*:[^:]*:$1:" /etc/passwd) 2>/dev/null)
  _r=${_r%%:*} _r=${_r:-$1}
  _uids="$_uids $1=$_r "
}

_started() { # pid -> _r: seconds since 1970, empty when it cannot be told
  _r=''
  read -r _q 2>/dev/null <"/proc/$1/stat" || return 0
  if [ -z "$_boot" ]; then
    _boot=$(sed -n 's/^btime //p' /proc/stat 2>/dev/null)
    _tick=$(getconf CLK_TCK 2>/dev/null) || _tick=100
  fi
  _noglob
  # shellcheck disable=SC2086
  _was=$IFS && IFS=' ' && set -- ${_q##*) } && IFS=$_was
  _glob
  case ${20-}$_boot in '' | *[!0-9]*) return 0 ;; esac
  _r=$((_boot + ${20} / _tick))
}

_proc_environ() { # key; from _env
  _env=$_NL$_env$_NL
  for _x in $_pnames $_snames; do
    case $_env in
      *"$_NL$_x="*) _v=${_env#*"$_NL$_x="} && _joined "${_v%%"$_NL"*}" ;;
      *) _out var "$1" "=$_x" =unset; continue ;;
    esac
    case "$_NL$_pnames$_NL" in *"$_NL$_x$_NL"*) _q=public ;; *) _q=secret ;; esac
    _var "$1" "$_x" $_q "$_r"
  done
  _env='' _v=''
}

_is_named() { # pid: whether its own name is one of those in _comms
  [ -n "$_comms" ] || return 0
  _q=''
  read -r _q 2>/dev/null <"/proc/$1/comm" || return 1
  case "$_NL$_comms$_NL" in *"$_NL$_q$_NL"*) ;; *) return 1 ;; esac
}

_status() { # pid -> _ui _parent _inner; _ui is empty when it has ended
  _ui='' _parent='' _inner=0
  _q=$(sed -n -e 's/^\([UP]\)[Pid]*:[^0-9]*\([0-9][0-9]*\).*/\1\2/p' \
    -e 's/^NSpid:[^0-9]*[0-9][0-9]*[^0-9][^0-9]*[0-9].*/N/p' "/proc/$1/status" 2>/dev/null)
  for _q in $_q; do
    case $_q in
      U*) _ui=${_q#U} ;;
      P*) _parent=${_q#P} ;;
      N) _inner=1 ;;
    esac
  done
  [ -n "$_ui" ]
}

_proc() { # key, pid: a candidate, from /proc
  eval "_args=\${_args_$2-}"
  if [ -z "$_args" ] && [ -r "/proc/$2/cmdline" ]; then
    _args=$(_split 2>/dev/null <"/proc/$2/cmdline")
    eval "_args_$2=\$_args"
  fi
  [ -n "$_args" ] && _matches && _is_named "$2" || return 0
  _found=$((_found + 1))
  [ $_found -le 200 ] || return 0
  _status "$2" || return 0
  _known=1
  if ! _env=$(_split 2>/dev/null <"/proc/$2/environ"); then
    _known=0
    _q=$(_split 2>/dev/null <"/proc/$2/cmdline")
    [ -n "$_q" ] || return 0 # it ended meanwhile: nothing runs there that could be asked about
  fi
  _user_name "$_ui"
  _enc "$_r"
  _a=$_r
  _started "$2"
  _opt "$_r"
  _b=$_r
  _command_line
  _joined "$_r"
  _enc "$_r"
  _out process "$1" "=$2" "$_a" "$_b" "$_r"
  _opt "$_parent"
  _out kin "$1.$2" "$_r" "=$_inner"
  _flag_values "$1.$2"
  [ $_known = 0 ] || _proc_environ "$1.$2"
}

_ps() { # key: all processes as ps tells them; their environments cannot be seen
  _q=$(ps -axww -o pid= -o user= -o args= 2>/dev/null) && [ -n "$_q" ] || return 1
  for _l in $_q; do
    _l=${_l#"${_l%%[! ]*}"}
    _pid=${_l%% *} _l=${_l#* } _l=${_l#"${_l%%[! ]*}"} _ow=${_l%% *} _l=${_l#* }
    _args=$(printf %s "$_l" | tr ' ' '\n')
    [ "$_pid" != $$ ] && _matches || continue
    _enc "$_ow"
    _a=$_r
    _command_line
    _enc "$_r"
    _out process "$1" "=$_pid" "$_a" - "$_r"
    _flag_values "$1.$_pid"
  done
}

ask_candidates() { # patterns of words -> _table: the command lines that may hold one, one a line
  _table=''
  [ -r /proc/self/cmdline ] || return 0
  for _q do
    set -- "$@" -e "$_q"
    shift
  done
  # It finds its own as well, where it can look for NUL-ended pieces.
  _table=$(grep -lzE -e '^-lzE$' "$@" /proc/self/cmdline /proc/[0-9]*/cmdline 2>/dev/null)
  case $_NL$_table$_NL in
    *"$_NL/proc/self/cmdline$_NL"*) ;;
    *) _table=$(printf '%s\n' /proc/[0-9]*/cmdline) ;;
  esac
}

ask_process() { # key, then words, public flags, secret flags, variables and secret variables, and
  # the names of processes: six texts of one a line; after ask_candidates
  _words=$2 _pflags=$3 _sflags=$4 _pnames=$5 _snames=$6 _comms=${7-}
  _outer=$IFS IFS=$_NL _found=0
  set -f
  if [ -n "$_table" ]; then
    for _l in $_table; do
      _l=${_l#/proc/} _l=${_l%/cmdline}
      case $_l in self | $$) ;; *) _proc "$1" "$_l" ;; esac
    done
    _out processes "$1"
    [ -r /proc/1/cmdline ] || _unseen "processes" 'processes of other users are hidden here'
  elif _ps "$1"; then
    _out processes "$1"
  else
    _unseen processes 'neither /proc nor ps can be read here'
  fi
  set +f
  IFS=$_outer
}

# --- sockets and interfaces --------------------------------------------------------------------

ask_listeners() {
  if [ -r /proc/net/tcp ]; then
    _q='s/^ *[0-9]*: \([0-9A-F]*:[0-9A-F]*\) [0-9A-F]*:[0-9A-F]* 0A .*/\1/p'
    _table=$(sed -n "$_q" /proc/net/tcp /proc/net/tcp6 2>/dev/null)
    _q=proc
  elif _table=$(netstat -an -p tcp 2>/dev/null) && [ -n "$_table" ]; then
    _table=$(printf '%s\n' "$_table" | sed -n 's/^\(tcp[46]*\)  *[0-9]*  *[0-9]*  *\([^ ]*\)  *.*LISTEN.*/\1 \2/p')
    _q=netstat
  else
    _unseen listeners 'neither /proc/net/tcp nor netstat can be read here'
    return 0
  fi
  _enc "$_table"
  _out listeners "=$_q" "$_r"
}

_lacks_interface() { # name: whether all are told here, and it is none of them
  _m=1
  {
    while read -r _q _t; do
      [ "${_q%%:*}" != "$1" ] || return 1
      _m=0
    done </proc/net/dev
  } 2>/dev/null
  return $_m
}

ask_interfaces() { # the only one that matters, where not all do
  if [ $# -gt 0 ] && _lacks_interface "$1"; then
    _out interfaces =none =
    return 0
  fi
  if _table=$(ip -o addr 2>/dev/null) && [ -n "$_table" ]; then _q=ip
  elif _table=$(ifconfig -a 2>/dev/null) && [ -n "$_table" ]; then _q=ifconfig
  else _unseen interfaces 'neither ip nor ifconfig is here'; return 0; fi
  _enc "$_table"
  _out interfaces "=$_q" "$_r"
}
