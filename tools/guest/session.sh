# Second stage of the guest's first process, inside the overlay: brings up the devices, runs the command, reports, powers off.
set -a
. /run/guest.env
set +a
export PATH=/run/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p /dev/pts /dev/shm /run/bin "$HOME"
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t debugfs debugfs /sys/kernel/debug
ln -sfn /proc/self/fd /dev/fd
ln -sfn "$DENO" /run/bin/deno
ln -sfn /proc/self/fd/0 /dev/stdin
ln -sfn /proc/self/fd/1 /dev/stdout
ln -sfn /proc/self/fd/2 /dev/stderr
echo guest >/proc/sys/kernel/hostname

port() {
  for p in /sys/class/virtio-ports/*; do
    if [ "$(cat "$p/name")" = "$1" ]; then echo "/dev/${p##*/}"; fi
  done
}
exec 7>"$(port ctl)" 8>"$(port out)" 9>"$(port err)"

# The host ends the machine when it has read all; waiting must touch nothing of the shared root.
wait_for_end() {
  mkfifo /run/never
  read -r _ <>/run/never
}

fail() {
  echo "fail $1" >&7
  wait_for_end
}

ip link set lo up
modprobe -a rdma_rxe dummy ib_uverbs ib_umad rdma_ucm || fail "its kernel modules do not load"
# Without duplicate address detection the link-local address, and with it the first GID, is there at once.
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
ip link add d0 type dummy && ip link set d0 up || fail "the dummy network device cannot be made"
# The order matters: GIDs are listed in the order in which the addresses came, link-local first.
rdma link add rxe0 type rxe netdev d0 || fail "rxe0 cannot be made"
gids=/sys/class/infiniband/rxe0/ports/1/gids
settled() {
  for _ in $(seq 500); do
    case "$(cat $gids/"$1" 2>/dev/null)" in $2) return 0 ;; esac
    sleep 0.02
  done
  fail "GID $1 of rxe0 does not settle: $(cat $gids/"$1")"
}
settled 0 "fe80:*"
ip addr add 10.0.0.1/24 dev d0
settled 1 "0000:0000:0000:0000:0000:ffff:0a00:0001"
ip addr add fd00::1/64 dev d0 nodad
settled 2 "fd00:*"
ulimit -l unlimited

mkfifo /run/out /run/err
# dd, not cat: it says how many bytes passed, so that the host knows when it has them all
LC_ALL=C dd bs=64k </run/out >&8 2>/run/out.count &
out=$!
LC_ALL=C dd bs=64k </run/err >&9 2>/run/err.count &
err=$!
echo ready >&7
(exec 7>&- 8>&- 9>&-; exec setsid bash /run/command.sh </dev/null >/run/out 2>/run/err)
status=$?

# What the command left running would hold the pipes open. A kernel thread has no executable.
for p in /proc/[0-9]*; do
  pid=${p##*/}
  case $pid in 1 | "$out" | "$err") continue ;; esac
  if readlink "$p/exe" >/dev/null; then kill -9 "$pid"; fi
done 2>/dev/null
wait "$out" "$err"
sync
count() { sed -n 's/ bytes.*//p' "/run/$1.count"; }
echo "exit $status $(count out) $(count err)" >&7
dmesg >&7
echo "end" >&7
wait_for_end
