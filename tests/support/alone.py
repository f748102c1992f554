"""A machine of its own: the real probe sees what a test started, and nothing else that runs.

Processes of other tests may run on the same machine; where a gate asks for all of them, this one
has none but its own, and they end with the look.
"""

import subprocess

import pytest
from support.probing import NOBODY, Shell, need_root

_WORDS = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


def alone(*lines: str, path: str = "/usr/bin:/bin", hidden: bool = False) -> Shell:
    """Return a shell that asks after these lines of ``sh`` have run; else the test is skipped.

    Args:
        lines: what starts the processes; the shell asks when the last of them came back.
        path: the PATH of the probe.
        hidden: whether somebody asks who may not see the processes of others.
    """
    need_root()
    if subprocess.run([*_WORDS, "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here, so no processes of its own can be had")
    ask = "exec sh -s"
    if hidden:
        drop = f"--reuid={NOBODY} --regid={NOBODY} --clear-groups"
        # The first process stays root's, as that of every machine is.
        ask = f"mount -o remount,hidepid=2 /proc\nsetpriv {drop} sh -s\nexit"
    return Shell((*_WORDS, "sh", "-c", "\n".join(("set -e", *lines, ask))), path)
