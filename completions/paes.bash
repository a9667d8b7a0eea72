# SPDX-License-Identifier: Apache-2.0
# Completion of paes(1) for bash. Installed as bash-completion/completions/paes.
_paes() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} words kind=-f
  COMPREPLY=()
  local recipients="-r --recipient -R --recipients-file"
  local unlock="-i --identity -p --passphrase --passphrase-file --passphrase-fd --max-work-factor"
  local output="-o --output -f --force"
  local inputs="--recursive --files-from -0 --null"
  local folder="--output-dir --skip-existing"
  local work="-T --threads --schedule --grain --kernel --device -q --quiet -v --verbose
    --no-progress --json --help"

  local vault="--config --passphrase-file --passphrase-fd --master-key --help"

  # Every name of paes cipher.
  local ciphers
  ciphers=$(echo aes-{128,192,256}-{ecb,cbc,cfb,ofb,ctr,gcm} aes-{128,256}-xts \
    des-ede3-{ecb,cbc,cfb,ofb,ctr})

  if ((COMP_CWORD == 1)); then
    words="encrypt decrypt verify inspect rekey keygen age cipher vault mount umount devices --help --version"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    return
  fi
  if [[ $command == vault ]]; then
    if ((COMP_CWORD == 2)); then
      mapfile -t COMPREPLY < <(compgen -W "init passwd info fsck --help --version" -- "$current")
      return
    fi
    command="vault ${COMP_WORDS[2]}"
  fi
  case $previous in
    --cipher) words="aes-256-gcm xchacha20-poly1305 aes-siv" ;;
    --suite) words="aes-256-gcm aes-128-gcm" ;;
    --format) words="paes age" ;;
    --md) words="md5 sha1 sha224 sha256 sha384 sha512" ;;
    --schedule) words="dynamic static" ;;
    --device) words="auto cpu cuda hybrid" ;;
    --kernel) words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
    -r | --recipient | --passphrase-fd | --new-passphrase-fd | -j | -T | --threads | --grain | --range | \
      --remove | --max-work-factor | --work-factor | --long-name-max | --iv | --unit | --iter | --size | --idle | --fsname | -t | --timeout) return ;;
    -R | --recipients-file | -i | --identity | -o | --output | --output-dir | --files-from | \
      --new-identity | \
      --config | --master-key | --master-key-out | \
      --key | --aad | --passphrase-file | --new-passphrase-file) words="" ;;
    *)
      words=""
      if [[ $current == -* ]]; then
        case $command in
          encrypt) words="$recipients -p --passphrase --passphrase-file --passphrase-fd
            --new-identity --format -a --armor --suite --reserve --size --resume -i --identity $output $inputs $folder $work" ;;
          decrypt) words="$unlock --range --resume $output $inputs $folder $work" ;;
          verify) words="$unlock $inputs $work" ;;
          inspect) words="--json --help" ;;
          rekey) words="$unlock $recipients --add --remove --new-passphrase --new-passphrase-file
            --new-passphrase-fd --restore $inputs -q --quiet --json --help" ;;
          keygen) words="-o --output -p --passphrase --passphrase-file --passphrase-fd --post-quantum -y
            --recipients --json --help" ;;
          age) words="-e --encrypt -d --decrypt -p --passphrase -a --armor -r --recipient
            -R --recipients-file -i --identity -j -o --output --version --help" ;;
          cipher) words="-d --decrypt --key --iv --no-pad --aad --unit --legacy --openssl --iter --md
            --no-pbkdf2 -a --base64 --passphrase-file --passphrase-fd $output $work" ;;
          "vault init") words="$vault --cipher --plaintext-names --deterministic-names --long-name-max
            --work-factor --master-key-out --show-master-key" ;;
          "vault passwd") words="$vault --max-work-factor --new-passphrase-file --new-passphrase-fd
            --work-factor -f --force" ;;
          "vault info") words="--config --json --help" ;;
          "vault fsck") words="$vault --max-work-factor -T --threads -q --quiet --json" ;;
          mount) words="-f --foreground -w --writable -r --read-only --cache --allow-other --idle --shared
              --acl --fsname --kernel --ahead -t --threads -o
            --config --passphrase-file --passphrase-fd --master-key --max-work-factor --version --help" ;;
          umount) words="--lazy --timeout --help" ;;
          devices) words="--json --help" ;;
        esac
      elif [[ $command == cipher ]] && ((COMP_CWORD == 2)); then
        words=$ciphers
      fi
      ;;
  esac
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [[ $command == decrypt || $command == verify || $command == inspect || $command == rekey ]] &&
    [[ $previous != -i && $previous != --identity && $previous != -* ]]; then
    # Encrypted files first; any file when there is none.
    mapfile -t COMPREPLY < <(
      compgen -f -X '!*.paes' -- "$current"
      compgen -f -X '!*.age' -- "$current"
    )
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current")
    if ((${#COMPREPLY[@]} == 0)); then
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
    compopt -o filenames 2>/dev/null
  else
    [[ $command == umount ]] && kind=-d
    mapfile -t COMPREPLY < <(compgen "$kind" -- "$current")
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _paes paes
