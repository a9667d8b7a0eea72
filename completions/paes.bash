# SPDX-License-Identifier: Apache-2.0
# Completion of paes(1) for bash. Made by `./dev generate` from what the program says of itself.
# Installed as bash-completion/completions/paes.
_paes() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local at command="" options="" words="" takes=nothing is_value=no depth=1
  COMPREPLY=()
  # Where the program stands: a launcher and its options may come before.
  for ((at = 0; at < COMP_CWORD; at++)); do
    [[ ${COMP_WORDS[at]##*/} != paes && ${COMP_WORDS[at]##*/} != paes.* ]] || break
  done
  ((at < COMP_CWORD)) || return
  ((COMP_CWORD == at + 1)) || command=${COMP_WORDS[at + 1]}
  [[ $command != vault ]] || ((COMP_CWORD == at + 2)) || command+=" ${COMP_WORDS[at + 2]}"
  case $command in
    "")
      options="-h --help --version"
      takes=words words="encrypt decrypt verify inspect rekey keygen age cipher vault mount umount devices $options"
      ;;
    "encrypt")
      options="-h --help -r --recipient -R --recipients-file -p --passphrase --passphrase-file --passphrase-fd --new-identity --suite --reserve --key-file --key-fd --key-encoding --key-context --key-id --format -a --armor -o --output -f --force --size --recursive --files-from -0 --null --output-dir --skip-existing --resume -i --identity -T --threads --schedule --piece --kernel --device -q --quiet -v --verbose --no-progress --json"
      takes=files depth=2
      case $previous in
        -r | --recipient | --passphrase-fd | --reserve | --key-fd | --key-context | --key-id | --size | -T | --threads | --piece) takes=nothing is_value=yes ;;
        -R | --recipients-file | --passphrase-file | --new-identity | --key-file | -o | --output | --files-from | -i | --identity) takes=files is_value=yes ;;
        --suite) takes=words is_value=yes words="aes-256-gcm aes-128-gcm" ;;
        --key-encoding) takes=words is_value=yes words="raw hex base64" ;;
        --format) takes=words is_value=yes words="paes age cobblestone" ;;
        --output-dir) takes=folders is_value=yes ;;
        --schedule) takes=words is_value=yes words="pool static dynamic" ;;
        --kernel) takes=words is_value=yes words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
        --device) takes=words is_value=yes words="auto cpu cuda hybrid" ;;
      esac
      ;;
    "decrypt")
      options="-h --help -i --identity -p --passphrase --passphrase-file --passphrase-fd --max-work-factor --key-file --key-fd --key-encoding --key-context --key-id --range -o --output -f --force --recursive --files-from -0 --null --output-dir --skip-existing --resume -T --threads --schedule --piece --kernel --device -q --quiet -v --verbose --no-progress --json"
      takes=encrypted depth=2
      case $previous in
        -i | --identity | --passphrase-file | --key-file | -o | --output | --files-from) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | --key-fd | --key-context | --key-id | --range | -T | --threads | --piece) takes=nothing is_value=yes ;;
        --key-encoding) takes=words is_value=yes words="raw hex base64" ;;
        --output-dir) takes=folders is_value=yes ;;
        --schedule) takes=words is_value=yes words="pool static dynamic" ;;
        --kernel) takes=words is_value=yes words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
        --device) takes=words is_value=yes words="auto cpu cuda hybrid" ;;
      esac
      ;;
    "verify")
      options="-h --help -i --identity -p --passphrase --passphrase-file --passphrase-fd --max-work-factor --key-file --key-fd --key-encoding --key-context --key-id -T --threads --schedule --piece --kernel --device -q --quiet -v --verbose --no-progress --json --recursive --files-from -0 --null"
      takes=encrypted depth=2
      case $previous in
        -i | --identity | --passphrase-file | --key-file | --files-from) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | --key-fd | --key-context | --key-id | -T | --threads | --piece) takes=nothing is_value=yes ;;
        --key-encoding) takes=words is_value=yes words="raw hex base64" ;;
        --schedule) takes=words is_value=yes words="pool static dynamic" ;;
        --kernel) takes=words is_value=yes words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
        --device) takes=words is_value=yes words="auto cpu cuda hybrid" ;;
      esac
      ;;
    "inspect")
      options="-h --help --json"
      takes=encrypted depth=2
      ;;
    "rekey")
      options="-h --help -i --identity -p --passphrase --passphrase-file --passphrase-fd --max-work-factor --key-file --key-fd --key-encoding --key-context --key-id -r --recipient -R --recipients-file --new-key-file --new-key-fd --new-key-encoding --new-key-context --new-key-id -o --output --add --remove --new-passphrase --new-passphrase-file --new-passphrase-fd --restore -q --quiet --json --recursive --files-from -0 --null"
      takes=encrypted depth=2
      case $previous in
        -i | --identity | --passphrase-file | --key-file | -R | --recipients-file | --new-key-file | -o | --output | --new-passphrase-file | --files-from) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | --key-fd | --key-context | --key-id | -r | --recipient | --new-key-fd | --new-key-context | --new-key-id | --remove | --new-passphrase-fd) takes=nothing is_value=yes ;;
        --key-encoding | --new-key-encoding) takes=words is_value=yes words="raw hex base64" ;;
      esac
      ;;
    "keygen")
      options="-h --help -o --output -p --passphrase --passphrase-file --passphrase-fd --post-quantum -y --recipients --json"
      takes=files depth=2
      case $previous in
        -o | --output | --passphrase-file) takes=files is_value=yes ;;
        --passphrase-fd) takes=nothing is_value=yes ;;
      esac
      ;;
    "age")
      options="-e --encrypt -d --decrypt -o --output -a --armor -p --passphrase -r --recipient -R --recipients-file -i --identity -j --version -h --help"
      takes=files depth=2
      case $previous in
        -o | --output | -R | --recipients-file | -i | --identity) takes=files is_value=yes ;;
        -r | --recipient | -j) takes=nothing is_value=yes ;;
      esac
      ;;
    "cipher")
      options="-h --help -d --decrypt --key --iv --no-pad --aad --unit --legacy --no-block-limit --openssl --passphrase-file --passphrase-fd --iter --md --no-pbkdf2 -a --base64 -o --output -f --force -T --threads --schedule --piece --kernel --device -q --quiet -v --verbose --no-progress --json"
      takes=choices depth=2
      words="aes-128-ecb aes-128-cbc aes-128-cfb aes-128-ofb aes-128-ctr aes-128-xts aes-128-gcm aes-192-ecb aes-192-cbc aes-192-cfb aes-192-ofb aes-192-ctr aes-192-gcm aes-256-ecb aes-256-cbc aes-256-cfb aes-256-ofb aes-256-ctr aes-256-xts aes-256-gcm des-ede3-ecb des-ede3-cbc des-ede3-cfb des-ede3-ofb des-ede3-ctr"
      case $previous in
        --key | --aad | --passphrase-file | -o | --output) takes=files is_value=yes ;;
        --iv | --unit | --passphrase-fd | --iter | -T | --threads | --piece) takes=nothing is_value=yes ;;
        --md) takes=words is_value=yes words="md5 sha1 sha224 sha256 sha384 sha512" ;;
        --schedule) takes=words is_value=yes words="pool static dynamic" ;;
        --kernel) takes=words is_value=yes words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
        --device) takes=words is_value=yes words="auto cpu cuda hybrid" ;;
      esac
      ;;
    "vault")
      options="-h --help --version"
      takes=words words="init passwd info fsck ls cat get put export $options"
      ;;
    "vault init")
      options="-h --help --config --passphrase-file --passphrase-fd --fido2 --fido2-assert-option --cipher --plaintext-names --deterministic-names --long-name-max --work-factor --master-key-out --show-master-key --master-key"
      takes=folders depth=3
      case $previous in
        --config | --passphrase-file | --fido2 | --master-key-out | --master-key) takes=files is_value=yes ;;
        --passphrase-fd | --fido2-assert-option | --long-name-max | --work-factor) takes=nothing is_value=yes ;;
        --cipher) takes=words is_value=yes words="aes-256-gcm xchacha20-poly1305 aes-siv" ;;
      esac
      ;;
    "vault passwd")
      options="-h --help --config --passphrase-file --passphrase-fd --master-key --fido2 --max-work-factor --new-passphrase-file --new-passphrase-fd --work-factor --new-config -f --force"
      takes=folders depth=3
      case $previous in
        --config | --passphrase-file | --master-key | --fido2 | --new-passphrase-file | --new-config) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | --new-passphrase-fd | --work-factor) takes=nothing is_value=yes ;;
      esac
      ;;
    "vault info")
      options="-h --help --config --json"
      takes=folders depth=3
      case $previous in
        --config) takes=files is_value=yes ;;
      esac
      ;;
    "vault fsck")
      options="-h --help --config --passphrase-file --passphrase-fd --master-key --fido2 --max-work-factor -T --threads -q --quiet --json"
      takes=folders depth=3
      case $previous in
        --config | --passphrase-file | --master-key | --fido2) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | -T | --threads) takes=nothing is_value=yes ;;
      esac
      ;;
    "vault ls")
      options="-h --help --config --passphrase-file --passphrase-fd --master-key --fido2 --max-work-factor -l --long -R --recursive -d --directory -0 --null --json"
      takes=folders depth=3
      case $previous in
        --config | --passphrase-file | --master-key | --fido2) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor) takes=nothing is_value=yes ;;
      esac
      ;;
    "vault cat")
      options="-h --help --config --passphrase-file --passphrase-fd --master-key --fido2 --max-work-factor --range -T --threads -f --force"
      takes=folders depth=3
      case $previous in
        --config | --passphrase-file | --master-key | --fido2) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | --range | -T | --threads) takes=nothing is_value=yes ;;
      esac
      ;;
    "vault get")
      options="-h --help --config --passphrase-file --passphrase-fd --master-key --fido2 --max-work-factor -f --force --update -T --threads -q --quiet"
      takes=folders depth=3
      case $previous in
        --config | --passphrase-file | --master-key | --fido2) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | -T | --threads) takes=nothing is_value=yes ;;
      esac
      ;;
    "vault put")
      options="-h --help --config --passphrase-file --passphrase-fd --master-key --fido2 --max-work-factor --to --as -f --force --update -T --threads -q --quiet"
      takes=folders depth=3
      case $previous in
        --config | --passphrase-file | --master-key | --fido2 | --to | --as) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | -T | --threads) takes=nothing is_value=yes ;;
      esac
      ;;
    "vault export")
      options="-h --help --config --passphrase-file --passphrase-fd --master-key --fido2 --max-work-factor -f --force --update -T --threads -q --quiet"
      takes=folders depth=3
      case $previous in
        --config | --passphrase-file | --master-key | --fido2) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | -T | --threads) takes=nothing is_value=yes ;;
      esac
      ;;
    "mount")
      options="-h --help --version --config --passphrase-file --passphrase-fd --master-key --fido2 --max-work-factor -f --foreground --allow-other --idle --shared --acl -w --writable -r --read-only --cache --fsname --kernel -t --threads --io-uring --ahead -v --verbose -o"
      takes=folders depth=2
      case $previous in
        --config | --passphrase-file | --master-key | --fido2) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | --idle | --fsname | -t | --threads | --ahead) takes=nothing is_value=yes ;;
        --cache) takes=words is_value=yes words="back through" ;;
        --kernel) takes=words is_value=yes words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
        --io-uring) takes=words is_value=yes words="auto off" ;;
        -o) takes=words is_value=yes words="ro rw cache= allow_other nonempty noexec passfile= config= idle= fsname= kernel= threads= ahead= shared acl" ;;
      esac
      ;;
    "umount")
      options="-h --help --lazy --timeout"
      takes=folders depth=2
      case $previous in
        --timeout) takes=nothing is_value=yes ;;
      esac
      ;;
    "devices")
      options="-h --help --json"
      takes=nothing depth=2
      ;;
  esac
  if [[ $takes != words && $is_value == no && $current == -* ]]; then
    takes=words words=$options
  elif [[ $takes == choices ]]; then
    ((COMP_CWORD == at + depth)) && takes=words || takes=files
  fi
  case $takes in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
    nothing) ;;
    folders) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    *)
      if [[ $takes == encrypted ]]; then
        # Encrypted files first; any file when there is none.
        mapfile -t COMPREPLY < <(
          compgen -f -X '!*.paes' -- "$current"
          compgen -f -X '!*.age' -- "$current"
          compgen -f -X '!*.cobblestone' -- "$current"
        )
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current")
      fi
      if ((${#COMPREPLY[@]} == 0)); then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      ;;
  esac
  [[ $takes == words ]] || compopt -o filenames 2>/dev/null
}
complete -F _paes paes
