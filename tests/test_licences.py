"""What the installed product loads is what it declares, and docs/choices.md has its licences."""

import json
import re
import subprocess
import sys
from pathlib import Path

from distributions import PROJECT, canonical, closure

from pcn.topologies import extras

ROOT = Path(__file__).resolve().parent.parent
LOAD = """
import importlib, json, pkgutil, sys
from importlib import metadata
owners = metadata.packages_distributions()  # before setuptools adds its own copies of others to the path
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
loaded = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps({name: owners.get(name, []) for name in loaded}))
"""  # noqa: E501


def test_product_loads_nothing_that_only_tests_need():
    words = [sys.executable, "-c", LOAD, "pcn"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = json.loads(done.stdout)
    assert {"mininet", "arro3", "pcn"} <= set(loaded), "all was loaded"
    assert not {"finsy", "pyarrow", "scapy"} & loaded.keys()
    owners = {canonical(owner) for owners in loaded.values() for owner in owners}
    by_anyio = {"sniffio"}  # which loads it where it is installed, here for ptf
    assert owners - by_anyio <= {PROJECT, *closure(extras.MODULES)}


def test_page_lists_licences_of_all_that_is_installed():
    page = (ROOT / "docs/choices.md").read_text()
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \|$",
        page[page.index("| licence |") :].split("\n\n")[0],
        re.MULTILINE,
    )
    listed = {
        canonical(name)
        for _, cell in rows
        for name in re.findall(r"[\w.-]+", re.sub(r"\(.*?\)", "", cell))
    }
    assert closure(extras.MODULES) <= listed
