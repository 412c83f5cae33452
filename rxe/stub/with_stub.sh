#!/bin/sh
# In the guest: runs a command with the stub HCA's module beside rxe0, then takes both devices away,
# so that the kernel reports what was left behind.
insmod /run/bin/stub_hca.ko || exit 1
"$@"
status=$?

# The processes that have a device open, those included whose first thread has ended already.
users() {
  ls -l /proc/[0-9]*/task/[0-9]*/fd 2>/dev/null |
    awk '/^\/proc/ { split($1, part, "/") } / -> \/dev\/infiniband\/uverbs/ { print part[3] }' |
    sort -u
}

# The kernel takes a device away only when no process has it open: without a look first, a process
# that a test has left behind would be noticed by nothing but a hang.
for _ in $(seq 30); do
  left=$(users)
  if [ -z "$left" ]; then break; fi
  sleep 1
done
for process in $left; do
  echo "process $process still has a device open: $(tr '\0' ' ' <"/proc/$process/cmdline")"
  cat "/proc/$process"/task/*/stack
  kill -9 "$process"
  status=1
done

remove() {
  timeout 120 "$@" && return
  echo "$* does not end, or fails"
  for stack in /proc/[0-9]*/stack; do
    if grep -q -e ib_ -e rxe_ "$stack"; then
      tr '\0' ' ' <"${stack%stack}cmdline"
      cat "$stack"
    fi
  done 2>/dev/null
  status=1
}
remove rmmod stub_hca
remove rdma link delete rxe0
exit $status
