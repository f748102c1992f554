# Paths: followed hop by hop, then stat, hashes and contents of all of them at once.

# --- paths ---------------------------------------------------------------------------------

_link_is() { # link, its target: remembered
  _links=$((_links + 1))
  eval "_lp_$_links=\$1 _lt_$_links=\$2"
}

_readlinks() { # file names quoted for eval, their number (_fp_1.. in turn): all by one program
  # The last line has to hold something, or a shell drops the end of the one before.
  if [ -L /proc/self/exe ]; then _r=$(eval "exec readlink$1 /proc/self/exe" 2>/dev/null) || return 0
  else _r=$(eval "readlink$1" 2>/dev/null && printf x) || return 0; fi
  # A target of several lines, or some readlink that takes one name: each is read by itself later.
  case $_NL$_r in *"$_NL$_NL"*) return 0 ;; esac
  _lines "$_r" $(($2 + 1)) _ft || return 0
  _j=0
  while [ $_j -lt "$2" ]; do
    _j=$((_j + 1))
    eval "_link_is \"\$_fp_$_j\" \"\$_ft_$_j\""
  done
}

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
  _link_is "$1" "$_t"
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
  case $_t in *"$_NL"*) _shaky=1 ;; esac
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

_passed() { # the folder _cur was reached, and none of its names is a link
  case $_plain in *"$_NL$_cur$_NL"*) return 0 ;; esac
  case $_cur in *"$_NL"*) return 0 ;; esac
  _plain=$_plain$_cur$_NL
}

_walk() { # key, absolute path -> _state _at _why _cur; one record for every link on the way
  _cur=${2%/*} _hops=0 _seen=$_NL
  # What was walked before, and led through no link, is not walked again.
  while :; do
    case $_plain in *"$_NL$_cur$_NL"*) break ;; esac
    case $_cur in */*) _cur=${_cur%/*} ;; *) _cur='' ;; esac
  done
  _rest=${2#"$_cur"}
  _outer=${#_rest}
  case $2 in *"$_NL"*) _shaky=1 ;; esac
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
    _p=$_cur/$_c _names=$_names$_cur/$_c$_NL
    if [ -L "$_p" ]; then
      _follow "$1" || :
    elif ! [ -e "$_p" ]; then
      _missing
    elif [ -n "$_rest" ] && ! [ -d "$_p" ]; then
      _missing
      _why='it is not a folder'
    else
      _cur=$_p
      [ -z "$_rest" ] || _passed
    fi
  done
  _cur=${_cur:-/}
}

_reading() { # read: a final that is there, and may be looked at, but not read
  case $1 in
    s) return 0 ;;
    l | n) [ -d "$_cur" ] || return 0
      [ -r "$_cur" ] && [ -x "$_cur" ] && return 0 ;;
    *) ! [ -f "$_cur" ] || [ -r "$_cur" ] && return 0 ;;
  esac
  _stop unreadable "$_cur" 'permission denied: this user may not read it'
}

_closed() { # key: folders that matter to a change of _asked, and that may not be written in; _shut=1
  case $_state in
    absent) _x=$_cur _y=$_cur ;;
    present) _x=${_asked%/*} _y=${_cur%/*} ;;
    *) _x=${_asked%/*} _y=$_x ;;
  esac
  _shut=0
  for _q in "${_x:-/}" "${_y:-/}"; do
    case $_open in *"$_NL$_q$_NL"*) continue ;; esac
    if ! [ -d "$_q" ] || [ -w "$_q" ]; then
      case $_q in *"$_NL"*) ;; *) _open=$_open$_q$_NL ;; esac
      continue
    fi
    _enc "$_q"
    _out closed "$1" "$_r"
    _shut=1
  done
}

_absolute() { # path -> _asked
  case $1 in
    '~') _asked=$_HOME ;;
    '~/'*) _asked=${_HOME%/}/${1#'~/'} ;;
    *) _asked=$1 ;;
  esac
}

_plainly_absent() { # key: nothing more is to be said of it than where it ends, told with others
  case $_state$_shut$_hops$_why in absent00) ;; *) return 1 ;; esac
  case $_asked in *[!\ -~]*) return 1 ;; "$_at"*) ;; *) return 1 ;; esac
  _gone="$_gone $1 $((${#_asked} - ${#_at}))"
}

_tell_gone() { # of each its key, and how much of its path was not reached
  [ -n "$_gone" ] || return 0
  _out absent "=${_gone# }"
  _gone=''
}

_see_link() { # link: read together with others
  _fn=$((_fn + 1)) _fl="$_fl \"\$_fp_$_fn\""
  eval "_fp_$_fn=\$1"
}

ask_paths() { # key, read, limit, path, public names of each path; what ask_path takes
  _see_links "$@"
  while [ $# -ge 5 ]; do
    ask_path "$1" "$2" "$3" "$4" "$5" p
    shift 5
  done
}

_see_links() { # as ask_paths: reads the links that paths end with, which nearly all links do
  while [ $# -ge 5 ]; do
    _absolute "$4"
    ! [ -L "$_asked" ] || _see_link "$_asked"
    shift 5
  done
  [ $_fn -lt 2 ] || _readlinks "$_fl" $_fn
  _fn=0 _fl=''
}

ask_path() { # key, read (s h p w l i j n e), limit, path, public names for j and e, p for a question
  _absolute "$4"
  _walk "$1" "$_asked"
  _closed "$1"
  if [ -n "${6-}" ] && _plainly_absent "$1"; then return 0; fi
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

_ls_line() { # file -> _r: mode uid size mtime inode owner, as ls and date tell
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
  _r="$_r $3 $_sz ${_mt:--} - $_ow"
}

_stat() { # file names, quoted for eval; in a subshell, which ends with it
  case $_family in
    gnu) eval "exec stat -c '%a %u %s %Y %i %U' $1" 2>/dev/null ;;
    bsd) eval "exec stat -f '%Mp%Lp %u %z %m %i %Su' $1" 2>/dev/null ;;
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
    [ $_q != directory ] || _names=$_names$_fi$_NL _ends=$_ends$_fi$_NL
    _md=${_l%% *} _l=${_l#* } _ui=${_l%% *} _l=${_l#* } _sz=${_l%% *} _l=${_l#* }
    _mt=${_l%% *} _l=${_l#* } _ino=${_l%% *} _ow=${_l#* }
    eval "_size_$_j=\${_sz:-0} _kind_$_j=\$_q"
    _opt "$_md" && _a=$_r && _opt "$_ui" && _b=$_r && _opt "$_sz" && _c=$_r
    _opt "${_mt#-}" && _d=$_r && _opt "${_ino#-}" && _i=$_r && _opt "$_ow"
    _out stat "$_ke" "=$_q" "$_a" "$_b" "$_c" "$_d" "$_r" "$_i"
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
    case $_ki in file[eijhpw]) ;; *) continue ;; esac
    if [ "$_sz" -gt "$_lm" ]; then
      _note "$_ke" present "larger than $_lm bytes: not read"
      eval "_rd_$_j=t\$_rd_$_j"
      continue
    fi
    case $_ki in
      filee) eval "_env_ahead \"\$_f_$_j\" $_sz \"\$_pub_$_j\"" && continue ;;
      file[ij]) continue ;;
    esac
    _sn=$((_sn + 1)) _sl="$_sl \"\$_f_$_j\""
    eval "_at_$_sn=$_j"
  done
  if [ $_sn -gt 0 ] || [ $_vn -gt 1 ]; then
    ! _with_foreseen || return 0
  fi
  _vn=0
  [ $_sn -gt 0 ] || return 0
  _hasher
  [ "$_sha" != none ] || return 0
  ! _r=$(eval "_sha256$_sl" 2>/dev/null) || _summed "$_r" $_sn
}

_with_foreseen() { # with the values whose digests will be wanted, and with nothing, which shows what
  # the tool is worth
  case $_sha in '' | sha256sum) ;; *) return 1 ;; esac
  _hash_foreseen "$_sl" || return 1
  _vn=0
  _summed "$_q" $_sn
}

_summed() { # lines of a tool, their expected number -> _sum_1..
  if _lines "$1" "$2" _ln; then
    _j=0
    while [ $_j -lt $_sn ]; do
      _j=$((_j + 1))
      eval "_hash_of \"\$_ln_$_j\"; _q=\$_at_$_j"
      eval "_sum_$_q=\$_h"
    done
  fi
}

_content() { # number: the hash of one file; its bytes are sent later when they are wanted
  eval "_fi=\$_f_$1 _ke=\$_key_$1 _ki=\$_rd_$1 _h=\$_sum_$1 _sz=\$_size_$1"
  if [ "$_sha" = none ]; then _note "$_ke" unsupported 'no tool for sha256 on this machine'; return 0; fi
  [ -n "$_h" ] || _hash_of "$(_sha256 2>/dev/null <"$_fi")"
  if [ -z "$_h" ]; then _note "$_ke" unreadable 'it could not be read'; return 0; fi
  _out sum "$_ke" "=$_h"
  [ "$_ki" = w ] || return 0
  case $_KNOWN in *" $_h "*) return 0 ;; esac
  _KNOWN="$_KNOWN$_h "
  [ $((_wt + _sz)) -le 1048576 ] || _send
  _wn=$((_wn + 1)) _wt=$((_wt + _sz)) _wh="$_wh $_h" _ws="$_ws $_sz" _wl="$_wl \"\$_f_$1\""
}

_send() { # the wanted bytes of several files, one after the other: one program packs them all
  [ $_wn -gt 0 ] || return 0
  _flush
  _n=$((_n + 1))
  printf '%s' "@fleet$_TAB$_N$_TAB$_n${_TAB}data$_TAB=${_wh# }$_TAB"
  if [ "${_pack:-w}" != w ] || ! _sent; then
    _packing
    eval "cat$_wl" 2>/dev/null | _packed 2>/dev/null
  fi
  printf '%s\n' "$_TAB=${_ws# }$_TAB."
  _wn=0 _wt=0 _wh='' _ws='' _wl=''
}

_sent() { # by the base64 that is usual; 1 where it is another, and "!" says that the field begins anew
  printf b
  case $_wn in
    1) eval "base64 -w0 2>/dev/null <$_wl" && _pack=w && return 0 ;;
    *) eval "cat$_wl 2>/dev/null | base64 -w0 2>/dev/null" && _pack=w && return 0 ;;
  esac
  printf !
  return 1
}

_pem() { # key, file: its certificates; a key beside them does not travel
  _q='-----BEGIN [A-Z0-9]* \{0,1\}CERTIFICATE-----'
  _r=$(tr -d '\r' <"$2" 2>/dev/null | sed -n "/^$_q\$/,/^-----/p" | _packed)
  _out pem "$1" "$_r"
}

_ini() { # key, file: the names of its sections, and nothing that stands in them
  _r=$(tr -d '\r' <"$2" 2>/dev/null | sed -n 's/^[[:space:]]*\[\([^]]*\)].*/\1/p' | head -n 501 | _packed)
  _out ini "$1" "$_r"
}

_entry() { # key, path of the entry
  _t='' _d==0
  if [ -L "$2" ]; then
    _c==link _names=$_names$2$_NL
    case $2 in *"$_NL"*) _shaky=1 ;; esac
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
  _tell_gone
  if [ $_k = 0 ]; then _waiting; return 0; fi
  _stat_out
  _sums
  _waiting
  _z=0 _wn=0 _wt=0 _wh='' _ws='' _wl=''
  while [ $_z -lt $_k ]; do
    _z=$((_z + 1))
    eval "_fi=\$_f_$_z _ke=\$_key_$_z _ki=\$_kind_$_z\$_rd_$_z _pu=\$_pub_$_z _lm=\$_lim_$_z"
    case $_ki in
      fileh | filew) _content $_z ;;
      filep)
        _content $_z
        _pem "$_ke" "$_fi" ;;
      filei) _ini "$_ke" "$_fi" ;;
      filee)
        eval "_sz=\$_size_$_z"
        _env "$_ke" "$_fi" "$_pu" "$_sz" ;;
      filej) _json "$_ke" "$_fi" "$_pu" ;;
      filete) _out env "$_ke" =0 - =0 =1 ;;
      directoryn) _notes "$_ke" "$_fi" "$_lm" ;;
      directoryl)
        _entries "$_ke" "$_fi"
        if [ -w "$_fi" ]; then _q==1; else _q==0; fi
        _out may "$_ke" "$_q" ;;
    esac
  done
  _send
  _k=0 _list=''
}
