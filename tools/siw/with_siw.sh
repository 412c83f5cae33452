#!/bin/sh
# In the guest: with_siw FOLDER COMMAND... runs a command with siw0, a soft-iWARP device on 10.9.0.1.
# FOLDER has the modules.
set -e
folder=$1
shift
modprobe crc32c_generic
insmod "$folder/libcrc32c.ko"
insmod "$folder/siw.ko"
ip link add dummy9 type dummy
ip address add 10.9.0.1/24 dev dummy9
ip link set dummy9 up
rdma link add siw0 type siw netdev dummy9
exec "$@"
