#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the guest in an empty folder: `make.sh FOLDER INIT`, INIT being the guest's first process.
#
#   root/            QEMU, and what the guest's programs come from: Debian packages, unpacked
#   vmlinux          Debian's cloud kernel, not compressed, for the same reason as what follows
#   initramfs.cpio   busybox, nvme-cli, fio, mkfs.ext4, mdadm, modules for VFIO and md; not
#                    compressed, as unpacking it under emulation would take longer than reading it
#   packages.txt     name, version and SHA-256 of each package
#
# Packages are unpacked, not installed: no root, no chroot, no maintainer script. Programs run
# through the loader that lies in root/, so that this machine's libraries do not matter.
set -euo pipefail

suite=trixie
# In the order in which they are loaded.
modules=(virt/lib/irqbypass drivers/vfio/vfio drivers/vfio/vfio_iommu_type1
    drivers/vfio/pci/vfio-pci-core drivers/vfio/pci/vfio-pci)
# In the order in which who needs them loads them: raid456 measures this machine for a while.
more_modules=(drivers/md/md-mod drivers/md/raid0 lib/libcrc32c crypto/xor lib/raid6/raid6_pq
    crypto/async_tx/async_{tx,memcpy,xor,pq,raid6_recov} drivers/md/raid456)
programs=(usr/sbin/nvme usr/bin/fio usr/sbin/mke2fs usr/sbin/e2fsck usr/bin/lspci usr/sbin/mdadm)
packages=(qemu-system-x86 linux-image-cloud-amd64 busybox-static nvme-cli fio e2fsprogs pciutils mdadm
    zstd)
# Only maintainer scripts need these, and none is run.
left_out=(python3 init-system-helpers systemd adduser debconf passwd login.defs base-passwd
    linux-base kmod initramfs-tools dpkg perl-base sensible-utils)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

fail() { # fail WHAT REMEDY
    printf '%s\n%s\n' "$1" "$2" >&2
    exit 1
}

folder="$(cd "$1" && pwd)"
init="$2"
work="$(mktemp -d "$folder/work.XXXXXX")"
trap 'rm -rf "$work"' EXIT
root="$folder/root"
mkdir -p "$root" "$work"/{lists/partial,archives/partial,tree}

# ---- packages ----------------------------------------------------------------------------------
[ "$(uname -m)" = x86_64 ] || fail "this machine is $(uname -m), and the guest's QEMU is x86_64" \
    "use an x86_64 machine"
for tool in apt-get dpkg-deb sha256sum; do
    command -v "$tool" >/dev/null || fail "$tool is missing" \
        "the guest is made of Debian packages: use a Debian or Ubuntu machine or container"
done
[ -r "$keyring" ] || fail "$keyring is missing, which says whose packages to trust" \
    "apt-get install debian-archive-keyring"
mirror="${FOREBAY_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' \
    'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)}"
[ -n "$mirror" ] || fail "this machine's apt knows no Debian mirror" \
    "set FOREBAY_DEBIAN_MIRROR to the address of one, ending in /debian"

for component in "$suite" "$suite-backports"; do
    echo "deb [arch=amd64 signed-by=$keyring] $mirror $component main"
done >"$work/sources.list"
# Older releases of QEMU lack vfio-user-pci.
cat >"$work/preferences" <<END
Package: qemu-* seabios ipxe-qemu
Pin: release n=$suite-backports
Pin-Priority: 990
END
for package in "${left_out[@]}"; do
    printf 'Package: %s\nStatus: install ok installed\nVersion: 99:0\nArchitecture: amd64\n' \
        "$package"
    printf 'Multi-Arch: allowed\nMaintainer: none <none@localhost>\nDescription: left out\n\n'
done >"$work/status"

apt() {
    apt-get -qq -o "Dir::State=$work" -o "Dir::State::status=$work/status" \
        -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work" \
        -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o "Dir::Etc::Preferences=$work/preferences" -o Dir::Etc::PreferencesParts=/dev/null \
        -o APT::Architecture=amd64 -o APT::Architectures=amd64 -o APT::Install-Recommends=false \
        -o APT::Sandbox::User= -o Acquire::Languages=none -o Acquire::Retries=3 \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false \
        -o APT::Update::Post-Invoke::= -o APT::Update::Error-Mode=any "$@"
}
network="check the network, or set FOREBAY_DEBIAN_MIRROR to another mirror"
apt update >&2 || fail "the package lists of Debian $suite could not be fetched" "$network"
apt -y --download-only install "${packages[@]}" >&2 ||
    fail "packages of Debian $suite could not be fetched" "$network"

for archive in "$work"/archives/*.deb; do
    # shellcheck disable=SC2016 # dpkg-deb's own variables
    printf '%s\t%s\n' "$(dpkg-deb -W --showformat '${Package}\t${Version}' "$archive")" \
        "$(sha256sum <"$archive" | cut -d' ' -f1)"
    dpkg-deb --fsys-tarfile "$archive" | tar -x -C "$root" --no-same-owner --keep-directory-symlink \
        --exclude=./usr/share/{doc,man,locale,info,lintian,bug}
    rm "$archive"
done | sort >"$folder/packages.txt"

# ---- guest -------------------------------------------------------------------------------------
libraries=usr/lib/x86_64-linux-gnu
loader="$root/$libraries/ld-linux-x86-64.so.2"
busybox="$root/usr/bin/busybox"
tree="$work/tree"
mkdir -p "$tree"/{dev,proc,sys,run,tmp,root,mnt,share,usr/{bin,sbin,lib,lib64,share},"$libraries",etc}
for name in bin sbin lib lib64; do ln -s "usr/$name" "$tree/$name"; done
for applet in $("$busybox" --list); do ln -sf busybox "$tree/usr/bin/$applet"; done
cp --remove-destination "$busybox" "$tree/usr/bin/"
for program in "${programs[@]}"; do
    rm -f "$tree/usr/bin/${program##*/}"
    cp "$root/$program" "$tree/$program"
    # fio's Ceph engine keeps a library in a folder of its own.
    "$loader" --library-path "$root/$libraries:$root/$libraries/ceph" --list "$root/$program" |
        sed -n "s|.*=> $root/\([^ ]*\) .*|\1|p" | while read -r library; do
        cp -nL "$root/$library" "$tree/$libraries/"
    done
done
cp -L "$loader" "$tree/usr/lib64/"
ln -s mke2fs "$tree/usr/sbin/mkfs.ext4"
ln -s e2fsck "$tree/usr/sbin/fsck.ext4"
cp "$root/etc/mke2fs.conf" "$tree/etc/"
ln -s /proc/mounts "$tree/etc/mtab"
echo 'root:x:0:0:root:/root:/bin/sh' >"$tree/etc/passwd"
install -m 755 "$init" "$tree/init"

kernel="$(basename "$root"/usr/lib/modules/*)"
mkdir "$tree/usr/lib/modules"
printf '%s\n' "${modules[@]##*/}" >"$tree/usr/lib/modules/order"
printf '%s\n' "${more_modules[@]##*/}" >"$tree/usr/lib/modules/md"
for module in "${modules[@]}" "${more_modules[@]}"; do
    "$busybox" xz -dc "$root/usr/lib/modules/$kernel/kernel/$module.ko.xz" \
        >"$tree/usr/lib/modules/${module##*/}.ko"
done
# Where it lies in its file: Documentation/arch/x86/boot.rst of the kernel, setup_sects, payload_offset
# and payload_length. The last four bytes are its size.
vmlinuz="$root/boot/vmlinuz-$kernel"
number() { od -An -t "u$2" -j "$1" -N "$2" "$vmlinuz" | tr -d ' '; }
at=$((($(number $((0x1f1)) 1) + 1) * 512 + $(number $((0x248)) 4)))
bytes=$(($(number $((0x24c)) 4) - 4))
head -c "$((at + bytes))" "$vmlinuz" | tail -c "$bytes" |
    "$loader" --library-path "$root/$libraries" "$root/usr/bin/zstd" -dc >"$folder/vmlinux"
(cd "$tree" && find . | LC_ALL=C sort | "$busybox" cpio -o -H newc -R 0:0 2>/dev/null) \
    >"$folder/initramfs.cpio"
rm -rf "$root/boot" "$root/usr/lib/modules"
