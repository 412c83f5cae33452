#!/bin/busybox sh
# First process of the guest, in the initial RAM file system: lays a RAM overlay over the host's root and goes on inside it.
b=/bin/busybox
$b mount -t proc proc /proc
$b mount -t sysfs sys /sys
$b mount -t devtmpfs dev /dev
for module in $($b cat /modules.order); do $b insmod "/modules/$module" || exit 1; done
# cache=loose keeps pages between reads: the share is read-only here, and the host has no reason to change it meanwhile
options=trans=virtio,version=9p2000.L,msize=1048576
$b mount -t 9p -o $options,cache=loose,ro host /host || exit 1
$b mount -t tmpfs tmpfs /layer
$b mkdir /layer/upper /layer/work
$b mount -t overlay -o lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work overlay /root || exit 1
for folder in proc sys dev; do
  $b mkdir -p "/root/$folder"
  $b mount --move "/$folder" "/root/$folder"
done
$b mkdir -p /root/run
$b mount -t tmpfs tmpfs /root/run
. /guest.env
$b mkdir -p "/root/lib/modules/$KERNEL"
$b mount -o bind "/root$MODULES" "/root/lib/modules/$KERNEL"
$b mkdir -p "/root$IBVERBS_OUT"
$b mount -t 9p -o $options,cache=mmap out "/root$IBVERBS_OUT" || exit 1
$b cp /guest.env /session.sh /command.sh /root/run/
exec $b chroot /root /bin/bash /run/session.sh
