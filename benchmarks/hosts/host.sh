# One host of the rig: the first process of new net, pid, mount and uts namespaces.
# Everything that it makes lies in memory or in these namespaces, and goes when it ends.
set -eu
name=$1 address=$2 controller=$3 lower=$4

memory=/mnt
mount -t tmpfs -o size=256m,mode=755 none $memory
mkdir -m 755 $memory/up $memory/work $memory/root
mount -t overlay -o "lowerdir=$lower,upperdir=$memory/up,workdir=$memory/work" none $memory/root
root=$memory/root
mount -t proc none $root/proc
mount --rbind /dev $root/dev
mount -t tmpfs -o size=4m,mode=755 none $root/run
mkdir $root/run/sshd
hostname "$name"
echo "$name" >$root/etc/hostname
echo "127.0.0.1 localhost $name" >$root/etc/hosts
echo mounted
# An end of the file means that who started the rig is gone.
read -r _

# Router solicitations and the like of a thousand hosts are work that no real rig would share.
echo 1 >$root/proc/sys/net/ipv6/conf/all/disable_ipv6 2>/dev/null || :
ip -batch - <<END
link set lo up
link set eth0 up
addr add $address peer $controller dev eth0
END
[ ! -x $root/etc/rc.local ] || chroot $root /etc/rc.local </dev/null
exec chroot $root /usr/sbin/sshd -D -e -o PidFile=none </dev/null
