# Completion of paes(1) for fish.
function __paes_kernels
    echo auto
    paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p'
end

set -l commands encrypt decrypt verify inspect rekey keygen cipher devices
complete -c paes -n __fish_use_subcommand -f
complete -c paes -n __fish_use_subcommand -a encrypt -d 'encrypt files'
complete -c paes -n __fish_use_subcommand -a decrypt -d 'decrypt and authenticate files'
complete -c paes -n __fish_use_subcommand -a verify -d 'authenticate, write nothing'
complete -c paes -n __fish_use_subcommand -a inspect -d 'what a file says about itself'
complete -c paes -n __fish_use_subcommand -a rekey -d 'change who can decrypt a file'
complete -c paes -n __fish_use_subcommand -a keygen -d 'make a key pair'
complete -c paes -n __fish_use_subcommand -a cipher -d 'one message in a raw mode'
complete -c paes -n __fish_use_subcommand -a devices -d 'list the kernels'

set -l seals '__fish_seen_subcommand_from encrypt rekey'
complete -c paes -n $seals -s r -l recipient -x -d 'encrypt to this public key'
complete -c paes -n $seals -s R -l recipients-file -r -d 'public keys, one a line'

set -l opens '__fish_seen_subcommand_from decrypt verify rekey'
complete -c paes -n $opens -s i -l identity -r -d 'file of secret keys'
complete -c paes -n $opens -l max-work-factor -x -d 'largest scrypt work factor'

set -l asks '__fish_seen_subcommand_from encrypt decrypt verify rekey'
complete -c paes -n $asks -s p -l passphrase -d 'ask for the passphrase'
complete -c paes -n $asks -l passphrase-file -r -d 'read the passphrase from this file'
complete -c paes -n $asks -l passphrase-fd -x -d 'read the passphrase from this descriptor'
complete -c paes -n $asks -s q -l quiet -d 'errors and warnings only'

set -l writes '__fish_seen_subcommand_from encrypt decrypt cipher'
complete -c paes -n $writes -s o -l output -r -d 'where to write'
complete -c paes -n $writes -s f -l force -d 'replace an output that exists'

set -l works '__fish_seen_subcommand_from encrypt decrypt verify cipher'
complete -c paes -n $works -s T -l threads -x -d 'threads; 0 is all'
complete -c paes -n $works -l schedule -x -a 'dynamic static'
complete -c paes -n $works -l grain -x -d 'bytes a thread takes at a time'
complete -c paes -n $works -l kernel -x -a '(__paes_kernels)'
complete -c paes -n $works -l device -x -a 'auto cpu cuda hybrid'
complete -c paes -n $works -s v -l verbose -d 'kernel, threads, time and rate'
complete -c paes -n $works -l no-progress -d 'no progress line'

complete -c paes -n '__fish_seen_subcommand_from encrypt' -l new-identity -r -d 'make a key pair here'
complete -c paes -n '__fish_seen_subcommand_from encrypt' -l suite -x -a 'aes-256-gcm aes-128-gcm'
complete -c paes -n '__fish_seen_subcommand_from encrypt decrypt' -l resume -d 'continue an interrupted run'
complete -c paes -n '__fish_seen_subcommand_from encrypt' -s i -l identity -r -d 'opens what --resume continues'
complete -c paes -n '__fish_seen_subcommand_from decrypt' -l range -x -d 'FIRST-LAST or FIRST-'
complete -c paes -n '__fish_seen_subcommand_from rekey' -l add -d 'keep the recipients that are there'
complete -c paes -n '__fish_seen_subcommand_from rekey' -l restore -d 'undo an interrupted rekey'
complete -c paes -n '__fish_seen_subcommand_from rekey' -l new-passphrase -d 'change to a passphrase'
complete -c paes -n '__fish_seen_subcommand_from rekey' -l new-passphrase-file -r
complete -c paes -n '__fish_seen_subcommand_from rekey' -l new-passphrase-fd -x
set -l raw '__fish_seen_subcommand_from cipher'
set -l ciphers aes-{128,192,256}-{ecb,cbc,cfb,ofb,ctr,gcm} aes-{128,256}-xts des-ede3-{ecb,cbc,cfb,ofb,ctr}
complete -c paes -n $raw -a "$ciphers"
complete -c paes -n $raw -s d -l decrypt -d 'decrypt'
complete -c paes -n $raw -l key -r -d 'file of the raw key'
complete -c paes -n $raw -l iv -x -d 'IV or first counter block, in hexadecimal'
complete -c paes -n $raw -l no-pad -d 'whole blocks, no padding'
complete -c paes -n $raw -l aad -r -d 'authenticated beside the text'
complete -c paes -n $raw -l unit -x -d 'bytes of a data unit of XTS'
complete -c paes -n $raw -l legacy -d 'encrypt with 3DES'
complete -c paes -n $raw -l openssl -d 'files of openssl enc -pbkdf2'
complete -c paes -n $raw -l iter -x -d 'iterations of PBKDF2'
complete -c paes -n $raw -l passphrase-file -r -d 'read the passphrase from this file'
complete -c paes -n $raw -l passphrase-fd -x -d 'read the passphrase from this descriptor'
complete -c paes -n $raw -s q -l quiet -d 'errors and warnings only'
complete -c paes -n '__fish_seen_subcommand_from keygen' -s o -l output -r -d 'file for the key'
complete -c paes -n "__fish_seen_subcommand_from $commands" -l json -d 'print JSON'
complete -c paes -s h -l help -d 'help'
