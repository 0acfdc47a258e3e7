#!/bin/sh
# After an installation or an upgrade: a running service continues with the new program.
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
systemctl try-restart pickup.service || echo "pickup does not start again: systemctl status pickup says why" >&2
