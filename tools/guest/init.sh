#!/bin/busybox sh
# The guest's first process. It lives in the initial RAM file system, where starting a program costs
# little; only the command itself runs on the host's root, which is shared read-only under a RAM
# overlay.
set -a
. /guest.env
set +a

# From here on applets need no path.
/bin/busybox mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
# Without duplicate address detection an address, and with it its GID, is there at once.
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
for module in $(cat /modules.order); do insmod "/modules/$module"; done

port() {
  for p in /sys/class/virtio-ports/*; do
    read -r name <"$p/name"
    if [ "$name" = "$1" ]; then echo "/dev/${p##*/}"; fi
  done
}
exec 7>"$(port ctl)" 8>"$(port out)" 9>"$(port err)"

# The host ends the machine as soon as it has read what it waits for.
wait_for_end() {
  mkfifo /never
  read -r _ <>/never
}

fail() {
  echo "failed: $1" >&7
  wait_for_end
}

# cache=loose keeps pages between reads: what changes on the host meanwhile need not be seen.
share=trans=virtio,version=9p2000.L,msize=512000
mkdir /layer
mount -t 9p -o $share,cache=loose,ro host /host || fail "the host's root cannot be mounted"
mount -t tmpfs tmpfs /layer
mkdir /layer/upper /layer/work
layers=lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work
mount -t overlay -o $layers overlay /root || fail "the overlay cannot be mounted"
mkdir -p /root/proc /root/sys /root/dev /root/run "/root/lib/modules/$KERNEL" "/root$IBVERBS_OUT"
mount -t proc proc /root/proc
mount -t sysfs sys /root/sys
mount -t debugfs debugfs /root/sys/kernel/debug
mount -t devtmpfs dev /root/dev
mkdir -p /root/dev/pts /root/dev/shm
mount -t devpts devpts /root/dev/pts
mount -t tmpfs tmpfs /root/dev/shm
mount -t tmpfs tmpfs /root/run
mount -o bind "/root$MODULES" "/root/lib/modules/$KERNEL"
mount -t 9p -o $share,cache=mmap out "/root$IBVERBS_OUT" ||
  fail "the folder $IBVERBS_OUT cannot be mounted"
ln -sfn /proc/self/fd /root/dev/fd
ln -sfn /proc/self/fd/0 /root/dev/stdin
ln -sfn /proc/self/fd/1 /root/dev/stdout
ln -sfn /proc/self/fd/2 /root/dev/stderr
mkdir -p /root/run/bin "/root$HOME"
cp /deno /root/run/bin/
echo guest >/proc/sys/kernel/hostname

ip link set lo up
ip link set dummy0 up || fail "the dummy network device cannot be brought up"
chroot /root rdma link add rxe0 type rxe netdev dummy0 || fail "rxe0 cannot be made"
gids=/sys/class/infiniband/rxe0/ports/1/gids
settle() {
  for _ in $(seq 1000); do
    read -r gid <"$gids/$1"
    case $gid in $2) return ;; esac
    sleep 0.01
  done
  fail "GID $1 of rxe0 does not settle, it is $gid"
}
# A GID takes the first free place when its address comes: the order of these lines is the order of
# the table.
settle 0 "fe80:*"
ip addr add 10.0.0.1/24 dev dummy0
settle 1 "0000:0000:0000:0000:0000:ffff:0a00:0001"
ip addr add fd00::1/64 dev dummy0
settle 2 "fd00:*"

ulimit -l unlimited
mkfifo /out /err
cat </out >&8 &
out=$!
cat </err >&9 &
err=$!
cp /command.sh /root/run/
echo "guest: the command starts" >/dev/kmsg
echo ready >&7
(
  exec 7>&- 8>&- 9>&- </dev/null >/out 2>/err
  export PATH=/run/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  exec setsid chroot /root /bin/sh /run/command.sh
)
status=$?

# What the command left running would hold the pipes open. A kernel thread has no executable.
for p in /proc/[0-9]*; do
  case ${p#/proc/} in 1 | "$out" | "$err") continue ;; esac
  if [ -e "$p/exe" ]; then kill -9 "${p#/proc/}"; fi
done
wait "$out" "$err"
sync
# With the numbers the host knows when it has read everything.
sent() {
  port=$(port "$1")
  sed -n 's/^bytes_sent: //p' "/root/sys/kernel/debug/virtio-ports/${port#/dev/}"
}
echo "exit $status $(sent out) $(sent err)" >&7
dmesg >&7
echo end >&7
wait_for_end
