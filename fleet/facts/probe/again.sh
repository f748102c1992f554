# Asked again: this shell stays, and tells anew only what may be other than it was. That nothing of
# what lies at paths changed is told by what every change leaves behind: the state of each name that
# was looked at is compared, all of it. What launches report is heard anew, and compared as well.

_state_of() { # names in _names -> _t: the state of those there are, one a line; _m: how many. Of a folder
  # that is only passed neither size nor times: what is in it is told by what was looked for there. _r: all.
  _ifs=$IFS IFS=$_NL
  _noglob
  # shellcheck disable=SC2086
  set -- $_names
  # What stands before the name holds no colon: a user's name ends there in passwd.
  _r=$(exec stat -c '%f %s %Y %Z %d %i %u %g %U:%n' "$@" 2>/dev/null)
  _t='' _m=0
  for _l in $_r; do
    case $_l in
      4???\ *)
        case $_NL$_ends in
          *"$_NL${_l#*:}$_NL"*) ;;
          *) _l="${_l%% *} ${_l#* * * * }" ;;
        esac ;;
    esac
    _t=$_t$_l$_NL _m=$((_m + 1))
  done
  _glob
  IFS=$_ifs
}

_rights_to() { # names in _felt -> _s: what stands under them for this user, which state alone does not tell
  _s='' _ifs=$IFS IFS=$_NL
  _noglob
  # shellcheck disable=SC2086
  set -- $_felt
  _glob
  IFS=$_ifs
  for _x do
    _s=$_s.
    ! [ -w "$_x" ] || _s=${_s}w
    ! [ -x "$_x" ] || _s=${_s}x
    if [ -f "$_x" ]; then _s=${_s}f; elif [ -e "$_x" ]; then _s=${_s}e; fi
  done
}

_feel() { # -> _felt: names that may lead elsewhere, be written in, or be run; _there: how many there are
  _felt='' _there=0 _ifs=$IFS IFS=$_NL
  _noglob
  # shellcheck disable=SC2086
  set -- $_names
  _glob
  IFS=$_ifs
  for _x do
    if [ -L "$_x" ]; then :
    elif [ -d "$_x" ] || [ -x "$_x" ]; then :
    else
      ! [ -e "$_x" ] || _there=$((_there + 1))
      continue
    fi
    _there=$((_there + 1)) _felt=$_felt$_x$_NL
  done
}

_moved() { # whether one of the folders in _busy may have come into its place as recently as it changed:
  # then the folder above it changed as well. Names within a folder come and go without that.
  _ifs=$IFS IFS=$_NL
  _noglob
  # shellcheck disable=SC2086
  set -- $_busy
  _glob
  IFS=$_ifs
  for _x do
    [ "$_x" != / ] || continue
    _x=${_x%/*}
    case $_NL$_names in *"$_NL${_x:-/}$_NL"*) ;; *) return 0 ;; esac
    case $_busy in *"$_NL${_x:-/}$_NL"*) return 0 ;; esac
  done
  return 1
}

_rests() { # whether all that is there is told, and nothing of it changed in the minute before _since, so
  # that what was read is what is there now
  [ $_m -eq "$_there" ] || return 1
  _busy=$_NL _ifs=$IFS IFS=$_NL
  _noglob
  # shellcheck disable=SC2086
  set -- $_r
  _glob
  IFS=$_ifs
  for _l do
    _q=${_l#* * * } _q=${_q%% *}
    case $_q in '' | *[!0-9]*) return 1 ;; esac
    # What is written through a mapping changes the time when it is first written after it went to
    # the disk, which it does within half a minute.
    [ $((_q + 60)) -gt "$_since" ] || continue
    case $_l in 4???\ *) ;; *) return 1 ;; esac
    case $_NL$_ends in *"$_NL${_l#*:}$_NL"*) return 1 ;; esac
    _busy=$_busy${_l#*:}$_NL
  done
  ! _moved
}

_kept_here() { # whether no name lies where a change may leave nothing behind that is seen here
  [ -r /proc/self/mountinfo ] || return 1
  _m=$_NL$_names
  while read -r _q _q _q _q _x _q; do
    _q=${_q#*- }
    case ${_q%% *} in
      ext[234] | xfs | btrfs | zfs | f2fs | jfs | overlay | tmpfs | rootfs | squashfs | erofs) continue ;;
    esac
    case $_x in / | *\\*) return 1 ;; esac
    case $_m in *"$_NL$_x$_NL"* | *"$_NL$_x/"*) return 1 ;; esac
  done </proc/self/mountinfo
}

may_stay() { # before anything is looked at
  _since=$(date +%s 2>/dev/null) || _since=''
}

_seal() { # after it: what it is known by that nothing changed -> _t _s; 1 where it is not known
  case $_shaky$_rule in HOME) ;; *) return 1 ;; esac
  case $_since in '' | *[!0-9]*) return 1 ;; esac
  _feel
  _state_of
  _rights_to
  _rests && _kept_here
}

_same() { # whether it is as it was; launches run
  cd "$_here" 2>/dev/null || return 1
  _launched=''
  launches
  [ "$_launched" = "$_was" ] || return 1
  _state_of
  [ "$_t" = "$_was_state" ] || return 1
  _rights_to
  [ "$_s" = "$_were_rights" ]
}

_again() { # answer what is asked anew each time; 1 where something is other than it was
  _same || return 1
  _n=0 _buf=$_NL
  _out begin =fleet.answer/1
  _platform
  _user
  _tell_platform
  rest
  answer_end "$_stays"
}

stay() { # answer whoever asks again, for as long as all is as it was
  _stays="@stays$_TAB$_N$_NL"
  _seal || return 0
  _was=$_launched _was_state=$_t _were_rights=$_s _here=$PWD
  cd / || return 0 # it keeps nobody from letting go of the folder it began in
  printf %s "$_stays"
  while read -r _q && [ "$_q" = again ]; do
    (_again </dev/null) || return 0
  done
}
