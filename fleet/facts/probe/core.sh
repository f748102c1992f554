# The probe: functions that answer questions about this machine; the calls are appended.
# Plain POSIX sh. Nothing is written, nothing is changed, no secret stands in an argument list.
#
# One record is one line: "@fleet", the nonce, a running number, the kind, fields, "."; separated
# by tabs. A field is "-" (none), "=text" (printable ASCII), "xHEX" or "bBASE64" of the bytes.
# Names begin with an underscore so that no variable of the environment is overwritten.

_NL='
'
_TAB='	'
_P0=$PATH _L0=${LC_ALL-} _L1=${LC_ALL+set}
LC_ALL=C
export LC_ALL
PATH=$PATH:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/opt/homebrew/bin
_n=0 _k=0 _links=0 _list='' _sha='' _family='' _pack='' _timeout=''

# --- records -------------------------------------------------------------------------------

_out() { # fields, encoded
  _n=$((_n + 1)) _ifs=$IFS IFS=$_TAB
  printf '%s\n' "@fleet$_TAB$_N$_TAB$_n$_TAB$*$_TAB."
  IFS=$_ifs
}

_enc() { # any bytes but NUL -> _r
  case $1 in
    *[!\ -~]*) _r=$(printf %s "$1" | _packed) ;;
    *) _r="=$1" ;;
  esac
}

_opt() { # as _enc, and empty means none
  if [ -n "$1" ]; then _enc "$1"; else _r=-; fi
}

_cut() { # text of words -> _a the first, _b the rest
  _a=${1%% *} _b=''
  case $1 in *' '*) _b=${1#* } ;; esac
}

_packed() { # stdin -> one field
  if [ -z "$_pack" ]; then
    if base64 -w0 </dev/null >/dev/null 2>&1; then _pack=w
    elif base64 </dev/null >/dev/null 2>&1; then _pack=b
    else _pack=x; fi
  fi
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

_sha256() { # files, or stdin
  case $_sha in
    shasum) shasum -a 256 "$@" ;;
    openssl) openssl dgst -sha256 -r "$@" ;;
    sha256) sha256 -q "$@" ;;
    *) sha256sum "$@" ;;
  esac
}

_hasher() { # the first tool that gives the digest of nothing -> _sha; "none" without one
  [ -z "$_sha" ] || return 0
  for _sha in sha256sum shasum openssl sha256; do
    case $(_sha256 </dev/null 2>/dev/null) in
      e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855*) return 0 ;;
    esac
  done
  _sha=none
}

_hash_of() { # line of a tool -> _h, empty when it holds no digest
  _h=${1#\\} _h=${_h%%[!0-9a-f]*}
  [ ${#_h} -eq 64 ] || _h=''
}

_digest() { # value -> _r, keyed with the nonce; printf is a builtin (see answer_begin)
  _hasher
  _h=''
  [ "$_sha" = none ] || _hash_of "$(printf '%s:%s' "$_N" "$1" | _sha256 2>/dev/null)"
  if [ -n "$_h" ]; then _r="=$_h"; else _r=-; fi
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

# --- the beginning and the end ------------------------------------------------------------------

answer_begin() { # nonce, seconds for a launching shell, hashes that are known
  _N=$1 _SECONDS=$2 _KNOWN=" $3 " _uids='' _boot='' _tick=''
  _BAD=$(printf '\005') _SOH=$(printf '\001') _BOM=$(printf '\357\273\277')
  _WS=$(printf ' \t\r\v\f.')
  _WS=${_WS%.}
  printf '\n'
  _out begin =fleet.answer/1
  case $(type printf 2>/dev/null) in
    *builtin*) ;;
    *) _out unfit '=its sh has no builtin printf, so secrets could not be kept off command lines'
      exit 0 ;;
  esac
  _q=$(uname -snm 2>/dev/null) || _q=''
  _cut "$_q"
  _c=$_a
  _cut "$_b"
  _mc=${_b##* }
  _hn=$_a
  _q=$(id 2>/dev/null)
  _ui=${_q#uid=} _ui=${_ui%%[!0-9]*}
  case $_q in "uid=$_ui("*) _ow=${_q#*\(} && _ow=${_ow%%\)*} ;; *) _ow='' ;; esac
  _rule=HOME _HOME=${HOME-}
  if [ -z "$_HOME" ]; then
    _rule=passwd
    _HOME=$( (getent passwd "$_ui" || grep "^[^:]*:[^:]*:$_ui:" /etc/passwd) 2>/dev/null)
    _HOME=${_HOME%:*} _HOME=${_HOME##*:}
    [ -n "$_HOME" ] || _rule=default _HOME=/
  fi
  _opt "$_c" && _a=$_r && _opt "$_mc" && _b=$_r && _opt "$_hn" && _c=$_r
  _opt "$_ow" && _d=$_r && _opt "$_ui" && _ui=$_r && _enc "$_HOME"
  _out platform "$_a" "$_b" "$_c" "$_d" "$_ui" "$_r" "=$_rule"
}

answer_end() {
  answer_paths
  _out end "=$_n"
}
