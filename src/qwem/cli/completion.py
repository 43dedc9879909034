"""Shell completion of subcommands and options: scripts for bash, zsh and fish."""

from __future__ import annotations

import argparse

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
_qwem() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    case "$word" in -*) ;; *) [ "$COMP_CWORD" -gt 1 ] && words="" ;; esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _qwem qwem
"""


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return a script that completes the commands of `parser`; zsh reads bash's."""
    commands = _commands(parser)
    if shell == "fish":
        lines = [f"complete -c qwem -n __fish_use_subcommand -xa '{' '.join(commands)}'"]
        lines += [
            f"complete -c qwem -n '__fish_seen_subcommand_from {name}' -l {option[2:]}"
            for name, options in commands.items()
            for option in options
            if option.startswith("--")
        ]
        return "\n".join(lines) + "\n"
    cases = "\n".join(
        f'            {name}) words="{" ".join(options)}" ;;' for name, options in commands.items()
    )
    script = _BASH.format(commands=" ".join(commands), cases=cases)
    return f"autoload -U +X bashcompinit && bashcompinit\n{script}" if shell == "zsh" else script


def option_names(parser: argparse.ArgumentParser) -> set[str]:
    """Return the names of all options of all subcommands, as settings have them."""
    options = {option for each in _commands(parser).values() for option in each}
    return {option[2:].replace("-", "_") for option in options if option.startswith("--")}


def _commands(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Return the options of each subcommand."""
    (commands,) = (
        action for action in parser._actions if isinstance(action, argparse._SubParsersAction)
    )
    return {
        name: [option for action in command._actions for option in action.option_strings]
        for name, command in commands.choices.items()
    }


class PrintCompletion(argparse.Action):
    """The option ``--completion SHELL``, which prints a script and exits."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Print the script."""
        import sys

        sys.stdout.write(completion_script(parser, str(values)))
        parser.exit()
