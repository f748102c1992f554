"""What a program and all that it starts cost, and that nothing of it stays."""

import os
import sys
from pathlib import Path

from benchmarks.tree import run_whole

BURN = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"


def test_what_was_left_behind_is_ended_and_counted(tmp_path: Path) -> None:
    number = tmp_path / "pid"
    script = f"import time\n{BURN}open({str(number)!r}, 'w').write('1')\ntime.sleep(600)\n"
    starts = (
        "import os, subprocess, sys, time\n"
        f"left = subprocess.Popen([sys.executable, '-c', {script!r}], start_new_session=True)\n"
        f"while not os.path.exists({str(number)!r}): time.sleep(0.01)\n"
        "print(left.pid)\n"
    )
    whole = run_whole([sys.executable, "-c", starts], os.environ, seconds=60)
    assert (whole.code, whole.late) == (0, False)
    assert not Path(f"/proc/{int(whole.output)}").exists()
    assert whole.processor >= 0.3
    assert whole.wall < 60


def test_a_program_that_does_not_end_is_ended() -> None:
    whole = run_whole([sys.executable, "-c", "import time; time.sleep(600)"], {}, seconds=0.5)
    assert whole.late
    assert whole.code != 0


def test_memory_is_that_of_all_processes_together() -> None:
    holds = "held = b'x' * 40_000_000; import time; time.sleep(2)"
    both = (
        "import subprocess, sys\n"
        f"made = [subprocess.Popen([sys.executable, '-c', {holds!r}]) for _ in range(2)]\n"
        "[process.wait() for process in made]\n"
    )
    whole = run_whole([sys.executable, "-c", both], os.environ, seconds=60)
    assert whole.code == 0
    assert whole.peak > 80_000
