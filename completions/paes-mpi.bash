# SPDX-License-Identifier: Apache-2.0
# Completion of paes-mpi(1) for bash. Installed as bash-completion/completions/paes-mpi.
# Behind a launcher, too, for who asks for it: complete -o default -F _paes_mpi mpirun mpiexec srun
_paes_mpi() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} at command words
  COMPREPLY=()
  # Where paes-mpi stands: the launcher and its options come before.
  for ((at = 0; at < COMP_CWORD; at++)); do
    [[ ${COMP_WORDS[at]##*/} != paes-mpi && ${COMP_WORDS[at]##*/} != paes-mpi.* ]] || break
  done
  ((at < COMP_CWORD)) || return
  command=${COMP_WORDS[at + 1]}
  local unlock="-i --identity -p --passphrase --passphrase-file --passphrase-fd --max-work-factor"
  local output="-o --output -f --force"
  local work="-T --threads --schedule --grain --kernel --device -q --quiet -v --verbose
    --no-progress --json --access --help"

  # Modes that are parallel, and those of which only decryption is.
  local ciphers
  ciphers=$(echo aes-{128,192,256}-{ecb,ctr,gcm} aes-{128,256}-xts des-ede3-{ecb,ctr} \
    {aes-{128,192,256},des-ede3}-{cbc,cfb})

  if ((COMP_CWORD == at + 1)); then
    words="encrypt decrypt verify cipher --help --version"
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    return
  fi
  case $previous in
    --suite) words="aes-256-gcm aes-128-gcm" ;;
    --schedule) words="dynamic static" ;;
    --device) words="auto cpu cuda hybrid" ;;
    --access) words="posix mpi" ;;
    --kernel) words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
    -r | --recipient | --passphrase-fd | -T | --threads | --grain | --max-work-factor | --iv | \
      --unit) return ;;
    -R | --recipients-file | -i | --identity | -o | --output | --key | --aad | --passphrase-file)
      words="" ;;
    *)
      words=""
      if [[ $current == -* ]]; then
        case $command in
          encrypt) words="-r --recipient -R --recipients-file -p --passphrase --passphrase-file
            --passphrase-fd --suite --reserve --resume -i --identity $output $work" ;;
          decrypt) words="$unlock --resume $output $work" ;;
          verify) words="$unlock $work" ;;
          cipher) words="-d --decrypt --key --iv --no-pad --aad --unit --legacy $output $work" ;;
        esac
      elif [[ $command == cipher ]] && ((COMP_CWORD == at + 2)); then
        words=$ciphers
      fi
      ;;
  esac
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [[ ($command == decrypt || $command == verify) && $previous != -* ]]; then
    # Encrypted files first; any file when there is none.
    mapfile -t COMPREPLY < <(compgen -f -X '!*.paes' -- "$current")
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current")
    if ((${#COMPREPLY[@]} == 0)); then
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
    compopt -o filenames 2>/dev/null
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _paes_mpi paes-mpi paes-mpi.openmpi paes-mpi.mpich
