/** Programs that play those of Debian, for `programs()`. */

const VERSION = "6.1.0-1-amd64";

/** Plays apt, and unpacks a package of all that the set-up looks for. A call of apt's own configuration names its source. */
export const DEBIAN = {
  "apt-get": `for name; do :; done; case "$*" in
    *--print-uris*) echo "'http://host' $name.deb 7000000 x";; *--download-only*) touch all.deb;; *download*) touch "$name.deb";;
    -c*update*) sed 's/.*debian/source/' "\${2%apt.conf}sources.list" >>"$FOLDER/calls";; esac`,
  "apt-cache": `[ "$1" != -c ] || shift 2; for name; do :; done
    case $1:$name in
    depends:linux-headers*) printf '%s\\n' $name gcc-12 linux-headers-6.1.0-1-common linux-kbuild-6.1;;
    depends:linux-image-7*) printf '%s\\n' $name linux-binary-7.3.4 linux-modules-7.3.4 linux-libc-7.3.4;;
    depends:*) echo "Depends: linux-image-${VERSION}";;
    pkgnames:*) for version in 6.1.9 6.12.9 7.3.4; do echo linux-image-$version-amd64; done;;
    *) shift 2; for name; do echo "Package: $name"; done;;
    esac`,
  "dpkg-deb": `basename "$2"`,
  tar: `cd "$3"
    case $(cat) in
    linux-*-7.3.4*) at=usr/lib/modules/7.3.4-amd64 image=$at/vmlinuz;;
    linux-image-6.1.9*) at=lib/modules/6.1.9-amd64 image=boot/vmlinuz-6.1.9-amd64;;
    linux-image-6.12.9*) at=lib/modules/6.12.9-amd64 image=boot/vmlinuz-6.12.9-amd64;;
    all.deb) mkdir -p etc usr/share/base-passwd; touch usr/share/base-passwd/passwd.master usr/share/base-passwd/group.master; exit;;
    *) at=lib/modules/${VERSION} image=boot/vmlinuz-${VERSION};;
    esac
    mkdir -p boot usr/src/linux-headers-${VERSION} $at/kernel/fs/9p $at/kernel/net
    for file in $image busybox boot/config $at/kernel/net/b.ko $at/build; do echo $file >$file; done
    echo 9p | xz >$at/kernel/fs/9p/9p.ko.xz`,
  make: `mkdir "\${5#OUT=}"; echo the module >"\${5#OUT=}/stub_hca.ko"`,
  unshare: "",
};
