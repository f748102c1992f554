# A stage that fails the build of an image that cannot do its job.
#
#   docker build -f gate.Dockerfile --build-arg IMAGE=pi-devbox:ci -t pi-devbox:checked .
#
# In a Dockerfile of your own, take everything from `FROM … AS fleet` on, and name your last stage
# `devbox`. It needs BuildKit, which is what `docker build` and `docker compose build` use.
ARG IMAGE=pi-devbox:ci
ARG PYTHON=python:3.12-slim
FROM ${IMAGE} AS devbox

FROM ${PYTHON} AS fleet
# What pip installs: a release, or a wheel that lies in the build's folder (./mempalace_fleet-….whl).
ARG FLEET=mempalace-fleet
RUN --mount=type=bind,target=/context cd /context \
 && python3 -m venv /opt/fleet && /opt/fleet/bin/pip install --no-cache-dir "$FLEET"
# An unpacked file system names no user and no environment, so both are said here.
RUN --mount=type=bind,from=devbox,target=/devbox \
    /opt/fleet/bin/fleet check rootfs:/devbox \
    -e user=dev -e image_env=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    --system mempalace-bridge,pi --require feed,stamp \
    --format terminal --format json:/checked.json

FROM devbox
# Without this line nothing would need the stage above, and BuildKit would leave it out.
COPY --from=fleet /checked.json /usr/share/fleet/checked.json
