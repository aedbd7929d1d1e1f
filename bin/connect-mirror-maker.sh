#!/bin/sh
# A drop-in for Kafka's script of the same name: connect-mirror-maker.sh [-daemon] mm2.properties [--clusters A B ...]
#
# Runs the connect-mirror-maker of the clone that this script lies in (.venv/bin), else the one on the PATH.

self=$0
while [ -L "$self" ]; do # called through a symbolic link
    link=$(readlink -- "$self")
    case $link in
        /*) self=$link ;;
        *) self=$(dirname -- "$self")/$link ;;
    esac
done
home=$(CDPATH='' cd -- "$(dirname -- "$self")/.." && pwd) || exit 3

if [ -x "$home/.venv/bin/connect-mirror-maker" ]; then
    command="$home/.venv/bin/connect-mirror-maker"
elif command -v connect-mirror-maker >/dev/null; then
    command=connect-mirror-maker
else
    echo "connect-mirror-maker is neither in $home/.venv/bin nor on the PATH: install sparkmirror (see README.md)." >&2
    exit 3
fi

if [ "${1:-}" = -daemon ]; then
    shift
    log=${LOG_DIR:-.}/connect-mirror-maker.out
    nohup "$command" "$@" >"$log" 2>&1 </dev/null &
    echo "connect-mirror-maker runs as process $!, its log is $log"
    exit 0
fi
exec "$command" "$@"
