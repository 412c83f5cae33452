#!/bin/busybox sh
# The guest's first process. It lives in the initial RAM file system, where starting a program costs
# little; only the command itself runs on the host's root, which is shared read-only under a RAM
# overlay.
. /guest.env

# From here on applets need no path.
/bin/busybox mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
# Without duplicate address detection an address, and with it its GID, is there at once.
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad

port() {
  for p in /sys/class/virtio-ports/*; do
    read -r name <"$p/name"
    if [ "$name" = "$1" ]; then echo "/dev/${p##*/}"; fi
  done
}
for module in $(cat /modules.order); do insmod "/modules/$module"; done
exec 7<>"$(port ctl)" 8>"$(port out)" 9>"$(port err)"

# What the host shows its user when this takes long.
stage() {
  echo "stage $1" >&7
}

# The host ends the machine as soon as it has read what it waits for.
wait_for_end() {
  mkfifo /never
  read -r _ <>/never
}

fail() {
  echo "failed: $1" >&7
  wait_for_end
}

stage "mounting the host's files"
# cache=loose keeps pages between reads: what changes on the host meanwhile need not be seen.
how=trans=virtio,version=9p2000.L,msize=512000
mkdir /layer
mount -t 9p -o $how,cache=loose,ro host /host || fail "the host's root cannot be mounted"
mount -t tmpfs tmpfs /layer
mkdir /layer/upper /layer/work
layers=lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work
mount -t overlay -o $layers overlay /root || fail "the overlay cannot be mounted"
mkdir -p /root/proc /root/sys /root/dev /root/run "/root/lib/modules/$KERNEL"
mount -t proc proc /root/proc
mount -t sysfs sys /root/sys
mount -t debugfs debugfs /root/sys/kernel/debug
mount -t devtmpfs dev /root/dev
mkdir -p /root/dev/pts /root/dev/shm
mount -t devpts devpts /root/dev/pts
mount -t tmpfs tmpfs /root/dev/shm
mount -t tmpfs tmpfs /root/run
if [ -n "$USERLAND" ]; then
  : >/root/run/deno
  mount -o bind "/root$DENO_PROGRAM" /root/run/deno || fail "Deno cannot be mounted"
  mkdir -p /userland /layer/userland /layer/userland_work
  layers=lowerdir=/host$USERLAND,upperdir=/layer/userland,workdir=/layer/userland_work
  mount -t overlay -o "$layers" overlay /userland || fail "the userland cannot be mounted"
  for folder in $SYSTEM_FOLDERS; do
    [ -L "/root/$folder" ] || mount -o bind "/userland/$folder" "/root/$folder"
  done
  mkdir -p "/root/lib/modules/$KERNEL"
fi
mount -o bind "/host$MODULES" "/root/lib/modules/$KERNEL"
share() {
  mkdir -p "/root$2"
  mount -t 9p -o $how,cache=mmap "$1" "/root$2" || fail "the folder $2 cannot be mounted"
}
. /shares
ln -sfn /proc/self/fd /root/dev/fd
ln -sfn /proc/self/fd/0 /root/dev/stdin
ln -sfn /proc/self/fd/1 /root/dev/stdout
ln -sfn /proc/self/fd/2 /root/dev/stderr
# No name server is within reach. So a name of another host ends like an address of one: without a route.
rm -f /root/etc/resolv.conf
echo "nameserver 192.0.2.1" >/root/etc/resolv.conf
mkdir -p /root/run/bin
cp /programs/* /root/run/bin/
echo "$HOST_NAME" >/proc/sys/kernel/hostname

stage "making rxe0"
# The network interface with an Ethernet address.
interface() {
  for i in /sys/class/net/*; do
    read -r address <"$i/address"
    if [ "$address" = "$1" ]; then echo "${i##*/}"; fi
  done
}
ip link set lo up
netdev=dummy0
if [ -n "$LAN" ]; then
  netdev=$(interface "$LAN")
  names='10.0.0.1 host1\n10.0.0.2 host2'
else
  names="10.0.0.1 $HOST_NAME"
fi
printf "127.0.0.1 localhost\n$names\n" >/root/run/hosts
# A minimal system does not have this file.
[ -e /root/etc/hosts ] || : >/root/etc/hosts
mount -o bind /root/run/hosts /root/etc/hosts || fail "the names of the hosts cannot be set"
if [ -n "$FORWARDED" ]; then
  nat=$(interface "$FORWARDED")
  ip addr add 10.0.2.15/24 dev "$nat" && ip link set "$nat" up || fail "$nat cannot be set up"
fi
ip link set "$netdev" up || fail "the network device $netdev cannot be brought up"
chroot /root rdma link add rxe0 type rxe netdev "$netdev" || fail "rxe0 cannot be made"
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
ip addr add "10.0.0.$HOST/24" dev "$netdev"
settle 1 "0000:0000:0000:0000:0000:ffff:0a00:000$HOST"
ip addr add "fd00::$HOST/64" dev "$netdev"
settle 2 "fd00:*"

ulimit -l unlimited
mkfifo /in /out /err
cat </out >&8 &
out=$!
cat </err >&9 &
err=$!
# It waits until the command opens the pipe.
cat "$(port in)" >/in &
cp /command.sh /root/run/
# Deno keeps compiled code in this file. Programs of the host change it meanwhile, and half of a change crashes V8: the
# guest begins without it. Other files there are checked when they are read.
rm -f "/root$DENO_CACHE"/v8_code_cache*
echo ready >&7
# Hosts of one network start together.
read -r _ <&7
echo "guest: the command starts" >/dev/kmsg
(
  exec 7>&- 8>&- 9>&- <"$STDIN" >/out 2>/err
  if [ -n "$TERMINAL" ] && [ -x /root/usr/bin/script ]; then
    export SHELL=/bin/sh
    exec setsid chroot /root /usr/bin/script -qefE always -c "stty $TERMINAL; exec sh /run/command.sh" /dev/null
  fi
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
# Whether the command has looked for an address that no route leads to.
if [ "$status" != 0 ]; then
  awk '$1 == "Ip:" && at { missed += $at }
    $1 == "Ip:" { for (i = 2; i <= NF; i++) if ($i == "OutNoRoutes") at = i }
    $1 == "Ip6OutNoRoutes" { missed += $2 }
    END { if (missed > 0) print "no route" }' /proc/net/snmp /proc/net/snmp6 >&7
fi
# What the command changed below the overlay, and nobody keeps.
find /layer/upper \( -path "/layer/upper$DENO_CACHE" -o -path /layer/upper/etc/hosts \
  -o -path /layer/upper/etc/resolv.conf \) -prune -o \
  \( -type f -o -type l -o -type c \) -print0 | tr '\n\0' '?\n' | sed 's,^/layer/upper,lost ,' >&7
dmesg >&7
echo end >&7
wait_for_end
