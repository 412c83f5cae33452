#!/bin/sh
# In the guest: runs a command with the stub HCA's module beside rxe0, then takes both devices away,
# so that the kernel reports what was left behind.
insmod /run/bin/stub_hca.ko || exit 1
"$@"
status=$?
rmmod stub_hca && rdma link delete rxe0 || status=1
exit $status
