#!/usr/bin/env python3
"""Runs every ```sh block of a document, in order, in one shell that stops at the first failure.

The test command is left out: .ci/run has run it. The folders that the tour makes are removed first.
"""

import re
import shutil
import subprocess
import sys

text = open(sys.argv[1], encoding="utf-8").read()
blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
blocks = [block for block in blocks if "cargo test" not in block]
if not blocks:
    sys.exit("no sh blocks found")
for folder in ("out", "tour"):
    shutil.rmtree(folder, ignore_errors=True)
script = "set -euxo pipefail\n" + "\n".join(blocks)
sys.exit(subprocess.run(["bash", "-c", script], stdin=subprocess.DEVNULL).returncode)
