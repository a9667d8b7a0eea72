# SPDX-License-Identifier: Apache-2.0
# Completion of paes-mount(1) for fish. Made by `./dev generate` from what the program says of itself.
function _paes_mount_kernels
    echo auto
    paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p'
end

complete -c paes-mount -x -a '(__fish_complete_directories)'
complete -c paes-mount -s h -l help -d 'print this page'
complete -c paes-mount -l version -d 'print the version'
complete -c paes-mount -l config -r -d 'the configuration, where it is not gocryptfs.conf in the folder'
complete -c paes-mount -l passphrase-file -r -d 'read the passphrase from this file'
complete -c paes-mount -l passphrase-fd -x -d 'the passphrase, from this open file descriptor'
complete -c paes-mount -l master-key -r -d 'the file of the master key, in hexadecimal, in place of the passphrase'
complete -c paes-mount -l fido2 -r -d 'the device of a FIDO2 token, in place of a passphrase'
complete -c paes-mount -l max-work-factor -x -d 'largest scrypt work factor to accept, as a power of two'
complete -c paes-mount -s f -l foreground -d 'stay in the foreground until it is unmounted'
complete -c paes-mount -l allow-other -d 'let other users in, as far as permissions let them'
complete -c paes-mount -l idle -x -d 'unmount after so long without use, as in 15m or 2h30m'
complete -c paes-mount -l shared -d 'other programs change the vault meanwhile: cache only briefly'
complete -c paes-mount -l acl -d 'enforce POSIX ACLs'
complete -c paes-mount -s w -l writable -d 'mount for writing'
complete -c paes-mount -s r -l read-only -d 'mount read-only, which is the default'
complete -c paes-mount -l cache -x -a 'back through' -d 'back: the system holds for a while what is written'
complete -c paes-mount -l fsname -x -d 'what mount(8) lists as the source, in place of the vault'
complete -c paes-mount -l kernel -x -a '(_paes_mount_kernels)' -d 'the kernel of AES'
complete -c paes-mount -s t -l threads -x -d 'threads that answer'
complete -c paes-mount -l io-uring -x -a 'auto off' -d 'auto, the default: requests come through io_uring where the system offers it'
complete -c paes-mount -l ahead -x -d 'blocks to write of which IV and keystream are made ahead'
complete -c paes-mount -s v -l verbose -d 'say how the system\'s requests come'
complete -c paes-mount -s o -x -a 'ro rw cache= allow_other nonempty noexec passfile= config= idle= fsname= kernel= threads= ahead= shared acl' -d 'these and mount(8)\'s options in a list, as in fstab'
