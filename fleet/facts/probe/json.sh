# JSON files, read as fleet/facts/jsonshape.py reads them; a test holds the two equal.

_json_rules() { # one token a line: strings with the ":" of a key, and what is between them
  _SO=$(printf '\002') # stands for a line feed of the file
  _BL="[ $_TAB$(printf '\r')$_SO]*"
  _STR='"([^"\\]|\\[^'$_SO'])*"'
  _COM="//[^$_SO$(printf '\r')]*|/[*]([^*]|[*]+[^*/])*[*]+/"
  _PLAIN="[][{},0-9.eE+aflnrstu $_TAB$(printf '\r')$_SO-]*"
  _ID='[A-Za-z_][A-Za-z0-9_]*'
  _SHOW="s~^//.*~//~
s~^/[*].*~/**/~
/^\//b
/^\"/!{
/}/{
x
s/.*//
x
}
b
}
/:\$/{
h
b
}
/^\"(Bearer )?([\$][{](env:|input:)?$_ID[}]|[{]env:$_ID[}]|[{]file:[A-Za-z0-9_.\/~-]+[}])\"\$/{
x
s/.*//
x
b
}
G
x
s/.*//
x
"
  _MASK="s/\\n.*//
s/^\"//
s/\"\$//
s/\\\\./x/g
s/[^!\${} ]/x/g
s/^.*\$/\"&\"/
"
}

_json() { # key, file, public names
  [ -n "${_STR-}" ] || _json_rules
  _q=$(printf %s "$3" | tr -s ' ' '|')
  _q=${_q#|} _q=${_q%|}
  if [ "$(tr -d '\000\001\002' <"$2" | wc -c)" != "$(wc -c <"$2")" ]; then
    _note "$1" present 'it is no plain JSON: not told'
    return 0
  fi
  _toks=$(tr '\n' '\002' <"$2" | sed -E "s~$_STR($_BL:)?|$_COM~$_SOH&$_SOH~g" | tr '\001' '\n' && printf .)
  _toks=${_toks%.}
  if printf '%s\n' "$_toks" | grep -Evq "^($_STR($_BL:)?|$_COM|$_PLAIN)\$"; then
    _note "$1" present 'it is no plain JSON: not told'
    return 0
  fi
  _r=$(
    printf '%s\n' "$_toks" |
      sed -E "$_SHOW/^[^@?=]*\\n\"(${_q:-.^})\"$_BL:\$/{
s/\\n.*//
b
}
$_MASK" | tr -d '\n' | tr '\002' '\n' | _packed
  )
  _out json "$1" "$_r"
}
