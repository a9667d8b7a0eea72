# SPDX-License-Identifier: Apache-2.0
# Completion of paes-mount(1) for bash. Made by `./dev generate` from what the program says of itself.
# Installed as bash-completion/completions/paes-mount.
_paes_mount() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local at command="" options="" words="" takes=nothing is_value=no depth=1
  COMPREPLY=()
  # Where the program stands: a launcher and its options may come before.
  for ((at = 0; at < COMP_CWORD; at++)); do
    [[ ${COMP_WORDS[at]##*/} != paes-mount && ${COMP_WORDS[at]##*/} != paes-mount.* ]] || break
  done
  ((at < COMP_CWORD)) || return
  case $command in
    "")
      options="-h --help --version --config --passphrase-file --passphrase-fd --master-key --fido2 --max-work-factor -f --foreground --allow-other --idle --shared --acl -w --writable -r --read-only --cache --fsname --kernel -t --threads --io-uring --ahead -v --verbose -o"
      takes=folders depth=1
      case $previous in
        --config | --passphrase-file | --master-key | --fido2) takes=files is_value=yes ;;
        --passphrase-fd | --max-work-factor | --idle | --fsname | -t | --threads | --ahead) takes=nothing is_value=yes ;;
        --cache) takes=words is_value=yes words="back through" ;;
        --kernel) takes=words is_value=yes words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
        --io-uring) takes=words is_value=yes words="auto off" ;;
        -o) takes=words is_value=yes words="ro rw cache= allow_other nonempty noexec passfile= config= idle= fsname= kernel= threads= ahead= shared acl" ;;
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
      if ((${#COMPREPLY[@]} == 0)); then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      ;;
  esac
  [[ $takes == words ]] || compopt -o filenames 2>/dev/null
}
complete -F _paes_mount paes-mount
