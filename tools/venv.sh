#!/bin/sh
# Makes .venv and installs quorate with one extra; names what is missing where it cannot.
set -eu
python=${PYTHON:-python3}

command -v "$python" >/dev/null 2>&1 || { echo "quorate: $python is not installed; Python 3.11 or newer is needed" >&2; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "quorate: $("$python" --version) is too old; Python 3.11 or newer is needed (make PYTHON=...)" >&2
    exit 1
}
if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt-get update -qq && apt-get install -y -qq python3-venv
    else
        echo "quorate: Python's venv module is missing; install your system's package for it (Debian: python3-venv)" >&2
        exit 1
    fi
fi
[ -x .venv/bin/python ] || "$python" -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$1]"
