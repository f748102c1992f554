"""Programs that are killed, or that fail, before they change something for the nth time."""

from pathlib import Path

from support.bench import Bench

CHANGING = ("mv", "ln", "cp", "rm", "chmod", "mkdir", "rmdir", "touch")
_SHIM = """#!/bin/dash
read -r n <"{count}"
n=$((n + 1))
echo "$n" >"{count}"
[ "$n" -ne "{number}" ] || kill -9 0
exec "{real}" "$@"
"""
_PERL = '#!/bin/dash\nexec /usr/bin/perl -I"{folder}" -MCut "$@"\n'
_CUT = """package Cut;
my ($counted, $number) = ("{count}", {number});
sub before {{
  my $what = shift;
  open my $in, "<", $counted; my $n = <$in> + 1; close $in;
  open my $out, ">", $counted; print $out "$n\\n"; close $out;
  if ($n == $number) {{ {act}; }}
  1;
}}
BEGIN {{
  *CORE::GLOBAL::rename = sub {{ before("rename") && CORE::rename($_[0], $_[1]) }};
  *CORE::GLOBAL::link = sub {{ before("link") && CORE::link($_[0], $_[1]) }};
  *CORE::GLOBAL::chmod = sub {{ before("chmod") && CORE::chmod($_[0], $_[1]) }};
  *CORE::GLOBAL::syswrite = sub {{ before("syswrite") && CORE::syswrite($_[0], $_[1]) }};
}}
1;
"""


def cut_at(bench: Bench, folder: Path, number: int) -> None:
    """Let the whole session be killed before its ``number``th change, be it one of perl's."""
    for name in CHANGING:
        _write(folder / name, _SHIM, folder, number=str(number), real=f"/bin/{name}")
    perl_at(bench, folder, number, "kill KILL => 0")


def perl_at(bench: Bench, folder: Path, number: int, act: str) -> None:
    """Let perl do ``act``, a statement of its own, before its ``number``th change, ``$what``."""
    (folder / "count").write_text("0\n")
    _write(folder / "perl", _PERL, folder)
    (folder / "Cut.pm").write_text(
        _CUT.format(count=folder / "count", number=number, act=act), encoding="utf-8"
    )
    bench.path = f"{folder}:/usr/bin:/bin"


def without_perl(folder: Path) -> None:
    """Let perl be a program that cannot be run."""
    _write(folder / "perl", "#!/bin/dash\nexit 127\n", folder)


def counted(folder: Path) -> int:
    """Return how many changes were begun."""
    return int((folder / "count").read_text())


def _write(file: Path, text: str, folder: Path, **more: str) -> None:
    file.write_text(text.format(count=folder / "count", folder=folder, **more))
    file.chmod(0o755)
