# Files and folders that a plan brings one after the other are brought together: starting programs for
# each of them is most of what it costs. Folders are made before the files: none needs one of them.

# --- folders -------------------------------------------------------------------------------------

# folder N PATH MODE: a program that an earlier step ran may have made it; then it is not undone.
folder() {
  awaited=$((awaited + 1))
  eval "fn_$awaited=\$1 fp_$awaited=\$2 fm_$awaited=\$3"
  [ "$awaited" -lt 64 ] || make_folders
}

make_folders() {
  [ "$awaited" -gt 0 ] || return 0
  last=$awaited awaited=0 i=0 frames='' names=''
  while [ "$i" -lt "$last" ]; do
    i=$((i + 1))
    eval "N=\$fn_$i place=\$fp_$i access=\$fm_$i"
    frames="$frames$MARK done $N
"
    begin_folder
  done
  make_named
  printf '%s' "$frames" >&3
}

begin_folder() {
  printf '%s\n' "$N" 2>/dev/null >>"$STATE/journal/at" || fail journal
  if [ -d "$place" ] && [ ! -h "$place" ]; then
    about there
    return 0
  fi
  same - "$place"
  [ -z "$names" ] || [ "$access" = "$alike" ] || make_named
  alike=$access names="$names \"\$fp_$i\""
}

# Those of one mode, each behind the one it lies in.
make_named() {
  [ -n "$names" ] || return 0
  eval "try mkdir -m \"\$alike\"$names" || {
    last=$i i=0 place=/
    while [ "$i" -lt "$last" ] && [ -d "$place" ]; do
      i=$((i + 1))
      eval "N=\$fn_$i place=\$fp_$i"
    done
    fail place
  }
  names=''
}

# --- files ---------------------------------------------------------------------------------------

# bring N EXPECTED PATH NEW OLD MODE SUM CONTENT [TIME]: as `put`, where PATH is to be nothing or a
# file, and OLD is not kept for good. It waits for the next step that is something else.
bring() {
  waiting=$((waiting + 1))
  eval "bn_$waiting=\$1 be_$waiting=\$2 bp_$waiting=\$3 bx_$waiting=\$4 bo_$waiting=\$5
    bm_$waiting=\$6 bs_$waiting=\$7 bc_$waiting=\$8 bt_$waiting=\${9:-} br_$waiting=''"
  [ "$waiting" -lt 64 ] || settle
}

# each FUNCTION [FROM]: calls it for each that is brought, or for those from FROM on.
each() {
  i=${2:-1}
  while [ "$i" -le "$brought" ]; do
    nth "$i"
    "$1"
    i=$((i + 1))
  done
}

nth() {
  eval "N=\$bn_$1 expected=\$be_$1 place=\$bp_$1 new=\$bx_$1 old=\$bo_$1
    access=\$bm_$1 wanted=f\$bs_$1 content=\$bc_$1 stamp=\$bt_$1 row=\$br_$1"
}

settle() {
  make_folders
  [ "$waiting" -gt 0 ] || return 0
  brought=$waiting waiting=0 told='' names='' rows=0 renamed=0
  each number_it
  printf '%s' "$told" 2>/dev/null >>"$STATE/journal/at" || fail journal
  # Each is told before it is written, and 0 when all of them are.
  told=$(each write_it 2>/dev/null && printf ' 0')
  told=${told##* }
  if [ "$told" != 0 ]; then
    nth "${told:-1}"
    unwritten "$new"
  fi
  each stamp_it
  each name_new
  each name_old
  sums "$names" "$rows"
  each judge_it
  # One program is cheaper than two for each; with one file, or where perl is not, it is these.
  [ "$brought" -lt 2 ] || rename_all
  each place_it $((renamed + 1))
}

number_it() {
  told="$told$N
"
}

write_it() {
  printf ' %s' "$i"
  umask 077
  "$content" >"$new" || exit
}

stamp_it() { [ -z "$stamp" ] || TZ=UTC0 try touch -t "$stamp" "$new" || fail write; }

name_new() { named bx; }

name_old() {
  case $expected in f*) if [ -f "$place" ] && [ ! -h "$place" ]; then
    named bp
    eval "br_$i=$rows"
  fi ;; esac
}

named() {
  rows=$((rows + 1))
  names="$names \"\$$1_$i\""
}

# What lies there is what the plan expects, and what lies beside is what is to come.
judge_it() {
  right "$expected" "$place" "$row" || fail changed
  right "$wanted" "$new" "$i" || unwritten "$new"
}

place_it() {
  [ "$access" = 600 ] || try chmod "$access" "$new" || fail write
  replace "$place" "$new" "$old" "$wanted"
}

# What `place_it` does with three programs, of all of them with one. It tells how many it placed, and
# stops before the first that it cannot: that one goes the other way, which says why. What is read
# comes by stdin, as others may see the arguments of a process.
RENAMES='
$/ = "\0";
chomp(my @given = <STDIN>);
my $placed = 0;
if (open my $at, ">>", shift) {
  while (@given) {
    my ($n, $mode, $new, $path, $old, $sum) = splice @given, 0, 6;
    chmod(oct $mode, $new) or last;
    $old eq "" or link($path, $old) or last;
    my $line = "$n $sum\n";
    (syswrite($at, $line) || 0) == length $line or exit 1;
    if (!rename $new, $path) {
      unlink $old if $old ne "";
      last;
    }
    $placed++;
  }
}
print "placed $placed\n";
'

rename_all() {
  command -v perl >/dev/null 2>&1 || return 0
  names=''
  each hand_over
  told=$(eval "printf '%s\\000'$names" | PERL5OPT='' perl -C0 -e "$RENAMES" "$STATE/journal/at" 2>/dev/null)
  case $told in
  'placed '[0-9]*)
    renamed=${told#placed } told=''
    each tell_it
    [ -z "$told" ] || printf '%s' "$told" >&3
    ;;
  # It may have ended anywhere. Where it was not even begun, nothing is lost.
  *) each untouched ;;
  esac
}

hand_over() {
  names="$names \"\$bn_$i\" \"\$bm_$i\" \"\$bx_$i\" \"\$bp_$i\" \"\$bo_$i\" \"f\$bs_$i\""
}

tell_it() {
  [ "$i" -gt "$renamed" ] || told="$told$MARK done $N
"
}

untouched() {
  [ -f "$new" ] && { [ -z "$old" ] || [ ! -e "$old" ]; } && return 0
  err='perl ended in the middle of it'
  fail place
}
