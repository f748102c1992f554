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

# --- paths ---------------------------------------------------------------------------------

_readlink() { # link -> _t; remembers what was read
  _j=0
  while [ $_j -lt $_links ]; do
    _j=$((_j + 1))
    eval "_q=\$_lp_$_j"
    if [ "$_q" = "$1" ]; then
      eval "_t=\$_lt_$_j"
      return 0
    fi
  done
  if _t=$(readlink "$1" 2>/dev/null && printf x); then
    _t=${_t%"${_NL}x"}
  elif _t=$(ls -ld "$1" 2>/dev/null && printf x); then
    _t=${_t%"${_NL}x"} _t=${_t#*" $1 -> "}
  else
    return 1
  fi
  _links=$((_links + 1))
  eval "_lp_$_links=\$1 _lt_$_links=\$_t"
}

_stop() { # state, where, why
  _state=$1 _at=$2 _why=$3
}

_follow() { # key: the link _p, met while _cur and _rest stand as they do; 1 ends the walk
  case $_seen in *"$_NL$_p//$_rest$_NL"*) _stop loop "$_p" ''; return 1 ;; esac
  _seen=$_seen$_p//$_rest$_NL _hops=$((_hops + 1))
  if [ $_hops -gt 40 ]; then _stop loop "$_p" 'more than 40 links'; return 1; fi
  if ! _readlink "$_p"; then _stop unreadable "$_p" 'the link cannot be read'; return 1; fi
  _enc "$_p"
  _a=$_r
  _enc "$_t"
  _out hop "$1" "$_a" "$_r"
  [ "$_inside" = 1 ] || _outer=${#_rest}
  case $_t in /*) _cur='' ;; esac
  _rest=$_t$_rest
}

_missing() { # nothing can be seen at _p
  if ! [ -x "${_cur:-/}" ]; then
    _stop unreadable "${_cur:-/}" 'permission denied: this folder may not be searched'
  elif [ "$_inside" = 1 ]; then
    _stop dangling "$_p" ''
  else
    _stop absent "$_p" ''
  fi
}

_walk() { # key, absolute path -> _state _at _why _cur; one record for every link on the way
  _rest=$2 _cur='' _hops=0 _seen=$_NL _outer=${#2}
  _stop present '' ''
  while [ "$_state" = present ]; do
    while :; do case $_rest in /*) _rest=${_rest#/} ;; *) break ;; esac; done
    [ -n "$_rest" ] || break
    if [ ${#_rest} -gt "$_outer" ]; then _inside=1; else _inside=0; fi
    case $_rest in
      */*) _c=${_rest%%/*} _rest=/${_rest#*/} ;;
      *) _c=$_rest _rest='' ;;
    esac
    case $_c in
      .) continue ;;
      ..) _cur=${_cur%/*}; continue ;;
    esac
    _p=$_cur/$_c
    if [ -L "$_p" ]; then
      _follow "$1" || :
    elif ! [ -e "$_p" ]; then
      _missing
    elif [ -n "$_rest" ] && ! [ -d "$_p" ]; then
      _missing
      _why='it is not a folder'
    else
      _cur=$_p
    fi
  done
  _cur=${_cur:-/}
}

_reading() { # read: a final that is there, and may be looked at, but not read
  case $1 in
    s) return 0 ;;
    l) [ -d "$_cur" ] || return 0
      [ -r "$_cur" ] && [ -x "$_cur" ] && return 0 ;;
    *) ! [ -f "$_cur" ] || [ -r "$_cur" ] && return 0 ;;
  esac
  _stop unreadable "$_cur" 'permission denied: this user may not read it'
}

ask_path() { # key, read (s h w l e), limit, path, public names for e
  case $4 in
    '~') _q=$_HOME ;;
    '~/'*) _q=${_HOME%/}/${4#'~/'} ;;
    *) _q=$4 ;;
  esac
  _asked=$_q
  _walk "$1" "$_asked"
  _final=$_cur
  if [ "$_state" = present ]; then _reading "$2"; else _final=''; fi
  if [ -L "${_asked%/}" ]; then _a==1; else _a==0; fi
  _enc "$_asked" && _b=$_r && _opt "$_final" && _c=$_r && _opt "$_at" && _d=$_r && _opt "$_why"
  _out path "$1" "=$_state" "$_a" "$_b" "$_c" "$_d" "$_r"
  [ -n "$_final" ] || return 0
  _k=$((_k + 1))
  [ "$_state" = present ] && _q=$2 || _q=s
  eval "_f_$_k=\$_final _key_$_k=\$1 _rd_$_k=\$_q _lim_$_k=\$3 _pub_$_k=\" \${5-} \""
  _list="$_list \"\$_f_$_k\""
  [ $_k -lt 100 ] || answer_paths
}

# --- what lies at the end of the paths: asked of all of them at once ----------------------------

_lines() { # text, expected number, name: sets NAME_1.. to the lines; 1 when the number differs
  _q=$3 _m=$2
  _ifs=$IFS IFS=$_NL
  set -f
  # shellcheck disable=SC2086
  set -- $1
  set +f
  IFS=$_ifs
  [ $# -eq "$_m" ] || return 1
  _i=0
  for _l do
    _i=$((_i + 1))
    eval "${_q}_$_i=\$_l"
  done
}

_octal() { # "rwxr-sr-t" -> _r
  _q=$1 _r=0
  for _i in 256 128 64 32 16 8 4 2 1; do
    _c=${_q%"${_q#?}"} _q=${_q#?}
    case $_c in [rwxst]) _r=$((_r + _i)) ;; esac
    case $_i$_c in
      64[sS]) _r=$((_r + 2048)) ;;
      8[sS]) _r=$((_r + 1024)) ;;
      1[tT]) _r=$((_r + 512)) ;;
    esac
  done
  _r=$((_r / 512))$((_r / 64 % 8))$((_r / 8 % 8))$((_r % 8))
}

_ls_line() { # file -> _r: mode uid size mtime owner, as ls and date tell
  _mt=$(date -r "$1" +%s 2>/dev/null) || _mt=-
  _ow=$(ls -ld "$1" 2>/dev/null) || return 1
  _nu=$(ls -ldn "$1" 2>/dev/null) || return 1
  set -f
  # shellcheck disable=SC2086
  set -- $_ow
  _ow=$3
  # shellcheck disable=SC2086
  set -- $_nu
  set +f
  case $5 in *,) _sz=0 ;; *) _sz=$5 ;; esac
  _octal "${1#?}"
  _r="$_r $3 $_sz ${_mt:--} $_ow"
}

_stat() { # file names, quoted for eval
  case $_family in
    gnu) eval "stat -c '%a %u %s %Y %U' $1" 2>/dev/null ;;
    bsd) eval "stat -f '%Mp%Lp %u %z %m %Su' $1" 2>/dev/null ;;
  esac
}

_stat_family() {
  [ -z "$_family" ] || return 0
  for _family in gnu bsd; do
    case $(_stat /) in [0-7]*\ 0\ *) return 0 ;; esac
  done
  _family=ls
}

_stat_all() { # -> _st_1.. ; empty where nothing could be told
  [ -n "$_family" ] || _family=gnu _try=1
  _r=$(_stat "$_list") && _lines "$_r" $_k _st && return 0
  [ "${_try-}" != 1 ] || { _family='' _try=''; _stat_family; }
  _r=$(_stat "$_list") && _lines "$_r" $_k _st && return 0
  _j=0
  while [ $_j -lt $_k ]; do
    _j=$((_j + 1)) _r=''
    if [ "$_family" = ls ]; then
      eval "_ls_line \"\$_f_$_j\"" || _r=''
    else
      _r=$(_stat "\"\$_f_$_j\"")
    fi
    eval "_st_$_j=\$_r"
  done
}

_stat_out() {
  _stat_all
  _j=0
  while [ $_j -lt $_k ]; do
    _j=$((_j + 1))
    eval "_fi=\$_f_$_j _ke=\$_key_$_j _l=\$_st_$_j"
    if [ -d "$_fi" ]; then _q=directory; elif [ -f "$_fi" ]; then _q=file; else _q=other; fi
    _md=${_l%% *} _l=${_l#* } _ui=${_l%% *} _l=${_l#* } _sz=${_l%% *} _l=${_l#* }
    _mt=${_l%% *} _ow=${_l#* }
    eval "_size_$_j=\${_sz:-0} _kind_$_j=\$_q"
    _opt "$_md" && _a=$_r && _opt "$_ui" && _b=$_r && _opt "$_sz" && _c=$_r
    _opt "${_mt#-}" && _d=$_r && _opt "$_ow"
    _out stat "$_ke" "=$_q" "$_a" "$_b" "$_c" "$_d" "$_r"
  done
}

_note() { # key, state, text
  _enc "$3"
  _out note "$1" "=$2" "$_r"
}

_sums() { # hash what is to be hashed -> _sum_1.. ; empty elsewhere
  _sl='' _sn=0 _j=0
  while [ $_j -lt $_k ]; do
    _j=$((_j + 1))
    eval "_sum_$_j='' _ke=\$_key_$_j _ki=\$_kind_$_j\$_rd_$_j _sz=\$_size_$_j _lm=\$_lim_$_j"
    case $_ki in filee | fileh | filew) ;; *) continue ;; esac
    if [ "$_sz" -gt "$_lm" ]; then
      _note "$_ke" present "larger than $_lm bytes: not read"
      eval "_rd_$_j=t\$_rd_$_j"
    elif [ "$_ki" != filee ]; then
      _sn=$((_sn + 1)) _sl="$_sl \"\$_f_$_j\""
      eval "_at_$_sn=$_j"
    fi
  done
  [ $_sn -gt 0 ] || return 0
  _hasher
  [ "$_sha" != none ] || return 0
  if _r=$(eval "_sha256$_sl" 2>/dev/null) && _lines "$_r" $_sn _ln; then
    _j=0
    while [ $_j -lt $_sn ]; do
      _j=$((_j + 1))
      eval "_hash_of \"\$_ln_$_j\"; _q=\$_at_$_j"
      eval "_sum_$_q=\$_h"
    done
  fi
}

_content() { # number: the hash of one file, and its bytes when they are wanted
  eval "_fi=\$_f_$1 _ke=\$_key_$1 _ki=\$_rd_$1 _h=\$_sum_$1"
  if [ "$_sha" = none ]; then _note "$_ke" unsupported 'no tool for sha256 on this machine'; return 0; fi
  [ -n "$_h" ] || _hash_of "$(_sha256 2>/dev/null <"$_fi")"
  if [ -z "$_h" ]; then _note "$_ke" unreadable 'it could not be read'; return 0; fi
  _out sum "$_ke" "=$_h"
  [ "$_ki" = w ] || return 0
  case $_KNOWN in *" $_h "*) return 0 ;; esac
  _KNOWN="$_KNOWN$_h "
  _n=$((_n + 1))
  printf '%s' "@fleet$_TAB$_N$_TAB$_n${_TAB}data$_TAB=$_h$_TAB"
  _packed 2>/dev/null <"$_fi"
  printf '%s\n' "$_TAB."
}

_entry() { # key, path of the entry
  _t='' _d==0
  if [ -L "$2" ]; then
    _c==link
    _readlink "$2" || :
    [ -e "$2" ] || _d==1
  elif [ -d "$2" ]; then _c==directory
  elif [ -f "$2" ]; then _c==file
  else _c==other; fi
  _enc "${2##*/}"
  _a=$_r
  _opt "$_t"
  _out entry "$1" "$_c" "$_d" "$_a" "$_r"
}

_entries() { # key, folder
  _m=0 _w=${2%/}
  for _x in "$_w"/* "$_w"/.*; do
    case ${_x##*/} in . | ..) continue ;; esac
    [ -e "$_x" ] || [ -L "$_x" ] || continue
    _m=$((_m + 1))
    if [ $_m -gt 2000 ]; then _note "$1" present 'more than 2000 entries: the rest was not read'; break; fi
    _entry "$1" "$_x"
  done
  _out entries "$1"
}

answer_paths() { # answer for all paths that were walked since the last time
  [ $_k -gt 0 ] || return 0
  _stat_out
  _sums
  _z=0
  while [ $_z -lt $_k ]; do
    _z=$((_z + 1))
    eval "_fi=\$_f_$_z _ke=\$_key_$_z _ki=\$_kind_$_z\$_rd_$_z _pu=\$_pub_$_z"
    case $_ki in
      fileh | filew) _content $_z ;;
      filee) _env "$_ke" "$_fi" "$_pu" ;;
      filete) _out env "$_ke" =0 - =0 =1 ;;
      directoryl) _entries "$_ke" "$_fi" ;;
    esac
  done
  _k=0 _list=''
}

# --- env files: structure and digests, never the value of a secret --------------------------------

_strip() { # text -> _r without blanks round it
  _r=${1#"${1%%[!$_WS]*}"}
  _r=${_r%"${_r##*[!$_WS]}"}
}

_name_of() { # line without leading blanks -> _nm _v, or _nm empty when it assigns nothing
  _q=$1
  case $_q in
    export[" $_TAB"]*)
      _q=${_q#export}
      _q=${_q#"${_q%%[! $_TAB]*}"} ;;
  esac
  _nm=${_q%%[!A-Za-z0-9_.-]*}
  case $_nm in '' | [!A-Za-z_]*) _nm=''; return 0 ;; esac
  if [ ${#_nm} -ge 16 ]; then # a line of base64 looks like a name, and is no name
    case $_nm in
      *_*) ;;
      *[a-z]*) case $_nm in *[A-Z]*) case $_nm in *[0-9]*) _nm=''; return 0 ;; esac ;; esac ;;
    esac
  fi
  _q=${_q#"$_nm"}
  _q=${_q#"${_q%%[! $_TAB]*}"}
  case $_q in
    [=:]*) _v=${_q#?} ;;
    *) _nm='' ;;
  esac
}

_unquoted() { # value without blanks round it: 0 and the text between outer quotes in _r
  case $1 in \'* | \"*) ;; *) return 1 ;; esac
  _q=${1%"${1#?}"} _r=${1#?}
  case $_r in *"$_q"*) ;; *) return 1 ;; esac
  _t=${_r#*"$_q"} _r=${_r%%"$_q"*}
  case $_q$_r in \"*\\*) return 1 ;; esac
  case $_t in '') return 0 ;; [!$_WS]*) return 1 ;; esac
  case ${_t#"${_t%%[!$_WS]*}"} in '#'*) return 0 ;; esac
  return 1
}

_values() { # value of a secret -> _d1 raw, _d2 unquoted, _d3 trimmed
  _digest "$1"
  _d1=$_r _d2=-
  _strip "$1"
  if _unquoted "$_r"; then
    _digest "$_r"
    _d2=$_r
  fi
  _strip "${1%%[ $_TAB]#*}"
  if [ "$_r" = "$1" ]; then _d3=$_d1; else _digest "$_r"; _d3=$_r; fi
}

_env_line() { # key, number, line, the same masked, public names
  _q=${3#"${3%%[!$_WS]*}"}
  _d1=- _d2=- _d3=- _b==1 _txt=$4
  case $_q in
    '') _b==0 _txt=$3 ;;
    '#'*) ;;
    *)
      _name_of "${3#"${3%%[! $_TAB]*}"}"
      if [ -n "$_nm" ]; then
        case $5 in
          *" $_nm "*) _b==0 _txt=$3 ;;
          *) _values "$_v"
            _txt=${3%"$_v"}${4#*[=:]} ;;
        esac
      fi ;;
  esac
  _enc "$_txt"
  _out line "$1" "=$2" "$_b" "$_r" "$_d1" "$_d2" "$_d3"
}

_env() { # key, file, public names
  _ec=$(tr '\000-\010\016-\037\177' '\005' 2>/dev/null <"$2" && printf x) ||
    { _note "$1" unreadable 'it could not be read'; return 0; }
  _ec=${_ec%x} _bo==0 _ln=0 _tr==0
  case $_ec in
    "$_BAD"GITCRYPT"$_BAD"*)
      case $(od -An -v -tx1 -N10 "$2" | tr -d ' \n') in
        00474954435259505400) _out env "$1" =0 =git-crypt =1 =0; return 0 ;;
      esac ;;
  esac
  case $_ec in *"$_BAD"*) _out env "$1" =0 - =1 =0; return 0 ;; esac
  _em=$(tr '0-9A-Za-z\200-\377' '0000000000x' 2>/dev/null <"$2" && printf x)
  _em=${_em%x}
  case $_ec in "$_BOM"*) _bo==1 _ec=${_ec#"$_BOM"} _em=${_em#xxx} ;; esac
  while [ -n "$_ec" ]; do
    case $_ec in *"$_NL"*) ;; *) _ec=$_ec$_NL _em=$_em$_NL ;; esac
    _l=${_ec%%"$_NL"*} _lm=${_em%%"$_NL"*}
    _ec=${_ec#*"$_NL"} _em=${_em#*"$_NL"} _ln=$((_ln + 1))
    if [ $_ln -gt 500 ]; then _tr==1; break; fi
    _env_line "$1" $_ln "$_l" "$_lm" "$3"
  done
  _out env "$1" $_bo - =0 $_tr
}

# --- ways of launching: what they export ----------------------------------------------------

_REPORT='printf "\n@%s [\n" "$FLEET_NONCE"
for fleet_n in $FLEET_NAMES; do
  eval "[ -n \"\${$fleet_n+x}\" ]" || continue
  eval "fleet_v=\$$fleet_n"
  printf "@%s %s\n%s\n" "$FLEET_NONCE" "$fleet_n" "$fleet_v"
done
printf "@%s ]\n" "$FLEET_NONCE"'

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
  shift 3
  if [ $# -gt 0 ]; then
    PATH=$_P0 command -v "$1" >/dev/null 2>&1 ||
      { _enc "there is no $1 here"; _out launch "$_ke" =missing "$_r"; return 0; }
    # shellcheck disable=SC2016
    set -- "$@" 'exec /bin/sh -c "$FLEET_REPORT"'
  else
    set -- /bin/sh -c "$_REPORT"
  fi
  _find_timeout
  FLEET_REPORT=$_REPORT FLEET_NONCE=$_N FLEET_NAMES="PATH $_pu $_se"
  export FLEET_REPORT FLEET_NONCE FLEET_NAMES
  _run "$@"
  unset FLEET_REPORT FLEET_NONCE FLEET_NAMES
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
  set -f
  # shellcheck disable=SC2086
  _was=$IFS && IFS=' ' && set -- ${_q##*) } && IFS=$_was
  set +f
  case ${20-}$_boot in '' | *[!0-9]*) return 0 ;; esac
  _r=$((_boot + ${20} / _tick))
}

_proc_environ() { # key, pid
  _env=$(_split 2>/dev/null <"/proc/$2/environ") || return 0
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

_proc() { # key, pid: a candidate, from /proc
  _args=$(_split 2>/dev/null <"/proc/$2/cmdline")
  [ -n "$_args" ] && _matches || return 0
  _found=$((_found + 1))
  [ $_found -le 200 ] || return 0
  _ui=$(sed -n 's/^Uid:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$2/status" 2>/dev/null)
  [ -n "$_ui" ] || return 0
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
  _flag_values "$1.$2"
  _proc_environ "$1.$2" "$2"
}

_ps() { # key: all processes as ps tells them; their environments cannot be seen
  _table=$(ps -axww -o pid= -o user= -o args= 2>/dev/null) && [ -n "$_table" ] || return 1
  for _l in $_table; do
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

ask_process() { # key, pattern of the longest word, then words, public flags, secret flags, variables
  # and secret variables: five texts of one a line
  _pattern=$2 _words=$3 _pflags=$4 _sflags=$5 _pnames=$6 _snames=$7
  _outer=$IFS IFS=$_NL _found=0
  set -f
  if [ -r /proc/self/cmdline ]; then
    set +f
    if [ "$(printf 'a\000b\000' | grep -czE '^b$' 2>/dev/null)" = 1 ]; then
      _table=$(grep -lzE -e "$_pattern" /proc/[0-9]*/cmdline 2>/dev/null)
    else
      _table=$(ls -d /proc/[0-9]*/cmdline 2>/dev/null)
    fi
    set -f
    for _l in $_table; do
      _l=${_l#/proc/} _l=${_l%/cmdline}
      [ "$_l" = $$ ] || _proc "$1" "$_l"
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

ask_interfaces() {
  if _table=$(ip -o addr 2>/dev/null) && [ -n "$_table" ]; then _q=ip
  elif _table=$(ifconfig -a 2>/dev/null) && [ -n "$_table" ]; then _q=ifconfig
  else _unseen interfaces 'neither ip nor ifconfig is here'; return 0; fi
  _enc "$_table"
  _out interfaces "=$_q" "$_r"
}

# --- containers, as the engine's client on this machine tells them ---------------------------


_template() { # -> _r: every piece begins with a line feed, "@", the nonce, a blank and its name
  _q='{{printf "%s name %s" $N .Name}}{{printf "%s state %s" $N .State.Status}}'
  _q=$_q'{{printf "%s image %s" $N .Image}}{{printf "%s created %s" $N .Created}}'
  _q=$_q'{{printf "%s error %s" $N .State.Error}}{{printf "%s exit_code %d" $N .State.ExitCode}}'
  _q=$_q'{{printf "%s network %s" $N .HostConfig.NetworkMode}}'
  _q=$_q'{{printf "%s restart %s" $N .HostConfig.RestartPolicy.Name}}'
  _q=$_q'{{printf "%s service %s" $N (index .Config.Labels "com.docker.compose.service")}}'
  _q=$_q'{{if .State.Health}}{{printf "%s health %s" $N .State.Health.Status}}{{end}}'
  _q=$_q'{{range $p, $b := .NetworkSettings.Ports}}{{if not $b}}{{printf "%s port %s 0 " $N $p}}'
  _q=$_q'{{end}}{{range $b}}{{printf "%s port %s %s %s" $N $p .HostPort .HostIP}}{{end}}{{end}}'
  _q=$_q'{{range $p, $b := .HostConfig.PortBindings}}{{range $b}}'
  _q=$_q'{{printf "%s binding %s %s %s" $N $p .HostPort .HostIP}}{{end}}{{end}}'
  _q=$_q'{{range .Mounts}}{{printf "%s mount %s" $N .Destination}}'
  _q=$_q'{{printf "%s source %s" $N (or .Name .Source)}}{{end}}'
  _q=$_q'{{printf "%s argument %s" $N .Path}}{{range .Args}}{{printf "%s argument %s" $N .}}{{end}}'
  _q=$_q'{{range .Config.Env}}{{printf "%s variable %s" $N .}}{{end}}{{printf "%s end " $N}}'
  _r='{{$N := "\n@'$_N'"}}'$_q
}

_cut() { # text of words -> _a the first, _b the rest
  _a=${1%% *} _b=''
  case $1 in *' '*) _b=${1#* } ;; esac
}

_port() { # kind, key, "8765/tcp 18765 127.0.0.1"
  _cut "$3"
  _w=${_a%/*}
  _cut "$_b"
  _x=${_a:-0}
  _enc "$_b"
  _out "$1" "$2" "=$_w" "=$_x" "$_r"
}

_container_env() { # key
  for _x in $_pnames; do _asked_var "$1" "$_x" public; done
  for _x in $_snames; do _asked_var "$1" "$_x" secret; done
}

_asked_var() { # key, name, public|secret: from _env, each variable after "\n@NONCE "
  case $_env in
    *"$_NL@$_N $2="*) _v=${_env#*"$_NL@$_N $2="} && _var "$1" "$2" "$3" "${_v%%"$_NL@$_N "*}" ;;
    *) _out var "$1" "=$2" =unset ;;
  esac
}

_piece() { # key, name, text: one piece of what inspect says
  case $2 in
    port | binding) _port "$2" "$1" "$3" ;;
    mount) _mount=$3 ;;
    source)
      _enc "$_mount"
      _a=$_r
      _enc "$3"
      _out mount "$1" "$_a" "$_r" ;;
    argument)
      case $3 in *"$_NL"*) _q=$(printf %s "$3" | tr '\n' '\001') ;; *) _q=$3 ;; esac
      _args=$_args$_q$_NL ;;
    variable) _env="$_env$_NL@$_N $3" ;;
    *)
      _enc "$3"
      _out field "$1" "=$2" "$_r" ;;
  esac
}

_inspected() { # key: all pieces in _ans
  _m=0
  while :; do
    case $_ans in *"$_NL@$_N "*) _ans=${_ans#*"$_NL@$_N "} ;; *) return 0 ;; esac
    _piece=${_ans%%"$_NL@$_N "*}
    case $_piece in
      name\ *) _m=$((_m + 1)) _args='' _env='' ;;
      end\ *)
        _env="$_env$_NL@$_N "
        _container_env "$1.$_m"
        _ifs1=$IFS IFS=$_NL
        set -f
        _flag_values "$1.$_m"
        set +f
        IFS=$_ifs1 _env='' _v=''
        continue ;;
    esac
    _piece "$1.$_m" "${_piece%% *}" "${_piece#* }"
  done
}

ask_containers() { # key, compose project, public flags, secret flags, public names, secret names
  _client=$(command -v docker) || _client=$(command -v podman) ||
    { _unseen containers 'neither docker nor podman is here'; return 0; }
  _find_timeout
  _pflags=$3 _sflags=$4 _pnames=$5 _snames=$6
  _table=$(_limited "$_client" ps -aq --no-trunc \
    --filter "label=com.docker.compose.project=$2" 2>&1)
  case $? in
    0) ;;
    124) _unseen containers "${_client##*/} ps: no answer within $_SECONDS s"; return 0 ;;
    *) _unseen containers "${_client##*/} ps: ${_table:-no reason given}"; return 0 ;;
  esac
  _keyed=$1
  # shellcheck disable=SC2086
  set -- $_table
  if [ $# -gt 200 ]; then _unseen containers 'more than 200 containers'; return 0; fi
  _template
  if [ $# -gt 0 ]; then
    _ans=$(_limited "$_client" inspect --type container --format "$_r" "$@" 2>/dev/null && printf x) ||
      { _unseen containers "${_client##*/} inspect failed"; return 0; }
    _inspected "$_keyed"
    _ans=''
  fi
  _out containers "$_keyed"
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
