"""Ten files, in pyinfra's words."""

import os

from pyinfra.operations import files

for name in os.environ["BENCH_FILES"].split():
    files.put(name=name, src=name, dest=f"{os.environ['BENCH_FOLDER']}/{name}")
