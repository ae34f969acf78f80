"""`giveortake completion`: a script by which a shell completes commands, actions, options and their choices."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from giveortake.cli.shell import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BASH, _FISH = "~/.local/share/bash-completion/completions", "~/.config/fish/completions"
_INSTALL = {
    "bash": f"mkdir -p {_BASH} && giveortake completion bash > {_BASH}/giveortake",
    "zsh": "mkdir -p ~/.zfunc && giveortake completion zsh > ~/.zfunc/_giveortake   (in $fpath before compinit)",
    "fish": f"mkdir -p {_FISH} && giveortake completion fish > {_FISH}/giveortake.fish",
}


@final
@dataclass(frozen=True, slots=True)
class Position:
    """A point on the command line: the command and action typed so far, and what may follow, each with its help."""

    path: tuple[str, ...]
    actions: dict[str, str]
    options: dict[str, str]
    choices: dict[str, tuple[str, ...]]  # of an option that takes one of a few values

    @property
    def prefix(self) -> str:
        """The command and action as they are typed."""
        return " ".join(self.path)


def run(arguments: argparse.Namespace) -> int:
    """Print the script for a shell."""
    from giveortake.cli import parser_of_all  # noqa: PLC0415 (it imports the commands, of which this is one)

    sys.stdout.write(_SCRIPTS[arguments.shell](list(positions(parser_of_all()))))
    return 0


def positions(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[Position]:
    """Every point of a command line at which something can be completed, the outermost first."""
    nested: dict[str, argparse.ArgumentParser] = {}
    actions: dict[str, str] = {}
    options: dict[str, str] = {}
    choices: dict[str, tuple[str, ...]] = {}
    for action in parser._actions:  # noqa: SLF001 (argparse has no other way to ask what a parser takes)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 (as above)
            nested = dict(action.choices)
            help_texts = {choice.dest: choice.help or "" for choice in action._choices_actions}  # noqa: SLF001 (as above)
            actions = {name: help_texts.get(name, "") for name in nested}
        elif not action.option_strings and action.choices is not None:
            actions |= dict.fromkeys(map(str, action.choices), "")
        for option in action.option_strings:
            options[option] = (action.help or "").replace("%%", "%")
            if action.choices is not None:
                choices[option] = tuple(map(str, action.choices))
    yield Position(path, actions, options, choices)
    for name, inner in nested.items():
        yield from positions(inner, (*path, name))


def bash(positions: list[Position]) -> str:
    """The script for bash: words that begin with a dash are options, others actions or the names of files."""
    paths = "|".join(f'"{position.prefix}"' for position in positions if position.path)
    position_cases = "".join(
        f'        "{position.prefix}") actions="{" ".join(position.actions)}" '
        f'options="{" ".join(position.options)}" ;;\n'
        for position in positions
    )
    choice_cases = "".join(
        f'        "{position.prefix} {option}"*) choices="{" ".join(values)}" ;;\n'
        for position in positions
        for option, values in position.choices.items()
    )
    return (
        f"# bash completion: {_INSTALL['bash']}\n"
        "_giveortake() {\n"
        '    local word said="" actions="" options="" choices=""\n'
        '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"\n'
        '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do\n'
        f'        case "${{said:+$said }}$word" in {paths}) said="${{said:+$said }}$word" ;; esac\n'
        "    done\n"
        f'    case "$said" in\n{position_cases}    esac\n'
        f'    case "$said $previous" in\n{choice_cases}    esac\n'
        '    if [ -n "$choices" ]; then COMPREPLY=($(compgen -W "$choices" -- "$current"))\n'
        '    elif [ "${current:0:1}" = - ]; then COMPREPLY=($(compgen -W "$options" -- "$current"))\n'
        '    else COMPREPLY=($(compgen -W "$actions" -- "$current")); fi\n'
        "}\n"
        "complete -o default -F _giveortake giveortake\n"
    )


def zsh(positions: list[Position]) -> str:
    """The script for zsh: as for bash, with the help of each word."""
    paths = "|".join(f'"{position.prefix}"' for position in positions if position.path)
    position_cases = "".join(
        f'    "{position.prefix}")\n'
        f"      actions=({_described(position.actions)})\n"
        f"      options=({_described(position.options)}) ;;\n"
        for position in positions
    )
    choice_cases = "".join(
        f'    "{position.prefix} {option}") choices=({" ".join(values)}) ;;\n'
        for position in positions
        for option, values in position.choices.items()
    )
    return (
        f"#compdef giveortake\n# zsh completion: {_INSTALL['zsh']}\n"
        "_giveortake() {\n"
        '  local word said="" previous="${words[CURRENT-1]}"\n'
        "  local -a actions options choices\n"
        '  for word in "${(@)words[2,CURRENT-1]}"; do\n'
        f'    case "${{said:+$said }}$word" in {paths}) said="${{said:+$said }}$word" ;; esac\n'
        "  done\n"
        f'  case "$said" in\n{position_cases}  esac\n'
        f'  case "$said $previous" in\n{choice_cases}  esac\n'
        "  if (( $#choices )); then compadd -a choices\n"
        '  elif [[ "$PREFIX" == -* ]]; then _describe option options\n'
        "  elif (( $#actions )); then _describe action actions || _files\n"
        "  else _files; fi\n"
        "}\n"
        'if [ "$funcstack[1]" = "_giveortake" ]; then _giveortake "$@"; else compdef _giveortake giveortake; fi\n'
    )


def fish(positions: list[Position]) -> str:
    """The script for fish: one line for each word, with the condition under which it is offered."""
    lines = [
        f"# fish completion: {_INSTALL['fish']}",
        "function __giveortake_said",
        "    set -l said",
        "    for word in (commandline -opc)[2..-1]",
        '        switch "$said $word"',
        f"            case {' '.join(_quoted(f' {position.prefix}') for position in positions if position.path)}",
        '                set said "$said $word"',
        "        end",
        "    end",
        '    test "$said" = "$argv[1]"',
        "end",
    ]
    for position in positions:
        condition = '__giveortake_said "{}"'.format("".join(f" {word}" for word in position.path))
        completion = f"complete -c giveortake -n {_quoted(condition)}"
        for name, help_text in position.actions.items():
            lines.append(f"{completion} -f -a {name} -d {_quoted(help_text)}")
        for name, help_text in position.options.items():
            flag = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            values = f" -x -a {_quoted(' '.join(position.choices[name]))}" if name in position.choices else ""
            lines.append(f"{completion} {flag}{values} -d {_quoted(help_text)}")
    return "\n".join(lines) + "\n"


def _described(help_texts: dict[str, str]) -> str:
    return " ".join(_quoted(f"{name}:{text}" if text else name) for name, text in help_texts.items())


def _quoted(text: str) -> str:
    r"""A text in single quotes, which a shell takes as it is.

    >>> print(_quoted("the user's own"))
    'the user'\''s own'
    """
    return "'" + text.replace("'", "'\\''") + "'"


_SCRIPTS: dict[str, Callable[[list[Position]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="which shell the script is for")


COMMAND = Command(
    summary="print a script that lets your shell complete commands and options",
    description="Print a completion script. Nothing is installed: the first line of the script says where it goes.",
    examples=("giveortake completion bash", "giveortake completion fish"),
    add_arguments=_add_arguments,
    run=run,
)
