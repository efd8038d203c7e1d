#!/usr/bin/env bash
# Sets up what the project needs, and nothing that is there already: Debian or Ubuntu packages (as root), and the
# locked Python packages in a virtual environment. Called by the Makefile: setup.sh VENV
set -euo pipefail
venv=${1:?usage: setup.sh VENV}
python=${PYTHON:-python3}

declare -A package=([cc]=gcc [ip]=iproute2 [ethtool]=ethtool [mnexec]=mininet [tshark]=tshark [sysctl]=procps [setpriv]=util-linux ["$python"]=python3)
# What only tests need, and can do without elsewhere, is there in CI.
[ -n "${CI:-}" ] && package+=([chromium]=chromium [ping]=iputils-ping)
missing=()
for command in "${!package[@]}"; do
    command -v "$command" >/dev/null || missing+=("${package[$command]}")
done
[ -e /usr/include/stdio.h ] || missing+=(libc6-dev)
[ -e /usr/include/linux/if_packet.h ] || missing+=(linux-libc-dev)
"$python" -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
# One dependency of ptf comes as source.
"$python" -c 'import pathlib, sys, sysconfig; sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' \
    2>/dev/null || missing+=(python3-dev)

if [ ${#missing[@]} -gt 0 ]; then
    install="apt-get install -y --no-install-recommends ${missing[*]}"
    if ! command -v apt-get >/dev/null; then
        echo "setup: missing: ${missing[*]}. This is neither Debian nor Ubuntu: install them by your system's own means" >&2
        exit 1
    elif [ "$(id -u)" != 0 ]; then
        echo "setup: missing: ${missing[*]}. Install them as root: $install" >&2
        exit 1
    fi
    echo "setup: installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp -t pcn-lab-setup.XXXXXX)
    { apt-get update -qq && $install -qq; } >"$log" 2>&1 || {
        tail -n 5 "$log" >&2
        echo "setup: apt-get failed, its whole output is in $log" >&2
        exit 1
    }
    rm "$log"
fi

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || {
    echo "setup: $("$python" --version) is too old, 3.10 or later is needed: make PYTHON=/path/to/python3" >&2
    exit 1
}
echo "setup: Python packages into $venv"
"$python" -m venv "$venv"
# What comes as source is built by the locked setuptools: --require-hashes doesn't reach the tools that pip would fetch.
install=("$venv/bin/pip" install -qq --disable-pip-version-check --no-build-isolation --use-pep517)
"${install[@]}" --require-hashes -r <(awk '/^[^ ]/ { on = /^setuptools==/ } on' requirements.lock)
"${install[@]}" --require-hashes -r requirements.lock
# By a path: the finder that setuptools installs otherwise takes 14 of the 24 ms of every start of Python.
"${install[@]}" --no-deps --config-settings editable_mode=compat --editable .
