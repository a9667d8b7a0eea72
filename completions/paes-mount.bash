# SPDX-License-Identifier: Apache-2.0
# Completion of paes-mount(1) for bash. Installed as bash-completion/completions/paes-mount.
_paes_mount() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local words="" folders=-d
  COMPREPLY=()
  case $previous in
    --kernel) words="auto $(paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p')" ;;
    --config | --passphrase-file | --master-key) folders=-f ;;
    --idle | --fsname | --ahead | -t | --threads | --passphrase-fd | --max-work-factor) return ;;
    -o) words="ro rw cache= allow_other nonempty noexec passfile= config= idle= fsname= kernel= threads= ahead= shared acl" ;;
    *)
      if [[ $current == -* ]]; then
        words="-f --foreground -w --writable -r --read-only --cache --allow-other --idle --shared --acl --fsname --kernel --ahead -t --threads -o --config
          --passphrase-file --passphrase-fd --master-key --max-work-factor --version --help"
      fi
      ;;
  esac
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen $folders -- "$current")
    compopt -o filenames 2>/dev/null
  fi
}
complete -F _paes_mount paes-mount
