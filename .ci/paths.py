#!/usr/bin/env python3
"""Fails if a document links to or names a path of this repository that does not exist."""

import pathlib
import re
import sys

missing = []
for name in sys.argv[1:]:
    text = open(name, encoding="utf-8").read()
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    missing += [f"{name}: {link}" for link in links if not pathlib.Path(link).exists()]
print(f"{len(missing)} paths missing")
sys.exit("\n".join(missing) if missing else 0)
