# The entries of a lock for packages of these names, with their hashes: sh release/part.sh LOCK NAME...
lock=$1
shift
awk -v names="$*" '
    BEGIN { for (n = split(names, list, " "); n; n--) wanted[list[n]] }
    /^[^ ]/ { split($1, package, "=="); on = package[1] in wanted }
    on' "$lock"
