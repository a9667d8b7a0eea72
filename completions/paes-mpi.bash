# SPDX-License-Identifier: Apache-2.0
# Completion of paes-mpi(1) for bash. Made by `./dev generate` from what the program says of itself.
# Installed as bash-completion/completions/paes-mpi.
# Behind a launcher, too, for who asks for it: complete -o default -F _paes_mpi mpirun mpiexec srun
_paes_mpi() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local at command="" options="" words="" takes=nothing is_value=no depth=1
  COMPREPLY=()
  # Where the program stands: a launcher and its options may come before.
  for ((at = 0; at < COMP_CWORD; at++)); do
    [[ ${COMP_WORDS[at]##*/} != paes-mpi && ${COMP_WORDS[at]##*/} != paes-mpi.* ]] || break
  done
  ((at < COMP_CWORD)) || return
  ((COMP_CWORD == at + 1)) || command=${COMP_WORDS[at + 1]}
  case $command in
    "")
      options="-h --help --version"
      takes=words words="encrypt decrypt verify cipher $options"
      ;;
    "encrypt")
      options="-h --help -r --recipient -R --recipients-file -p --passphrase --passphrase-file --passphrase-fd --suite --reserve -o --output -f --force --resume -i --identity -T --threads --schedule --piece --kernel --device -q --quiet -v --verbose --no-progress --json --access"
      takes=files depth=2
      case $previous in
        -r | --recipient | --passphrase-fd | --reserve | -T | --threads | --piece) takes=nothing is_value=yes ;;
        -R | --recipients-file | --passphrase-file | -o | --output | -i | --identity) takes=files is_value=yes ;;
        --suite) takes=words is_value=yes words="aes-256-gcm aes-128-gcm" ;;
        --schedule) takes=words is_value=yes words="pool static dynamic" ;;
        --kernel) takes=words is_value=yes words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
        --device) takes=words is_value=yes words="auto cpu cuda hybrid" ;;
        --access) takes=words is_value=yes words="posix mpi" ;;
      esac
      ;;
    "decrypt")
      options="-h --help -i --identity -p --passphrase --passphrase-file --passphrase-fd --max-work-factor -o --output -f --force --resume -T --threads --schedule --piece --kernel --device -q --quiet -v --verbose --no-progress --json --access"
      takes=encrypted depth=2
      case $previous in
        -i | --identity | --passphrase-file | -o | --output) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | -T | --threads | --piece) takes=nothing is_value=yes ;;
        --schedule) takes=words is_value=yes words="pool static dynamic" ;;
        --kernel) takes=words is_value=yes words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
        --device) takes=words is_value=yes words="auto cpu cuda hybrid" ;;
        --access) takes=words is_value=yes words="posix mpi" ;;
      esac
      ;;
    "verify")
      options="-h --help -i --identity -p --passphrase --passphrase-file --passphrase-fd --max-work-factor -T --threads --schedule --piece --kernel --device -q --quiet -v --verbose --no-progress --json --access"
      takes=encrypted depth=2
      case $previous in
        -i | --identity | --passphrase-file) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | -T | --threads | --piece) takes=nothing is_value=yes ;;
        --schedule) takes=words is_value=yes words="pool static dynamic" ;;
        --kernel) takes=words is_value=yes words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
        --device) takes=words is_value=yes words="auto cpu cuda hybrid" ;;
        --access) takes=words is_value=yes words="posix mpi" ;;
      esac
      ;;
    "cipher")
      options="-h --help -d --decrypt --key --iv --no-pad --aad --unit --legacy --no-block-limit -o --output -f --force -T --threads --schedule --piece --kernel --device -q --quiet -v --verbose --no-progress --json --access"
      takes=choices depth=2
      words="aes-128-ecb aes-128-cbc aes-128-cfb aes-128-ctr aes-128-xts aes-128-gcm aes-192-ecb aes-192-cbc aes-192-cfb aes-192-ctr aes-192-gcm aes-256-ecb aes-256-cbc aes-256-cfb aes-256-ctr aes-256-xts aes-256-gcm des-ede3-ecb des-ede3-cbc des-ede3-cfb des-ede3-ctr"
      case $previous in
        --key | --aad | -o | --output) takes=files is_value=yes ;;
        --iv | --unit | -T | --threads | --piece) takes=nothing is_value=yes ;;
        --schedule) takes=words is_value=yes words="pool static dynamic" ;;
        --kernel) takes=words is_value=yes words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
        --device) takes=words is_value=yes words="auto cpu cuda hybrid" ;;
        --access) takes=words is_value=yes words="posix mpi" ;;
      esac
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
complete -F _paes_mpi paes-mpi paes-mpi.openmpi paes-mpi.mpich
