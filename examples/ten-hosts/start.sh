#!/usr/bin/env bash
# Starts agent hosts on this machine and registers them: start.sh COUNT DIRECTORY. The broker's database and keyset
# are in BELLHOP_DATABASE_URL and BELLHOP_KEYSET_FILE. Each host's process id is in DIRECTORY/hostN/pid.
set -euo pipefail
count=$1 directory=$2

for n in $(seq "$count"); do
	own=$directory/host$n
	mkdir -p "$own"
	(umask 077 && bellhop keys generate >"$own/password") # any long random line
	BELLHOP_HOST_LISTEN=127.0.0.1:0 BELLHOP_HOST_DATA=$own/data BELLHOP_HOST_PASSWORD_FILE=$own/password \
		bellhop host >"$own/log" 2>&1 &
	echo $! >"$own/pid"
done

for n in $(seq "$count"); do
	own=$directory/host$n
	until url=$(grep -o 'agent host listens" url=.*' "$own/log" | cut -d= -f2); do
		kill -0 "$(cat "$own/pid")" || { cat "$own/log" >&2; exit 1; }
		sleep 0.2
	done
	BELLHOP_HOST_PASSWORD_FILE=$own/password bellhop hosts add --name "host$n" --url "$url"
done
