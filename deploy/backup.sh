#!/bin/sh
# Copies the SQLite store into ./backups, audits the copy, and then deletes copies that are older than 14 days. If the
# copy or its audit fails, no copy is deleted. Run it in the folder that the server was started in, as its user.
#
#   backup.sh [the tollgate command] [days]
set -eu
umask 077
tollgate=${1:-/opt/tollgate/bin/tollgate.js}
days=${2:-14}

mkdir -p backups
copy="backups/$(date -u +%Y-%m-%dT%H%M%SZ).db"
"$tollgate" backup "$copy"
DATABASE_URL="sqlite:$copy" "$tollgate" audit
find backups -name '*.db' -mtime "+$days" -exec rm {} +
