# SPDX-License-Identifier: Apache-2.0
# Completion of paes-mpi(1) for fish, under the names of all its builds.
# Behind a launcher, too, for who asks for it:
#     complete -c mpirun -x -a '(__fish_complete_subcommand --fcs-skip=2)'    # mpirun -n 4 paes-mpi ...
function __paes_mpi_kernels
    echo auto
    paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p'
end

# Modes that are parallel, and those of which only decryption is.
set -l parallel aes-{128,192,256}-{ecb,ctr,gcm} aes-{128,256}-xts des-ede3-{ecb,ctr}
set -l decrypted {aes-{128,192,256},des-ede3}-{cbc,cfb}

for program in paes-mpi paes-mpi.openmpi paes-mpi.mpich
    complete -c $program -n __fish_use_subcommand -f
    complete -c $program -n __fish_use_subcommand -a encrypt -d 'encrypt a file'
    complete -c $program -n __fish_use_subcommand -a decrypt -d 'decrypt and authenticate a file'
    complete -c $program -n __fish_use_subcommand -a verify -d 'authenticate, write nothing'
    complete -c $program -n __fish_use_subcommand -a cipher -d 'one message in a raw mode'

    set -l seals '__fish_seen_subcommand_from encrypt'
    complete -c $program -n $seals -s r -l recipient -x -d 'encrypt to this public key'
    complete -c $program -n $seals -s R -l recipients-file -r -d 'public keys, one a line'
    complete -c $program -n $seals -l suite -x -a 'aes-256-gcm aes-128-gcm'
    complete -c $program -n $seals -l reserve -x -d 'leave room for more recipients'
    complete -c $program -n $seals -s i -l identity -r -d 'opens what --resume continues'

    set -l opens '__fish_seen_subcommand_from decrypt verify'
    complete -c $program -n $opens -s i -l identity -r -d 'file of secret keys'
    complete -c $program -n $opens -l max-work-factor -x -d 'largest scrypt work factor'

    set -l asks '__fish_seen_subcommand_from encrypt decrypt verify'
    complete -c $program -n $asks -s p -l passphrase -d 'ask for the passphrase'
    complete -c $program -n $asks -l passphrase-file -r -d 'read the passphrase from this file'
    complete -c $program -n $asks -l passphrase-fd -x -d 'read the passphrase from this descriptor'

    set -l resumes '__fish_seen_subcommand_from encrypt decrypt'
    complete -c $program -n $resumes -l resume -d 'continue an interrupted run'

    set -l writes '__fish_seen_subcommand_from encrypt decrypt cipher'
    complete -c $program -n $writes -s o -l output -r -d 'where to write, which every rank must see'
    complete -c $program -n $writes -s f -l force -d 'replace an output that exists'

    set -l works '__fish_seen_subcommand_from encrypt decrypt verify cipher'
    complete -c $program -n $works -l schedule -x -a 'dynamic static'
    complete -c $program -n $works -l grain -x -d 'bytes a thread takes at a time'
    complete -c $program -n $works -l device -x -a 'auto cpu cuda hybrid'
    complete -c $program -n $works -s q -l quiet -d 'errors and warnings only'
    complete -c $program -n $works -s v -l verbose -d 'kernel, threads, time and rate'
    complete -c $program -n $works -l no-progress -d 'no progress line'

    set -l raw '__fish_seen_subcommand_from cipher'
    complete -c $program -n $raw -a "$parallel"
    complete -c $program -n $raw -a "$decrypted"
    complete -c $program -n $raw -s d -l decrypt -d 'decrypt'
    complete -c $program -n $raw -l key -r -d 'file of the raw key'
    complete -c $program -n $raw -l iv -x -d 'IV or first counter block, in hexadecimal'
    complete -c $program -n $raw -l no-pad -d 'whole blocks, no padding'
    complete -c $program -n $raw -l aad -r -d 'authenticated beside the text'
    complete -c $program -n $raw -l unit -x -d 'bytes of a data unit of XTS'
    complete -c $program -n $raw -l legacy -d 'encrypt with 3DES'

    complete -c $program -n $works -l access -x -a 'posix mpi' -d 'how ranks reach the file'
    complete -c $program -n $works -s T -l threads -x -d 'threads of each rank'
    complete -c $program -n $works -l kernel -x -a '(__paes_mpi_kernels)'
    complete -c $program -n $works -l json -d 'print JSON'
    complete -c $program -s h -l help -d 'help'
end
