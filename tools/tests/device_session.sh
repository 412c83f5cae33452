#!/bin/sh
# In the guest: runs the command given after the stub HCA's module with both devices present, then
# takes both away, so that the kernel reports what was left behind.
insmod "$1" || exit 1
shift
"$@"
status=$?
rmmod stub_hca && rdma link delete rxe0 || status=1
exit $status
