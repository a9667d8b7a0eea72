# SPDX-License-Identifier: Apache-2.0
# Completion of paes-mount(1) for fish.
function __paes_mount_kernels
    echo auto
    paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p'
end

complete -c paes-mount -s f -l foreground -d 'stay in the foreground'
complete -c paes-mount -l allow-other -d 'let other users in'
complete -c paes-mount -l idle -x -d 'unmount after so long without use'
complete -c paes-mount -l shared -d 'other programs change the vault meanwhile'
complete -c paes-mount -l acl -d 'enforce POSIX ACLs'
complete -c paes-mount -s w -l writable -d 'the vault can be written to'
complete -c paes-mount -s r -l read-only -d 'the vault can be read alone'
complete -c paes-mount -l cache -x -a 'back through' -d 'what the system holds of what is written'
complete -c paes-mount -l fsname -x -d 'what mount lists as the source'
complete -c paes-mount -l kernel -x -a '(__paes_mount_kernels)'
complete -c paes-mount -l ahead -x -d 'blocks to write that are prepared ahead'
complete -c paes-mount -s t -l threads -x -d 'threads that answer'
complete -c paes-mount -s o -x -d 'options as fstab has them'
complete -c paes-mount -l config -r -d 'the configuration'
complete -c paes-mount -l passphrase-file -r -d 'read the passphrase from this file'
complete -c paes-mount -l passphrase-fd -x -d 'read the passphrase from this descriptor'
complete -c paes-mount -l master-key -r -d 'the file of the master key'
complete -c paes-mount -l max-work-factor -x -d 'largest scrypt work factor'
complete -c paes-mount -l version -d 'print the version'
complete -c paes-mount -s h -l help -d 'help'
