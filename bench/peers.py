#!/usr/bin/env python3
"""Twinfold beside other tools, on the same JSON Lines file in the same run.

    python3 bench/peers.py [--input FILE.jsonl] [--repeat N] [--peers rensa,datasketch,datatrove]

Without --input: ../shared/data/debian_pages as JSON Lines where it is there, else a generated
corpus. The peers are installed from PyPI into target/peers; the program that runs them is
../shared/bench/peers_text.py, and without it only twinfold is run. Tools are run in turn, and the
median of their times counts: only ratios within one run mean anything.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
VENV = ROOT / "target" / "peers"
TWINFOLD = ROOT / "target" / "release" / "twinfold"


def sh(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


# What a peer needs beyond its own package.
EXTRAS = {"datatrove": ["datatrove[io,processing]", "spacy"]}


def install(peers):
    if not (VENV / "bin" / "python").exists():
        sh(sys.executable, "-m", "venv", VENV)
    sh(VENV / "bin" / "pip", "install", "--quiet", "pyarrow", "orjson",
       *[package for peer in peers for package in EXTRAS.get(peer, [peer])])


def corpus():
    path = ROOT / "target" / "peers-corpus.jsonl"
    if path.exists():
        return path
    pages = SHARED / "data" / "debian_pages" / "documents.parquet"
    if pages.exists():
        program = (
            "import json, sys, pyarrow.parquet as pq\n"
            "with open(sys.argv[2], 'w') as out:\n"
            "    for row in pq.read_table(sys.argv[1]).to_pylist():\n"
            "        out.write(json.dumps(row, ensure_ascii=False) + '\\n')\n"
        )
        sh(VENV / "bin" / "python", "-c", program, pages, path)
    else:
        with open(path, "w") as out:
            sh("cargo", "run", "--release", "-q", "-p", "twinfold-bench", "--", "generate", "50000", cwd=ROOT, stdout=out)
    return path


def run_peer(peer, path):
    script = SHARED / "bench" / "peers_text.py"
    start = time.time()
    done = subprocess.run(
        [str(VENV / "bin" / "python"), str(script), peer, str(path)],
        capture_output=True, text=True, cwd=ROOT / "target",
    )
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return float("nan"), f"failed: {reason}", time.time() - start
    result = json.loads(done.stdout.strip().splitlines()[-1])
    return result["seconds"], f"{result.get('clusters') or ''}", time.time() - start


def run_twinfold(arguments, path):
    out = ROOT / "target" / "peers-out"
    start = time.time()
    done = sh(
        TWINFOLD, "run", path, "--out", out, "--overwrite", "--progress", "never", "--json", *arguments,
        capture_output=True, text=True,
    )
    seconds = time.time() - start
    summary = json.loads(done.stdout)
    clusters = summary["counts"]["clusters"] + summary["counts"]["singletons"]
    recall = summary["recall"]["at_threshold"]
    return seconds, f"{clusters}, recall {recall:.3f} at the threshold", seconds


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--input", type=pathlib.Path)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--peers", default="rensa,datasketch,datatrove")
    chosen = arguments.parse_args()
    sh("cargo", "build", "--release", "-q", "-p", "twinfold-cli", cwd=ROOT)
    peers = [peer for peer in chosen.peers.split(",") if peer]
    if not (SHARED / "bench" / "peers_text.py").exists():
        print("the peers are left out: ../shared/bench/peers_text.py is not there")
        peers = []
    install(peers)
    path = chosen.input or corpus()
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB, {chosen.repeat} runs in turn")
    tools = [
        ("twinfold, default (lossless)", lambda: run_twinfold([], path)),
        ("twinfold, --candidates lsh (8x8)", lambda: run_twinfold(["--candidates", "lsh"], path)),
        ("twinfold, --target-recall 0.99", lambda: run_twinfold(["--target-recall", "0.99"], path)),
    ] + [(peer, lambda peer=peer: run_peer(peer, path)) for peer in peers]
    times = {name: [] for name, _ in tools}
    notes = {}
    for _ in range(chosen.repeat):
        for name, run in tools:
            seconds, note, _ = run()
            times[name].append(seconds)
            notes[name] = note
    base = statistics.median(times[tools[0][0]])
    print(f"{'tool':<32} {'seconds':>9} {'times twinfold':>15}  clusters")
    for name, _ in tools:
        median = statistics.median(times[name])
        print(f"{name:<32} {median:>9.2f} {median / base:>15.1f}  {notes[name]}")


if __name__ == "__main__":
    main()
