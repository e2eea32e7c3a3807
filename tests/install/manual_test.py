#!/usr/bin/env python3
"""Shows that manual pages and completion have every option that --help has, that groff and mandoc find no fault in the
pages, and that real shells complete commands, options, choices and folders."""

import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile

# The text typed, and what must and must not be among the completions.
BASH_CASES = [
    (["perfleet", "t"], {"top", "tree", "targets", "tracepoints"}, {"record", "--help"}),
    (["perfleet", "top", "--for"], {"--format"}, {"--from", "--data"}),
    (["perfleet", "top", "--format", ""], {"text", "json", "csv"}, {"--data"}),
    (["perfleet", "top", "--format", "=", "j"], {"json"}, {"text"}),
    (["perfleet", "top", "--data", ""], {"a folder"}, {"file"}),
    (["perfleet", "top", "--key", ""], {"a folder", "file"}, {"--data"}),
    (["perfleet", "control", "s"], {"start", "stop"}, {"sessions"}),
    (["perfleet", "completion", ""], {"bash", "zsh", "fish"}, set()),
    (["perfleet", "record", "--", "gzi"], {"gzip"}, {"--data"}),
    (["perfleet", "record", "--", "gzip", "f"], {"file"}, {"gzip"}),
    (["perfleet-gateway", "--log-level", "w"], {"warning"}, {"error"}),
    (["perfleet-collector", "--sp"], {"--spool", "--spool-size", "--spool-sync"}, {"--gateway"}),
]
FISH_CASES = [
    ("perfleet t", {"top", "tree"}, {"record"}),
    ("perfleet top --for", {"--format"}, {"--from"}),
    ("perfleet top --format ", {"text", "json", "csv"}, {"--data"}),
    ("perfleet top --data ", {"a folder/"}, {"file"}),
    ("perfleet control s", {"start", "stop"}, {"sessions"}),
    ("perfleet-gateway --log-level w", {"warning"}, {"error"}),
]


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100, stdin=subprocess.DEVNULL,
                          **options)


def options_of_help(text):
    """The names at the beginnings of lines (-e,--event), in paragraphs that begin with one behind a title."""
    found = set()
    for paragraph in re.findall(r"^\w[^\n]*:\n((?:  -).*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL):
        for names in re.findall(r"^  (-[\w,-]+)", paragraph, re.MULTILINE):
            found |= set(names.split(","))
    return found


def commands_of_help(text):
    if "\nSubcommands:" not in text:
        return []
    return re.findall(r"^  ([a-z][\w-]*)", text.split("\nSubcommands:")[1], re.MULTILINE)


def check_page(share, path, options, problems):
    section = "1" if path[0] == "perfleet" else "8"
    page = os.path.join(share, "man", "-".join(path) + "." + section)
    if not os.path.isfile(page):
        problems.append(f"no {page}")
        return
    with open(page, encoding="ascii") as file:
        text = file.read().replace("\\-", "-")
    for option in options:
        if not re.search(r"^(\\fB[^ ]+, )*\\fB" + re.escape(option) + r"\\fR", text, re.MULTILINE):
            problems.append(f"{page}: no {option}")
    status = text.split(".SH EXIT STATUS\n")[1].split(".SH ")[0]
    if not status.startswith("Where a COMMAND ran to its end") or re.search(r"\bExit status\b", text.replace(status, "")):
        problems.append(f"{page}: not one table of exit statuses, and what differs below it")


def check_faults(share, problems):
    pages = sorted(glob.glob(os.path.join(share, "man", "*")))
    pages.append(os.path.join(share, "..", "tools", "manual", "perfleet.conf.5"))
    for page in pages:
        answer = run("groff", "-man", "-ww", "-Tutf8", "-z", page)
        if answer.returncode or answer.stderr:
            problems.append(f"{page}: groff: {answer.stderr}")
        # Lines are as long as descriptions are: a matter of style that concerns only editors.
        answer = run("mandoc", "-Tlint", "-Wwarning", page)
        if answer.returncode:
            problems.append(f"{page}: mandoc: {answer.stdout}{answer.stderr}")
    return len(pages)


def check_scripts(share, program, path, options, problems):
    """Each script has the options of each command."""
    with open(os.path.join(share, "bash", program), encoding="utf-8") as file:
        bash = file.read()
    key = " ".join(path[1:])
    words = re.search(rf"^        '{re.escape(key)}'\)\n.*\n *mapfile .*compgen -W '([^']*)'", bash, re.MULTILINE)
    missing = options - set(words.group(1).split() if words else [])
    with open(os.path.join(share, "zsh", "_" + program), encoding="utf-8") as file:
        zsh = file.read()
    function = "_" + "_".join(path) + "() {"
    body = zsh[zsh.index(function):].split("\n}\n")[0] if function in zsh else ""
    with open(os.path.join(share, "fish", program + ".fish"), encoding="utf-8") as file:
        fish = [line for line in file if not path[1:] or f"__fish_seen_subcommand_from {path[-1]}'" in line]
    for option in options:
        name = option.lstrip("-")
        fish_option = f" -l {name} " if option.startswith("--") else f" -s {name} "
        if not re.search(r"[\s'{,*]" + re.escape(option) + r"[\s'+=,}\[]", body):
            missing.add(option + " (zsh)")
        if not any(fish_option in line for line in fish):
            missing.add(option + " (fish)")
    if missing:
        problems.append(f"completion of {' '.join(path)}: no {', '.join(sorted(missing))}")


def check_bash(share, folder, problems):
    for words, wanted, unwanted in BASH_CASES:
        script = os.path.join(share, "bash", words[0])
        line = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; '
                'function=$(complete -p "$1"); function=${function#*-F }; ${function%% *} "$1"; printf "%s\\n" "${COMPREPLY[@]}"')
        answer = run("bash", "--norc", "-c", line, "bash", script, *words, cwd=folder)
        found = set(answer.stdout.splitlines())
        if answer.stderr or not wanted <= found or unwanted & found:
            problems.append(f"bash: {' '.join(words)}: {sorted(found)[:20]} {answer.stderr}")


def check_fish(share, folder, problems):
    environment = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder + "/config", "XDG_DATA_HOME": folder + "/data"}
    for line, wanted, unwanted in FISH_CASES:
        script = os.path.join(share, "fish", line.split()[0] + ".fish")
        answer = run("fish", "--no-config", "-c", f"source '{script}'; complete -C '{line}'", cwd=folder, env=environment)
        found = {answer_line.split("\t")[0] for answer_line in answer.stdout.splitlines()}
        if answer.stderr or not wanted <= found or unwanted & found:
            problems.append(f"fish: {line}: {sorted(found)[:20]} {answer.stderr}")


def check_zsh(share, program, problems):
    """The script registers its function when it is sourced, and is found in a folder of completions."""
    line = ('autoload -Uz compinit; compinit -u -D; source "$1/_$2"; print $_comps[$2]; unset "_comps[$2]"; '
            'fpath=("$1" $fpath); compinit -u -D; print $_comps[$2]')
    answer = run("zsh", "-f", "-c", line, "zsh", os.path.join(share, "zsh"), program)
    if answer.stderr or answer.stdout.split() != 2 * ["_" + program]:
        problems.append(f"zsh: {program}: {answer.stdout}{answer.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    share = os.path.abspath(os.path.join(arguments.build, "share"))
    problems = []
    option_count = 0
    for program in arguments.programs:
        binary = os.path.join(arguments.build, "bin", program)
        help_text = run(binary, "--help").stdout
        paths = [[program]] + [[program, command] for command in commands_of_help(help_text)]
        for path in paths:
            options = options_of_help(run(binary, *path[1:], "--help").stdout)
            option_count += len(options)
            if not options:
                problems.append(f"{' '.join(path)} --help: no option")
            check_page(share, path, options, problems)
            check_scripts(share, program, path, options, problems)
        check_zsh(share, program, problems)
    page_count = check_faults(share, problems)
    with tempfile.TemporaryDirectory(prefix="perfleet-completion-") as folder:
        os.mkdir(os.path.join(folder, "a folder"))
        with open(os.path.join(folder, "file"), "w", encoding="utf-8"):
            pass
        check_bash(share, folder, problems)
        check_fish(share, folder, problems)
    print("\n".join(problems + [f"{page_count} pages, {option_count} options, {len(problems)} problems"]))
    return 1 if problems or not page_count or not option_count else 0


if __name__ == "__main__":
    sys.exit(main())
