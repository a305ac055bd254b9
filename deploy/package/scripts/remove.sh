#!/bin/sh
# Before the files are removed. Not at an upgrade: dpkg calls it with "upgrade" then, rpm with 1.
set -eu
case "${1:-}" in
remove | 0) ;;
*) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl disable --now bellhop-broker.service bellhop-host.service
fi
