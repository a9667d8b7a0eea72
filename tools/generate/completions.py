# SPDX-License-Identifier: Apache-2.0
"""The completions of a program, one file each for bash, zsh and fish."""

import re

KERNELS = r"""paes devices 2>/dev/null | sed -n 's/^[* ] \([a-z0-9_]*\) *yes .*/\1/p'"""
LICENCE = "# SPDX-License-Identifier: Apache-2.0"
MADE = "Made by `./dev generate` from what the program says of itself."

# What the names of values and operands mean.
FILES = {"DEVICE", "FILE", "INPUT", "OUTPUT", "PATH"}
FOLDERS = {"DIR", "MOUNTPOINT"}
# What mount(8) passes on: the only list that no option declares.
LISTED = {"OPTIONS": ["ro", "rw", "cache=", "allow_other", "nonempty", "noexec", "passfile=", "config=", "idle=",
                      "fsname=", "kernel=", "threads=", "ahead=", "shared", "acl"]}


def function_of(program):
    return "_" + program.replace("-", "_")


def choices_of(option):
    return option.choices or LISTED.get(option.value, [])


def kind_of(option):
    """What completes the value: `kernels`, `choices`, `files`, `folders`, or `nothing`."""
    if "--kernel" in option.names:
        return "kernels"
    if choices_of(option):
        return "choices"
    return "files" if option.value in FILES else "folders" if option.value in FOLDERS else "nothing"


def kind_of_operands(command):
    """What completes an operand: a kind of kind_of(), or `encrypted`."""
    if not command.operands:
        return "commands" if command.commands else "nothing"
    first = command.operands[0]
    if first.choices:
        return "choices"
    if first.name in FOLDERS:
        return "folders"
    return "encrypted" if first.encrypted_suffixes else "files"


def suffixes_of(commands):
    """How the names of the encrypted files end that any of the commands reads."""
    return list(dict.fromkeys(suffix for command in commands for operand in command.operands
                              for suffix in operand.encrypted_suffixes))


def short_help(text):
    """The beginning of a help text, short enough for a list."""
    return re.split(r"; | \(|, and |; - is ", text, maxsplit=1)[0].strip()


# bash

BASH_END = r"""  if [[ $takes != words && $is_value == no && $current == -* ]]; then
    takes=words words=$options
  elif [[ $takes == choices ]]; then
    ((COMP_CWORD == at + depth)) && takes=words || takes=files
  fi
  case $takes in
    words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
    nothing) ;;
    folders) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    *)
ENCRYPTED
      if ((${#COMPREPLY[@]} == 0)); then
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      ;;
  esac
  [[ $takes == words ]] || compopt -o filenames 2>/dev/null
}
"""


def bash_end(commands):
    suffixes = suffixes_of(commands)
    encrypted = ["      if [[ $takes == encrypted ]]; then",
                 "        # Encrypted files first; any file when there is none.",
                 "        mapfile -t COMPREPLY < <(",
                 *(f"          compgen -f -X '!*{suffix}' -- \"$current\"" for suffix in suffixes),
                 "        )",
                 '        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current")',
                 "      fi\n"]
    return BASH_END.replace("ENCRYPTED\n", "\n".join(encrypted) if suffixes else "")


def bash_values(command):
    """The branches of a `case` over the previous word: what completes its value."""
    by_kind = {}
    for option in command.shown_options:
        if option.value:
            kind = kind_of(option)
            words = " ".join(choices_of(option)) if kind == "choices" else ""
            by_kind.setdefault((kind, words), []).extend(option.names)
    for (kind, words), names in by_kind.items():
        pattern = " | ".join(names)
        if kind == "choices":
            yield f'{pattern}) takes=words is_value=yes words="{words}" ;;'
        elif kind == "kernels":
            yield f'{pattern}) takes=words is_value=yes words="auto $({KERNELS})" ;;'
        else:
            yield f"{pattern}) takes={kind} is_value=yes ;;"


def bash_command(command):
    options = " ".join(name for option in command.shown_options for name in option.names)
    lines = [f'options="{options}"']
    kind = kind_of_operands(command)
    if kind == "commands":
        lines.append(f'takes=words words="{" ".join(name for name, _ in command.commands)} $options"')
    else:
        lines.append(f"takes={kind} depth={len(command.words) + 1}")
    if kind == "choices":
        lines.append(f'words="{" ".join(command.operands[0].choices)}"')
    values = list(bash_values(command))
    if values:
        lines += ["case $previous in", *(f"  {value}" for value in values), "esac"]
    return lines


def bash(program, commands):
    function = function_of(program)
    names = f"{program} {program}.openmpi {program}.mpich" if program == "paes-mpi" else program
    lines = [LICENCE, f"# Completion of {program}(1) for bash. {MADE}",
             f"# Installed as bash-completion/completions/{program}.",
             f"# Behind a launcher, too, for who asks for it: complete -o default -F {function} mpirun mpiexec srun"
             if program == "paes-mpi" else "",
             f"{function}() {{",
             "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}",
             '  local at command="" options="" words="" takes=nothing is_value=no depth=1',
             "  COMPREPLY=()",
             "  # Where the program stands: a launcher and its options may come before.",
             "  for ((at = 0; at < COMP_CWORD; at++)); do",
             f"    [[ ${{COMP_WORDS[at]##*/}} != {program} && ${{COMP_WORDS[at]##*/}} != {program}.* ]] || break",
             "  done",
             "  ((at < COMP_CWORD)) || return"]
    if commands[0].commands:
        lines.append("  ((COMP_CWORD == at + 1)) || command=${COMP_WORDS[at + 1]}")
    for group in commands[1:]:
        if group.commands:
            lines.append(f"  [[ $command != {group.words[0]} ]] || ((COMP_CWORD == at + 2)) ||"
                         ' command+=" ${COMP_WORDS[at + 2]}"')
    lines.append("  case $command in")
    for command in commands:
        lines.append(f'    "{" ".join(command.words)}")')
        lines += [f"      {line}" for line in bash_command(command)]
        lines.append("      ;;")
    lines.append("  esac")
    return "\n".join(line for line in lines if line) + "\n" + bash_end(commands) + f"complete -F {function} {names}\n"


# zsh


def zsh_quoted(text):
    return text.replace("'", "'\\''")


def zsh_action(option, program):
    kind = kind_of(option)
    return {"kernels": function_of(program) + "_kernels", "choices": f"({' '.join(choices_of(option))})",
            "files": "_files", "folders": "_files -/", "nothing": ""}[kind]


def zsh_option(option, program):
    help_text = zsh_quoted(short_help(option.help)).replace("[", "\\[").replace("]", "\\]")
    message = option.names[-1].lstrip("-") if option.choices else option.value.replace(":", " ").lower()
    value = f":{message}:{zsh_action(option, program)}" if option.value else ""
    if len(option.names) == 1:
        return f"'{'*' if option.repeats else ''}{option.names[0]}[{help_text}]{value}'"
    first = "*" if option.repeats else f"({' '.join(option.names)})"
    return f"'{first}'{{{','.join(option.names)}}}'[{help_text}]{value}'"


def zsh_operands(command):
    suffixes = "|".join(suffix.removeprefix(".") for suffix in suffixes_of([command]))
    encrypted = f'_files -g "*.({suffixes})(-.)"'
    kind = kind_of_operands(command)
    if kind == "choices":
        return [f"'1:{command.operands[0].name.lower()}:({' '.join(command.operands[0].choices)})'", "'*:file:_files'"]
    action = {"files": "_files", "folders": "_files -/", "encrypted": encrypted, "nothing": ""}[kind]
    return [f"'*:{command.operands[0].name.lower()}:{action}'"] if action else []


def zsh_arguments(command, program):
    words = [zsh_option(option, program) for option in command.shown_options]
    words += zsh_operands(command) if not command.commands else []
    return ["_arguments -s \\", *(f"  {word} \\" for word in words[:-1]), f"  {words[-1]}"]


def zsh_described(command):
    lines = ["commands=("]
    lines += [f"  '{name}:{zsh_quoted(short_help(summary))}'" for name, summary in command.commands]
    return [*lines, ")", "_describe command commands"]


def zsh_group(command, commands, program):
    """Completes a command that has subcommands; its name is words[1]."""
    own = len(command.words)
    lines = ["if ((CURRENT == 2)) && [[ $words[2] == -* ]]; then",
             *(f"  {line}" for line in zsh_arguments(command, program)),
             "  return", "elif ((CURRENT == 2)); then", *(f"  {line}" for line in zsh_described(command)), "  return",
             "fi", "shift words", "((CURRENT--))", "case $words[1] in"]
    for one in commands:
        if one.words[:own] == command.words and len(one.words) == own + 1:
            inner = zsh_group(one, commands, program) if one.commands else zsh_arguments(one, program)
            lines += [f"  {one.words[-1]})", *(f"    {line}" for line in inner), "    ;;"]
    return [*lines, "esac"]


def zsh(program, commands):
    function = function_of(program)
    names = f"{program} {program}.openmpi {program}.mpich" if program == "paes-mpi" else program
    lines = [f"#compdef {names}", LICENCE, f"# Completion of {program}(1) for zsh. {MADE}"]
    if program == "paes-mpi":
        lines.append(f"# Behind a launcher, too, for who asks for it: compdef _{program} mpirun mpiexec srun")
    lines += ["", f"{function}_kernels() {{", "  local -a kernels",
              f'  kernels=(auto ${{(f)"$({KERNELS})"}})', "  _describe kernel kernels", "}", "", f"{function}() {{",
              "  local -a commands",
              "  # Where the program stands: a launcher and its options may come before.",
              f"  local -i at=${{words[(i)(|*/){program}(|.*)]}}", "  if ((at >= CURRENT)); then", "    _default",
              "    return", "  fi", "  shift $((at - 1)) words", "  ((CURRENT -= at - 1))"]
    first = commands[0]
    body = zsh_group(first, commands, program) if first.commands else zsh_arguments(first, program)
    return "\n".join([*lines, *(f"  {line}" for line in body), "}", "", f'{function} "$@"', ""])


# fish


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_option(option, program):
    words = [f"-{'l' if name.startswith('--') else 's'} {name.lstrip('-')}" for name in option.names]
    if option.value:
        kind = kind_of(option)
        words.append({"kernels": f"-x -a '({function_of(program)}_kernels)'",
                      "choices": f"-x -a '{' '.join(choices_of(option))}'", "files": "-r",
                      "folders": "-x -a '(__fish_complete_directories)'", "nothing": "-x"}[kind])
    return " ".join([*words, "-d", fish_quoted(short_help(option.help))])


def fish_command(command, program):
    condition = f"-n '{function_of(program)}_in {' '.join(command.words)}'" if command.words else ""
    if not command.words and command.commands:
        condition = f"-n {function_of(program)}_in"
    before = f"complete -c {program} {condition}".rstrip()
    for name, summary in command.commands:
        yield f"{before} -f -a {name} -d {fish_quoted(short_help(summary))}"
    kind = kind_of_operands(command)
    if kind == "choices":
        yield f"{before} -a {fish_quoted(' '.join(command.operands[0].choices))}"
    elif kind == "folders":
        yield f"{before} -x -a '(__fish_complete_directories)'"
    for option in command.shown_options:
        yield f"{before} {fish_option(option, program)}"


def fish(program, commands):
    function = function_of(program)
    groups = " ".join(command.words[0] for command in commands[1:] if command.commands)
    lines = [LICENCE, f"# Completion of {program}(1) for fish. {MADE}"]
    if program == "paes-mpi":
        lines += ["# Behind a launcher, too, for who asks for it:",
                  "#     complete -c mpirun -x -a '(__fish_complete_subcommand --fcs-skip=2)'    "
                  "# mpirun -n 4 paes-mpi ..."]
    lines += [f"function {function}_kernels", "    echo auto", f"    {KERNELS}", "end", ""]
    if commands[0].commands:
        lines += ["# Whether the command that has been typed is this one.", f"function {function}_in",
                  "    set -l words (commandline -opc)[2..]", "    set -l depth 1"]
        if groups:
            lines += [f"    contains -- \"$words[1]\" {groups}; and set depth 2"]
        lines += ["    test \"$words[1..$depth]\" = \"$argv\"", "end", ""]
    for command in commands:
        lines += fish_command(command, program)
    if program == "paes-mpi":
        lines += [f"complete -c {program}.{library} -w {program}" for library in ("openmpi", "mpich")]
    return "\n".join(lines) + "\n"
