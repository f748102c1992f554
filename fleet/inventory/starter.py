"""What ``fleet init`` writes: a small inventory that loads as it is and explains itself."""

_FLEET = """\
# The fleet: which machines, containers and images there are, what is deployed
# on each, and what each must be able to do.
#
#   fleet inventory check     is this file right?
#   fleet inventory list      what does it come to?
#   fleet audit               can every deployed copy do its job?
#   fleet plan                what would `fleet apply` change?
#
# Only true and false are truth values: yes, no, 0123 and 8765:55 are texts.

# Variables for every target. A group, a group inside of it, a target and the
# command line (in this order) may set them anew. {{ name }} refers to another.
vars:
  toolkit: ~/mempalace-toolkit # where it lies on each machine
  # Let fleet put it there: its sample toolkit, or a folder of yours.
  # toolkit_source: builtin
  # The shared palace. Without the two, the palace of each machine is its own.
  # palace_url: https://palace.example.net/mcp
  # A secret is never written here, only where it is found:
  # palace_token: !secret env:PALACE_TOKEN
  # palace_token: !secret file:~/.config/palace.token
  # palace_token: !secret cmd:pass show palace/token

groups:
  workstations:
    # What is deployed and looked at, in this order; `fleet gates` lists all.
    systems: [mempalace-bridge]
    # What must be there, or the exit code says so: feed, stamp, mailbox, ...
    require: [feed]
    hosts:
      here:
        local: # this machine; a folder after it would be another home
        shell: bash -lc # how pi is launched, which decides what it sees
        vars: {device: here}
      # laptop:
      #   ssh: me@laptop.example.net # or a name from ~/.ssh/config
      #   shell: zsh -ic
      #   vars: {device: laptop}

  # palace:
  #   systems: [mempalace-serve]
  #   hosts:
  #     vault: {ssh: vault, become: true, vars: {bind: docker0}}

# Running containers, and images that are only read, never started.
# containers:
#   devbox: {container: pi-devbox, systems: [mempalace-bridge], require: [feed]}
# images:
#   devbox-image:
#     image: docker-daemon:pi-devbox:latest # or oci:DIR, oci-archive:FILE, ...
#     systems: [mempalace-bridge]
#     require: [feed, stamp]

# A gate of your own: a word that must stand in the code of an artifact.
# gates:
#   - id: bridge.mine
#     gives: mine
#     marker: {in: bridge, all: [MY_WORD]}
#     without: what it costs not to have it
#     remedy: what to do about it
"""


def starter() -> dict[str, str]:
    """Return the files of a new inventory folder: names and texts."""
    return {"fleet.yml": _FLEET}
