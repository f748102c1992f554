"""Whether the user who is asked may write in a folder is tried, not reckoned from its mode."""

from pathlib import Path

import pytest
from support.probing import NOBODY, Shell, need_root

from fleet.facts.request import Read


@pytest.mark.parametrize(("mode", "writable"), [(0o777, True), (0o755, False)])
def test_a_folder_that_is_listed_tells_if_it_may_be_written_in(
    shell: Shell, open_folder: Path, mode: int, writable: bool
) -> None:
    need_root()
    folder = open_folder / "agent"
    folder.mkdir()
    folder.chmod(mode)
    assert shell.path_fact(folder, Read.LIST, uid=NOBODY).writable is writable
    assert shell.path_fact(folder, Read.LIST).writable is True
    assert shell.path_fact(folder, Read.STAT).writable is None
