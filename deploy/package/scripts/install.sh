#!/bin/sh
# After the files: users, and the secrets that do not exist yet. dpkg calls it with "configure", rpm with 1 or 2.
set -eu
case "${1:-}" in
configure | 1 | 2) ;;
*) exit 0 ;;
esac

systemd-sysusers bellhop.conf

# secret FILE GROUP COMMAND… writes the output of the command, which only root and the group can read.
secret() {
	file=$1 group=$2
	shift 2
	[ -e "$file" ] && return
	(umask 077 && "$@" >"$file.new")
	chown "root:$group" "$file.new"
	chmod 640 "$file.new"
	mv "$file.new" "$file"
}
password() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
secret /etc/bellhop/keyset bellhop /usr/bin/bellhop keys generate
secret /etc/bellhop/host-password bellhop-host password
chown root:bellhop /etc/bellhop/broker.env
chown root:bellhop-host /etc/bellhop/host.env /etc/bellhop/host.yaml

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart bellhop-broker.service bellhop-host.service
fi
