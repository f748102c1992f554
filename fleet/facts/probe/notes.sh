# A folder of notes, read as fleet/facts/notes.py reads it; a test holds the two equal. Of each note
# its size, its lines, the notes it links to and the numbers of the patterns in it; never its text.

note_patterns() { # extended regular expressions
  _np=0
  for _q do
    _np=$((_np + 1))
    eval "_np_$_np=\$_q"
  done
}

_unread() { # path, why
  _enc "${1#"$_w/"}"
  _a=$_r
  _enc "$2"
  _out unread "$_nk" "$_a" "$_r"
}

_notes() { # key, folder, limit
  _nk=$1 _w=${2%/} _lm=$3 _m=0 _all=0
  set --
  for _x in "$_w"/*/ "$_w"/*/*/; do
    _x=${_x%/}
    if ! [ -d "$_x" ] || { [ -r "$_x" ] && [ -x "$_x" ]; }; then continue; fi
    _unread "$_x" 'permission denied: this user may not look into it'
  done
  for _x in "$_w"/*.md "$_w"/*/*.md "$_w"/*/*/*.md; do
    if [ -d "$_x" ]; then continue; fi
    if ! [ -f "$_x" ]; then
      ! [ -L "$_x" ] || _unread "$_x" 'a link that leads nowhere'
      continue
    fi
    _m=$((_m + 1))
    if [ $_m -gt 1000 ]; then _note "$_nk" present 'more than 1000 notes: the rest was not read'; break; fi
    case $_x in *"$_NL"*) _unread "$_x" 'a name of several lines: not read'; continue ;; esac
    if ! [ -r "$_x" ]; then _unread "$_x" 'permission denied: this user may not read it'; continue; fi
    set -- "$@" "$_x"
    [ $# -lt 100 ] || { _some_notes "$@"; set --; }
  done
  [ $# -eq 0 ] || _some_notes "$@"
  _out pages "$_nk"
}

_some_notes() { # notes that this user may read
  _r=$(wc -c "$@" 2>/dev/null)
  set --
  _o=$IFS IFS=$_NL
  set -f
  for _l in $_r; do
    IFS=$_o
    while :; do case $_l in ' '*) _l=${_l# } ;; *) break ;; esac; done
    _sz=${_l%% *} _x=${_l#* }
    case $_x in /*) ;; *) continue ;; esac
    _enc "${_x#"$_w/"}"
    _out page "$_nk" "$_r" "=$_sz"
    if [ "$_sz" -gt "$_lm" ]; then
      _unread "$_x" "larger than $_lm bytes: not read"
    elif [ $((_all + _sz)) -gt 16777216 ]; then
      _unread "$_x" 'all notes together are larger than 16777216 bytes: not read'
    else
      _all=$((_all + _sz))
      set -- "$@" "$_x"
    fi
  done
  IFS=$_o
  set +f
  [ $# -gt 0 ] || return 0
  if [ "$(cat "$@" | wc -c)" = "$(cat "$@" | tr -d '\000' | wc -c)" ]; then
    _text_notes "$@"
    return 0
  fi
  _i=$#
  while [ $_i -gt 0 ]; do
    _i=$((_i - 1)) _x=$1
    shift
    if [ "$(wc -c <"$_x")" = "$(tr -d '\000' <"$_x" | wc -c)" ]; then
      set -- "$@" "$_x"
    else
      _unread "$_x" 'no text: not read'
    fi
  done
  [ $# -eq 0 ] || _text_notes "$@"
}

_text_notes() { # notes that are text, and not too large
  _o=$IFS
  _r=$(grep -c '' "$@" /dev/null 2>/dev/null)
  _named=rows
  _tell_notes
  _i=0
  while [ $_i -lt $_np ]; do
    _i=$((_i + 1))
    eval "_q=\$_np_$_i"
    _r=$(grep -lE -e "$_q" "$@" 2>/dev/null) && _named=hit && _tell_notes
  done
  _r=$(grep -lF -e '](' "$@" 2>/dev/null) && _named=ref && _tell_notes
  return 0
}

_tell_notes() { # a record for each line of _r
  IFS=$_NL
  set -f
  for _l in $_r; do
    IFS=$_o
    case $_named in
      rows)
        _x=${_l%:*}
        [ "$_x" != /dev/null ] || continue
        _enc "${_x#"$_w/"}"
        _out rows "$_nk" "$_r" "=${_l##*:}" ;;
      hit)
        _enc "${_l#"$_w/"}"
        _out hit "$_nk" "$_r" "=$_i" ;;
      ref) _refs ;;
    esac
  done
  IFS=$_o
  set +f
}

_refs() { # the note _l: what stands between "](" and ")" and names a note
  _enc "${_l#"$_w/"}"
  _a=$_r
  _q='[^()<>:?# '$_TAB$(printf '\r')']\{0,252\}\.md'
  _r=$(tr -d '\001' <"$_l" | sed "s/](/\\$_NL$_SOH/g" |
    sed -n "s/^$_SOH\\($_q\\)).*\$/\\1/p" | head -n 500)
  IFS=$_NL
  for _t in $_r; do
    IFS=$_o
    _enc "$_t"
    _out ref "$_nk" "$_a" "$_r"
  done
  IFS=$_o
}
