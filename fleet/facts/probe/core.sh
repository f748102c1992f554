# The probe: functions that answer questions about this machine; the calls are appended.
# Plain POSIX sh. Nothing is written, nothing is changed, no secret stands in an argument list.
#
# One record is one line: "@fleet", the nonce, a running number, the kind, fields, "."; separated
# by tabs. A field is "-" (none), "=text" (printable ASCII), "l|text|text" (lines of it, put together
# by the character that follows the l), "xHEX" or "bBASE64" of the bytes.
# Starting a program costs a target more than all else here, so none is started that sh can do without.
# Names begin with an underscore so that no variable of the environment is overwritten.

_NL='
'
_TAB='	'
_P0=$PATH _L0=${LC_ALL-} _L1=${LC_ALL+set}
LC_ALL=C
export LC_ALL
PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/opt/homebrew/bin
_NOTHING=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
_n=0 _buf=$_NL _k=0 _dn=0 _qn=0 _vn=0 _links=0 _plain=$_NL$_NL _open=$_NL _list='' _sha='' _family='' _pack=''
_timeout='' _gone='' _ahead=0 _fn=0 _fl='' _names=/$_NL _ends='' _shaky='' _launched=''

# --- records -------------------------------------------------------------------------------

_noglob() { # splitting without file names until _glob -> the state of before in _f; not nested
  case $- in *f*) _f='' ;; *) _f=1 && set -f ;; esac
}

_glob() { # as it was before _noglob
  [ -z "$_f" ] || set +f
}

_out() { # fields, encoded
  _n=$((_n + 1)) _ifs=$IFS IFS=$_TAB
  _buf="$_buf@fleet$_TAB$_N$_TAB$_n$_TAB$*$_TAB.$_NL"
  IFS=$_ifs
  [ ${#_buf} -lt 4000 ] || _flush
}

_flush() { # what is told goes out many records at once: each time costs a packet at both ends
  printf '%s' "$_buf"
  _buf=''
}

_enc() { # any bytes but NUL -> _r
  case $1 in
    *[!\ -~]*) _enc_lines "$1" || _r=$(printf %s "$1" | _packed) ;;
    *) _r="=$1" ;;
  esac
}

_enc_lines() { # text -> _r; 1 where it is not lines of printable text with something in each
  case $1 in *[!\ -~"$_NL"]* | *'|'* | "$_NL"* | *"$_NL" | *"$_NL$_NL"*) return 1 ;; esac
  _ifs=$IFS IFS=$_NL
  _noglob
  # shellcheck disable=SC2086
  set -- $1
  _glob
  IFS='|'
  _r="l|$*"
  IFS=$_ifs
}

_opt() { # as _enc, and empty means none
  if [ -n "$1" ]; then _enc "$1"; else _r=-; fi
}

_cut() { # text of words -> _a the first, _b the rest
  _a=${1%% *} _b=''
  case $1 in *' '*) _b=${1#* } ;; esac
}

_packing() { # how bytes are packed here -> _pack; lost where it is found out in a pipe
  [ -z "$_pack" ] || return 0
  if base64 -w0 </dev/null >/dev/null 2>&1; then _pack=w
  elif base64 </dev/null >/dev/null 2>&1; then _pack=b
  else _pack=x; fi
}

_packed() { # stdin -> one field
  _packing
  case $_pack in
    w) printf b && base64 -w0 ;;
    b) printf b && base64 | tr -d '\n' ;;
    *) printf x && od -An -v -tx1 | tr -d ' \n' ;;
  esac
}

_unseen() { # part, reason
  _enc "$2"
  _out unseen "=$1" "$_r"
}

# --- sha256 --------------------------------------------------------------------------------

_sha256() { # files, or stdin; in a subshell, which ends with it
  case $_sha in
    shasum) exec shasum -a 256 "$@" ;;
    openssl) exec openssl dgst -sha256 -r "$@" ;;
    sha256) exec sha256 -q "$@" ;;
    *) exec sha256sum "$@" ;;
  esac
}

_hasher() { # the first tool that gives the digest of nothing -> _sha; "none" without one
  [ -z "$_sha" ] || return 0
  for _sha in sha256sum shasum openssl sha256; do
    case $(_sha256 </dev/null 2>/dev/null) in "$_NOTHING"*) return 0 ;; esac
  done
  _sha=none
}

_hash_of() { # line of a tool -> _h, empty when it holds no digest
  _h=${1#\\} _h=${_h%%[!0-9a-f]*}
  [ ${#_h} -eq 64 ] || _h=''
}

_digested() { # value -> _r; 1 where its digest is not known
  _di=0
  while [ $_di -lt $_dn ]; do
    _di=$((_di + 1))
    if eval "[ \"\$_dv_$_di\" = \"\$1\" ]"; then eval "_r=\$_dr_$_di"; return 0; fi
  done
  return 1
}

_digest_is() { # value, digest, empty for none -> _r, and known from now on
  if [ -n "$2" ]; then _r="=$2"; else _r=-; fi
  [ $_dn -lt 20 ] || return 0
  _dn=$((_dn + 1))
  eval "_dv_$_dn=\$1 _dr_$_dn=\$_r"
}

_digest() { # value -> _r, keyed with the nonce; printf is a builtin (see answer_begin)
  if _digested "$1"; then return 0; fi
  if [ $_ahead = 1 ]; then _foreseen "$1" && _r=- && return 0; fi
  if [ -n "$_sha" ] || ! _first_digest "$1"; then
    _hasher
    _h=''
    [ "$_sha" = none ] || _hash_of "$(printf '%s:%s' "$_N" "$1" | _sha256 2>/dev/null)"
  fi
  _digest_is "$1" "$_h"
}

_first_digest() { # value -> _h, and _sha when sha256sum is here and gives the digest of nothing too
  _q=$(printf '%s:%s' "$_N" "$1" | sha256sum /dev/null - 2>/dev/null)
  case $_q in "$_NOTHING"*"$_NL"*) ;; *) return 1 ;; esac
  _hash_of "${_q#*"$_NL"}"
  [ -n "$_h" ] && _sha=sha256sum
}

_foreseen() { # value: its digest will be wanted, so it goes with the files that are hashed next
  _di=0
  while [ $_di -lt $_vn ]; do
    _di=$((_di + 1))
    ! eval "[ \"\$_vv_$_di\" = \"\$1\" ]" || return 0
  done
  [ $_vn -lt 7 ] || return 0 # as many as there are descriptors of one digit
  _vn=$((_vn + 1))
  eval "_vv_$_vn=\$1"
}

_hash_at_once() { # number of a value, file names quoted for eval: nothing, that value and further
  # ones, and the files, hashed by one program; each value comes through a pipe of its own
  if [ "$1" -gt $_vn ]; then eval "exec sha256sum /dev/null$_vl$2"; fi
  eval "_v=\$_vv_$1"
  printf '%s:%s' "$_N" "$_v" | {
    [ "$1" = $_vn ] || eval "exec $(($1 + 2))<&0"
    _hash_at_once $(($1 + 1)) "$2"
  }
}

_hash_foreseen() { # file names -> _q, what was printed of these; 1 where not every value is hashed
  _vl='' _m=0
  while [ $_m -lt $_vn ]; do
    _m=$((_m + 1))
    if [ $_m = $_vn ]; then _l=-; else _l=/dev/fd/$((_m + 2)); fi
    _vl="$_vl $_l"
  done
  _q=$(_hash_at_once 1 "$1" 2>/dev/null)
  case $_q in "$_NOTHING"*"$_NL"*) ;; *) return 1 ;; esac
  _m=0 _sha=sha256sum
  for _l in $_vl; do
    _m=$((_m + 1)) _q=${_q#*"$_NL"} _v=${_q%%"$_NL"*}
    case $_v in *" $_l") ;; *) return 1 ;; esac
    _hash_of "$_v"
    eval "_v=\$_vv_$_m _vv_$_m=''"
    [ -z "$_h" ] || _digest_is "$_v" "$_h"
  done
  case $_q in *"$_NL"*) _q=${_q#*"$_NL"} ;; *) _q='' ;; esac
}

_var() { # key, name, public|secret, value
  if [ "$3" = public ]; then
    _enc "$4"
    _out var "$1" "=$2" =public "$_r"
  else
    _digest "$4"
    _out var "$1" "=$2" =secret "=${#4}" "$_r"
  fi
}

_later() { # key, name, value: a secret that is told as soon as files are hashed, by the same program
  _digested "$3" || _foreseen "$3"
  _qn=$((_qn + 1))
  eval "_qk_$_qn=\$1 _qx_$_qn=\$2 _qv_$_qn=\$3"
}

_waiting() { # tell them
  _m=0
  while [ $_m -lt $_qn ]; do
    _m=$((_m + 1))
    eval "_var \"\$_qk_$_m\" \"\$_qx_$_m\" secret \"\$_qv_$_m\"; _qv_$_m=''"
  done
  _qn=0
}

# --- the beginning and the end ------------------------------------------------------------------

_platform() { # -> _c _hn _mc: the system's name, the machine's, and what kind it is
  _c='' _hn='' _mc=''
  {
    read -r _c </proc/sys/kernel/ostype && read -r _hn </proc/sys/kernel/hostname &&
      read -r _mc </proc/sys/kernel/arch
  } 2>/dev/null && return 0
  _cut "$(uname -snm 2>/dev/null)"
  _c=$_a
  _cut "$_b"
  _mc=${_b##* }
  _hn=$_a
}

_characters() { # those that cannot stand in a script's own text; -> _q, what printf is
  _q=$(type printf 2>/dev/null
    printf '\n\005\001:\357\273\277:\001-\010\016-\037\177: \t\r\v\f:')
  _t=${_q%"$_NL"*} _q=${_q##*"$_NL"}
  _WS=${_q%:} _WS=${_WS##*:}
  _CTL=${_q#*:} _BOM=${_CTL%%:*} _CTL=${_CTL#*:} _CTL=${_CTL%%:*}
  _BAD=${_q%%:*} _SOH=${_BAD#?} _BAD=${_BAD%?} _q=$_t
}

_user() { # -> _ui its number, _ow its name, empty where it has none
  _ui='' _m=0
  {
    while read -r _q _ui _t && [ "$_q" != Uid: ]; do :; done </proc/self/status
    # What is short is read for less than it costs to start a program.
    while [ -n "$_ui" ] && [ $_m -lt 50 ] && IFS=: read -r _ow _t _i _q; do
      if [ "$_i" = "$_ui" ]; then return 0; fi
      _m=$((_m + 1))
    done </etc/passwd
  } 2>/dev/null
  _q=$(id 2>/dev/null)
  _ui=${_q#uid=} _ui=${_ui%%[!0-9]*}
  case $_q in "uid=$_ui("*) _ow=${_q#*\(} && _ow=${_ow%%\)*} ;; *) _ow='' ;; esac
}

answer_begin() { # nonce, seconds for a launching shell, hashes that are known
  _N=$1 _SECONDS=$2 _KNOWN=" $3 " _uids='' _boot='' _tick=''
  _characters
  _out begin =fleet.answer/1
  _flush # whatever follows, somebody answers
  case $_q in
    *builtin*) ;;
    *) _out unfit '=its sh has no builtin printf, so secrets could not be kept off command lines'
      _flush
      exit 0 ;;
  esac
  _platform
  _user
  _rule=HOME _HOME=${HOME-}
  if [ -z "$_HOME" ]; then
    _rule=passwd
    _HOME=$( (getent passwd "$_ui" || grep "^[^:]*:[^:]*:$_ui:" /etc/passwd) 2>/dev/null)
    _HOME=${_HOME%:*} _HOME=${_HOME##*:}
    [ -n "$_HOME" ] || _rule=default _HOME=/
  fi
  _tell_platform
}

_tell_platform() {
  _opt "$_c" && _a=$_r && _opt "$_mc" && _b=$_r && _opt "$_hn" && _c=$_r
  _opt "$_ow" && _d=$_r && _opt "$_ui" && _ui=$_r && _enc "$_HOME"
  _out platform "$_a" "$_b" "$_c" "$_d" "$_ui" "$_r" "=$_rule"
}

answer_end() { # what to print after it
  answer_paths
  _out end "=$_n"
  _buf=$_buf${1-}
  _flush
}
