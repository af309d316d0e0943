#!/bin/sh
# Sees to the system packages that the tests need: a browser and a database server.
set -eu
missing=""
command -v "${CHROMIUM:-chromium}" >/dev/null 2>&1 || missing="$missing chromium"
[ -n "${PG_BIN:-}" ] || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || missing="$missing postgresql"
[ -n "$missing" ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq
    # shellcheck disable=SC2086  # a list of packages
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing fonts-dejavu-core >/dev/null
else
    echo "quorate: the tests need system packages that are not installed (Debian's names:$missing); install them first" >&2
    exit 1
fi
