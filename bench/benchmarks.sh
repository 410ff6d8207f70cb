#!/bin/sh
# Makes BENCHMARKS.md: sh bench/benchmarks.sh > BENCHMARKS.md
#
# Every table is quoted as its command printed it. With REPEAT=3 DOCUMENTS=500000 it took 22 minutes on two
# cores, of which nothing else should be using any. Corpora are kept in $TMPDIR, the largest with several
# times its 4 GB of text. What the corpora of ../shared and the peers are missing for is left out, and said
# to be.
set -eu
cd "$(dirname "$0")/.."
repeat=${REPEAT:-5}
documents=${DOCUMENTS:-1000000}
cargo build --release --quiet -p twinfold-cli -p twinfold-bench
bench=target/release/twinfold-bench

run() {
    printf '\n```sh\n%s\n```\n\n' "$(echo "$*" | sed 's|^target/release/twinfold-bench|cargo run --release -p twinfold-bench --|')"
    "$@"
}

cat <<END
# Benchmarks

Made by \`REPEAT=$repeat DOCUMENTS=$documents sh bench/benchmarks.sh > BENCHMARKS.md\` at commit $(git rev-parse --short HEAD) with $(rustc --version | cut -d' ' -f1-2), on $(nproc) cores
of $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1). The machine is shared: only ratios within a table mean something. What each
table is held against is below it, met or not.

\`debian_pages\` are 25,000 pages of documentation, a fifth of them not ASCII; \`debian_blocks\` 150,000
paragraphs of them; \`licences\` 37,000 licence texts. Generated corpora have a tenth of near-duplicates.

## Every pair at the price of a sketch

LSH of 20 x 5 finds most pairs, and of 8 x 8 what its recall says: the last columns. The lossless
generator finds all. Targets: lossless / 20x5 at most 0.8; lossless / 8x8 at most 1.0 on most; the whole
run at most 2.5 times its floor, 1.8 on the generated corpus; two threads at most 0.6 of the time of one;
twice the documents at most 2.2 times the time.
END
run $bench ratios --repeat "$repeat" --documents "$documents"
cat <<END

## Corpora that bring other tools down

Near-linear: all / half at most about 2.2.
END
run $bench hard --repeat 3
cat <<END

## More text than memory

The peak at most 1.1 times the bound, and the same bytes.
END
run $bench memory
cat <<END

## Other tools

On the same text in the same run. Targets: rensa at least 12 times as long, datasketch 30.
END
run python3 bench/peers.py --repeat 3 --peers rensa,datasketch
