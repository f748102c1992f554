# An image with pi, a palace of its own, and the bridge between them; it passes its own check.
#
#   docker build -f devbox.Dockerfile -t pi-devbox:ci .
#
# The build's folder holds the toolkit as `toolkit/`, and nothing else is taken from it.
ARG BASE=node:22-bookworm
FROM ${BASE}
ARG PI=@earendil-works/pi-coding-agent@1.6.0
ARG PALACE=mempalace==3.11.*

RUN apt-get update \
 && apt-get install -y --no-install-recommends git openssh-client python3 python3-venv rsync tmux \
 && rm -rf /var/lib/apt/lists/*

RUN npm install --global --prefix /usr/local "$PI" && npm cache clean --force

# uv is what pi asks for, and brings the palace's programs onto the PATH of everybody.
RUN python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir uv \
 && ln -s /opt/uv/bin/uv /usr/local/bin/uv \
 && UV_TOOL_DIR=/opt/tools UV_TOOL_BIN_DIR=/usr/local/bin uv tool install --no-cache \
    --python /usr/bin/python3 "$PALACE"

COPY toolkit/ /opt/mempalace-toolkit/
RUN ln -s /opt/mempalace-toolkit/bin/mempalace-pi-session /usr/local/bin/mempalace-pi-session

# Whose home pi finds its extensions in. The link is what an update of the toolkit goes through.
RUN useradd --create-home --shell /bin/bash dev
USER dev
RUN mkdir -p ~/.pi/agent/extensions \
 && ln -s /opt/mempalace-toolkit/extensions/pi/mempalace.ts ~/.pi/agent/extensions/mempalace.ts
WORKDIR /home/dev
CMD ["pi"]
