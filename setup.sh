#!/usr/bin/env bash
# Sets up what the project needs, and nothing that is there already: Debian or Ubuntu packages (as root), and the
# locked Python packages in a virtual environment. Called by the Makefile: setup.sh VENV [tests]; LOCK: another lock than
# requirements.lock.
set -euo pipefail
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin # a user's has no ethtool and sysctl on Debian
venv=${1:?usage: setup.sh VENV [tests]}
python=${PYTHON:-python3}
lock=${LOCK:-requirements.lock}

# By command, the package that has it.
declare -A package=([cc]=gcc [ip]=iproute2 [ethtool]=ethtool [mnexec]=mininet [sysctl]=procps [setpriv]=util-linux ["$python"]=python3)
if [ "${2:-}" = tests ]; then
    package+=([ping]=iputils-ping [tshark]=tshark [openssl]=openssl [zsh]=zsh [fish]=fish [git]=git)
    browser=chromium
    grep -qs '^ID=ubuntu' /etc/os-release && browser=chromium-browser
    command -v chromium-browser google-chrome >/dev/null || package+=([chromium]=$browser)
fi
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
"${install[@]}" --require-hashes -r <(sh release/part.sh "$lock" setuptools)
"${install[@]}" --require-hashes -r "$lock"
"${install[@]}" --no-deps --editable .
"$venv/bin/python" lint/messages.py # stubs, for type checkers
