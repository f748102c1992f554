# Env files, read as fleet/facts/envfile.py reads them; a test holds the two equal.

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

_mask() { # text -> _r: a digit is 0, and a letter x, as is what is no ASCII
  _q=$1 _r=''
  while [ -n "$_q" ]; do
    case $_q in
      [0-9]*) _r=${_r}0 _q=${_q#?} ;;
      [A-Za-z]* | [!\ -~$_WS]*) _r=${_r}x _q=${_q#?} ;;
      *) _t=${_q%%[0-9A-Za-z]*} _t=${_t%%[!\ -~$_WS]*}
        _r=$_r$_t _q=${_q#"$_t"} ;;
    esac
  done
}

_masked() { # file -> _em, the same of all its text, which is dear for a short one
  _em=$(tr '0-9A-Za-z\200-\377' '0000000000x' 2>/dev/null <"$1" && printf x)
  _em=${_em%x}
}

_env_line() { # key, number, line, the same masked or nothing, public names
  _q=${3#"${3%%[!$_WS]*}"} _nm=''
  _d1=- _d2=- _d3=- _b==1 _kept='' _v=$3 _lm=$4
  case $_q in
    '') _b==0 ;;
    '#'*) ;;
    *) _name_of "${3#"${3%%[! $_TAB]*}"}" ;;
  esac
  if [ -z "$_nm" ]; then
    _v=$3
  else
    case $5 in
      *" $_nm "*) _b==0 ;;
      *)
        _values "$_v"
        _kept=${3%"$_v"} _lm=${4#*[=:]} ;;
    esac
  fi
  [ $_ahead = 0 ] || return 0
  if [ $_b = =0 ]; then
    _lm=$3
  elif [ -z "$4" ]; then
    _mask "$_v"
    _lm=$_r
  fi
  _enc "$_kept$_lm"
  _out line "$1" "=$2" "$_b" "$_r" "$_d1" "$_d2" "$_d3"
}

_env_ahead() { # file, size, public names: what of it will be digested, found out before files are hashed
  ! _short "$1" "$2" 2>/dev/null || _ahead=1
  while [ $_ahead = 1 ] && [ -n "$_ec" ]; do
    case $_ec in *"$_NL"*) ;; *) _ec=$_ec$_NL ;; esac
    _l=${_ec%%"$_NL"*} _ec=${_ec#*"$_NL"}
    _env_line '' 0 "$_l" "$_l" "$3"
  done
  _ahead=0
}

_short() { # file, size -> _ec: its text, read without a program; 1 where it is long, or no text
  _ec=''
  [ "$2" -le 2048 ] && [ -z "${ZSH_VERSION-}" ] || return 1 # zsh keeps a NUL, where others drop it
  while IFS= read -r _l; do _ec=$_ec$_l$_NL; done <"$1" || return 1
  _ec=$_ec$_l
  if [ ${#_ec} -ne "$2" ]; then return 1; fi
  case $_ec in *[$_CTL]*) return 1 ;; esac
}

_env() { # key, file, public names, size
  _em='' _m=$4
  if ! _short "$2" "$4" 2>/dev/null; then
    _m=2049
    _ec=$(tr '\000-\010\016-\037\177' '\005' 2>/dev/null <"$2" && printf x) ||
      { _note "$1" unreadable 'it could not be read'; return 0; }
    _ec=${_ec%x}
  fi
  _bo==0 _ln=0 _tr==0
  case $_ec in
    "$_BAD"GITCRYPT"$_BAD"*)
      case $(od -An -v -tx1 -N10 "$2" | tr -d ' \n') in
        00474954435259505400) _out env "$1" =0 =git-crypt =1 =0; return 0 ;;
      esac ;;
  esac
  case $_ec in *"$_BAD"*) _out env "$1" =0 - =1 =0; return 0 ;; esac
  [ "$_m" -le 512 ] || _masked "$2"
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
