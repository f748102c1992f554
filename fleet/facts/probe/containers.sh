# Containers of compose projects; needs launches.sh and running.sh.

# --- containers, as the engine's client on this machine tells them ---------------------------


_template() { # -> _r: every piece begins with a line feed, "@", the nonce, a blank and its name
  _q='{{printf "%s name %s" $N .Name}}{{printf "%s state %s" $N .State.Status}}'
  _q=$_q'{{printf "%s image %s" $N .Image}}{{printf "%s created %s" $N .Created}}'
  _q=$_q'{{printf "%s error %s" $N .State.Error}}{{printf "%s exit_code %d" $N .State.ExitCode}}'
  _q=$_q'{{printf "%s image_name %s" $N .Config.Image}}'
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

_image_now() { # key: the identity that the name of the image has today
  [ -n "$_image" ] || return 0
  _r=$(_limited "$_client" image inspect --format '{{.Id}}' "$_image" 2>/dev/null) || return 0
  _enc "$_r"
  _out field "$1" =image_now "$_r"
}

_baked() { # key: the secret variables that its image itself holds a value of, by place and name
  [ -n "$_made_of" ] || return 0
  _told=$(_limited "$_client" image inspect --format \
    '{{range .Config.Env}}{{println .}}{{end}}' "$_made_of" 2>/dev/null) || return 0
  _said=$(_limited "$_client" history --no-trunc --format '{{.CreatedBy}}' "$_made_of" \
    2>/dev/null) || return 0
  for _x in $_snames; do
    case $_NL$_told in *"$_NL$_x="[!"$_NL"]*) _out baked "$1" =env "=$_x" ;; esac
    case " $_said" in
      *[!A-Za-z0-9_]"$_x="[!\ \"\'\$"$_NL"]* | *[!A-Za-z0-9_]"$_x="[\"\'][!\"\'\$]*)
        _out baked "$1" =history "=$_x" ;;
    esac
  done
  _told='' _said=''
  _out field "$1" =searched =yes
}

_inspected() { # key: all pieces in _ans
  _m=0
  while :; do
    case $_ans in *"$_NL@$_N "*) _ans=${_ans#*"$_NL@$_N "} ;; *) return 0 ;; esac
    _piece=${_ans%%"$_NL@$_N "*}
    case $_piece in
      name\ *) _m=$((_m + 1)) _args='' _env='' _image='' _made_of='' ;;
      image\ *) _made_of=${_piece#* } ;;
      image_name\ *) _image=${_piece#* } ;;
      end\ *)
        _env="$_env$_NL@$_N "
        _container_env "$1.$_m"
        _ifs1=$IFS IFS=$_NL
        set -f
        _flag_values "$1.$_m"
        set +f
        IFS=$_ifs1 _env='' _v=''
        _digest "$_args"
        [ -z "$_args" ] || _out command "$1.$_m" "$_r"
        _image_now "$1.$_m"
        _baked "$1.$_m"
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
