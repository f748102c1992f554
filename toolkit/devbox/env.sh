# Sourced by the container's entry point and by its shells, so that `docker exec` sees what pi does.
# Each file in /run/secrets that is named as a variable gives it its value; what the container was
# started with, or a parent exported, counts before that.
for devbox_file in "${DEVBOX_SECRETS:-/run/secrets}"/*; do
  devbox_name=${devbox_file##*/}
  case $devbox_name in '' | [0-9]* | *[!A-Za-z0-9_]*) continue ;; esac
  { [ -f "$devbox_file" ] && [ -r "$devbox_file" ]; } || continue
  if eval "[ -z \"\${$devbox_name+x}\" ]"; then
    export "$devbox_name=$(cat "$devbox_file")"
  fi
done
unset devbox_file devbox_name
