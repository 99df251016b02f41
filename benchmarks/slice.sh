#!/usr/bin/env bash
# A slice of the reproductions on a GPU machine without a network, with the kits that kit.py packed under carry/:
#
#     bash benchmarks/slice.sh basins LIMIT [OUT]    the audited runs of Basins; PROTOCOL=published for the others
#     bash benchmarks/slice.sh texts LIMIT [OUT]     few votes with fine-tuned encoders, then Basins with the time that is left
#
# It ends half a minute before LIMIT (seconds) and leaves archives of new runs in OUT. A kit may come in several slices:
# Basins goes on while the parts of the other arrive. Stores are kept in the machine's own temporary folder.
set -u
export PYTHONUNBUFFERED=1
what=$1 limit=$2 out=${3:-${OUT:-carry/home}}
tmp=${TMPDIR:-/tmp}
cd "$(dirname "$0")/.."

kit() { python3 benchmarks/kit.py unpack "carry/$1" >"$tmp/env-$1"; }
reproduce() { python3 -m dissensus reproduce "$1" --runs-only --budget "$left"s "${@:2}"; }

basins() {
  left=$((limit - 30 - SECONDS))
  [ "$left" -gt 75 ] || return  # a run, its look and the start would not fit
  . "$tmp/env-basins"
  reproduce basins --protocol "${PROTOCOL:-audited}" --to-merge --store "$tmp/runs"
  echo "basins: exit code $? after $SECONDS s"
}

# Three processes share the GPU: small encoders, eight side by side in one of them, leave it idle for most of the time.
texts() {
  left=$((limit - 30 - SECONDS))
  . "$tmp/env-texts"
  nvidia-cuda-mps-control -d >/dev/null 2>&1 </dev/null || echo "no MPS: processes take turns on the GPU"
  made=()
  for part in snli mnli alpha; do
    reproduce soft-labels --protocol "chaosnli-$part-fine-tuned" --only votes --width 8 --store "$tmp/texts" \
      >"$tmp/$part.log" 2>&1 &
    made+=($!)
  done
  wait "${made[@]}"
  echo quit | nvidia-cuda-mps-control >/dev/null 2>&1
  tail -n 5 "$tmp"/{snli,mnli,alpha}.log
  echo "texts: after $SECONDS s"
}

[ -e carry/texts/kit ] && { kit texts || [ "$what" != texts ] || exit 9; }
kit basins || [ "$what" = texts ] || exit 9
[ "$what" = texts ] && texts
[ -s "$tmp/env-basins" ] && basins
stores=()
for store in runs texts; do [ -d "$tmp/$store" ] && stores+=("$tmp/$store"); done
[ ${#stores[@]} -eq 0 ] && exit
. "$tmp/env-$what"
python3 benchmarks/kit.py take "${stores[@]}" --out "$out"
