#!/usr/bin/env bash
# What action.yml runs, as root: action.sh PROGRAM.json TESTS PORTS "PTF-ARGUMENTS". The switch's ports 1 to PORTS are
# veth pairs in a network namespace that ends with this script; PTF has the other ends as 0-1, 0-2, ... $LOGS: the
# folder where the switch's log, and PTF's log and capture, stay.
set -euo pipefail
program=${1:?usage: action.sh PROGRAM.json TESTS PORTS PTF-ARGUMENTS}
tests=${2:?no folder of tests}
ports=${3:-4}
read -ra arguments <<<"${4:-}"
if [ -z "${PTF_IN_NAMESPACE:-}" ]; then
    exec env PTF_IN_NAMESPACE=1 unshare --net --pid --fork --kill-child "$0" "$@"
fi
[ -f "$program" ] || { echo "action.sh: there is no program $program" >&2; exit 2; }
[ -d "$tests" ] || { echo "action.sh: there is no folder $tests" >&2; exit 2; }
if [ -n "${LOGS:-}" ]; then
    folder=$LOGS
    [ -d "$folder" ] || { echo "action.sh: there is no folder $folder for logs" >&2; exit 2; }
else
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
fi
ip link set lo up
unset http_proxy https_proxy grpc_proxy all_proxy HTTPS_PROXY HTTP_PROXY ALL_PROXY # none is in the namespace
interfaces=() devices=()
for port in $(seq "$ports"); do
    ip link add "sw$port" type veth peer name "ptf$port"
    for name in "sw$port" "ptf$port"; do
        echo 1 >"/proc/sys/net/ipv6/conf/$name/disable_ipv6" 2>/dev/null || true
        ip link set "$name" up
    done
    interfaces+=(-i "$port@sw$port")
    devices+=(-i "0-$port@ptf$port")
done
softswitch "$program" --device-id 1 --grpc-server-addr 127.0.0.1:9559 "${interfaces[@]}" >"$folder/switch.log" 2>&1 &
switch=$!
until grep -q listening "$folder/switch.log"; do
    kill -0 "$switch" 2>/dev/null || { cat "$folder/switch.log" >&2; exit 1; }
    sleep 0.1
done
status=0
tests=$(realpath "$tests")
cd "$folder" # ptf's log and capture are there
ptf --test-dir "$tests" "${devices[@]}" "${arguments[@]}" || status=$?
kill "$switch"
wait "$switch" || true
exit "$status"
