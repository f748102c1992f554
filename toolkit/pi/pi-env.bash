# Export ~/.config/pi/.env into this shell, and so into every pi it launches.
# pi reads no dotenv file itself. Source this from ~/.bashrc:
#   . ~/mempalace-toolkit/pi/pi-env.bash

_pi_env_load() {
  local file="${HOME:-}/.config/pi/.env" restore=+a
  [ -r "$file" ] || return 0
  # A file that git-crypt still holds locked is not shell code.
  head -c 10 "$file" | LC_ALL=C grep -aq GITCRYPT && return 0
  case $- in *a*) restore=-a ;; esac
  set -a
  . "$file"
  set "$restore"
}
_pi_env_load
unset -f _pi_env_load
