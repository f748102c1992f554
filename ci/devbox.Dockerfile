# Images with pi that pass their own checks: `slim` has no memory; `full`, the one that is built
# where no target is named, has a palace's client, a palace of its own, and the bridge between them.
#
#   docker build -f devbox.Dockerfile -t pi-devbox:ci .
#   docker build -f devbox.Dockerfile --target slim -t pi-devbox:slim .
#
# The build's folder holds the toolkit as `toolkit/`, and nothing else is taken from it.
ARG BASE=node:22-bookworm
FROM ${BASE} AS slim
ARG PI=@earendil-works/pi-coding-agent@1.6.0

RUN apt-get update \
 && apt-get install -y --no-install-recommends git openssh-client tmux \
 && rm -rf /var/lib/apt/lists/*

RUN npm install --global --prefix /usr/local "$PI" && npm cache clean --force

# uv is what pi asks for; in `full` it brings the palace's programs onto the PATH of everybody.
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && python3 -m venv /opt/uv && /opt/uv/bin/pip install --no-cache-dir uv \
 && ln -s /opt/uv/bin/uv /usr/local/bin/uv

# What the entry point exports, every bash exports too: an interactive one by bash.bashrc, any
# other by BASH_ENV, and login shells by /etc/profile.d.
COPY toolkit/devbox/ /usr/local/lib/devbox/
COPY toolkit/pi/settings.example.json /usr/local/share/pi/settings.json
RUN ln -s /usr/local/lib/devbox/env.sh /etc/profile.d/devbox.sh \
 && echo '. /usr/local/lib/devbox/env.sh' >> /etc/bash.bashrc
ENV BASH_ENV=/usr/local/lib/devbox/env.sh

# Whose home pi finds its settings in. The folders are there so that volumes on them are that user's.
RUN useradd --create-home --shell /bin/bash dev
USER dev
RUN mkdir -p ~/.pi/agent/sessions ~/.local/state \
 && cp /usr/local/share/pi/settings.json ~/.pi/agent/settings.json
WORKDIR /home/dev
ENTRYPOINT ["/usr/local/lib/devbox/entry"]
CMD ["pi"]

FROM slim AS full
ARG PALACE=mempalace==3.11.*
USER root
RUN apt-get update && apt-get install -y --no-install-recommends rsync \
 && rm -rf /var/lib/apt/lists/*
RUN UV_TOOL_DIR=/opt/tools UV_TOOL_BIN_DIR=/usr/local/bin uv tool install --no-cache \
    --python /usr/bin/python3 "$PALACE"

# Named, or an upgrade may look for the palace elsewhere, and not on the volume that keeps it.
ENV MEMPALACE_PALACE_PATH=/home/dev/.mempalace/palace
COPY toolkit/ /opt/mempalace-toolkit/
RUN ln -s /opt/mempalace-toolkit/bin/* /usr/local/bin/

# The link is what an update of the toolkit goes through.
USER dev
RUN mkdir -p ~/.pi/agent/extensions ~/.mempalace \
 && ln -s /opt/mempalace-toolkit/extensions/pi/mempalace.ts ~/.pi/agent/extensions/mempalace.ts
