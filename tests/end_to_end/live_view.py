#!/usr/bin/env python3
"""`perfleet top` without a session: the interactive view in tmux, at 80 x 24 and 200 x 50, and tables off a terminal.

live_view.py BIN_DIR WORKLOAD PART: WORKLOAD spends 70, 20 and 10 % of its time in work_a, work_b and work_c. Prints a line a
check that fails; exit status 1 when one does.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TIMEOUT_S = 90
KEYS = "q:quit /:filter"
failed = []


def check(holds, what):
    if not holds:
        failed.append(what)
        print(what, flush=True)


class User:
    """A shell in tmux, with folders of its own; a program that works."""

    def __init__(self, programs, workload):
        self.folder = tempfile.mkdtemp(prefix="perfleet-live-")
        self.home = os.path.join(self.folder, "home")
        self.temporary = os.path.join(self.folder, "tmp")
        os.mkdir(self.home)
        os.mkdir(self.temporary)
        self.workload = os.path.abspath(workload)
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("XDG_", "TMUX", "NO_COLOR", "DEBUGINFOD"))}
        self.environment |= {"HOME": self.home, "TMPDIR": self.temporary, "LC_ALL": "C.UTF-8",
                             "PATH": os.path.abspath(programs) + ":" + os.environ["PATH"]}
        self.socket = os.path.join(self.folder, "tmux")
        self.shell_count = 0
        self.worker = subprocess.Popen([self.workload, "100000"], stdout=subprocess.DEVNULL)

    def close(self):
        self.worker.kill()
        self.worker.wait()
        self.tmux("kill-server")
        shutil.rmtree(self.folder, ignore_errors=True)

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words], env=self.environment,
                              capture_output=True, timeout=TIMEOUT_S)
        return done.stdout.decode("utf-8", "replace")

    def open_shell(self, columns, lines):
        self.tmux("kill-server")
        self.shell_count += 1  # a server that ends may still have the socket
        self.socket = os.path.join(self.folder, f"tmux{self.shell_count}")
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(lines), "PS1='$ ' exec bash --norc --noprofile -i")
        self.wait(lambda screen: "$" in screen, "no prompt")

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def line(self, text):
        self.type(text)
        self.keys("Enter")

    def wait(self, holds, what):
        """The screen, once `holds` is true of it."""
        end = time.monotonic() + TIMEOUT_S
        while True:
            screen = self.screen()
            if holds(screen):
                return screen
            if time.monotonic() > end:
                check(False, f"{what}:\n{screen}")
                return screen
            time.sleep(0.1)

    def view(self, options):
        """Opens the view, and waits for a table."""
        self.line(f"perfleet top {options}; echo ended $?")
        return self.wait(lambda screen: KEYS in screen and "work_a" in screen, f"top {options} shows no table")

    def view_pid(self):
        pids = subprocess.run(["pgrep", "-P", self.tmux("display-message", "-p", "#{pane_pid}").strip(), "-x", "perfleet"],
                              capture_output=True, text=True).stdout.split()
        return int(pids[0])

    def modes(self):
        """The terminal's settings, as a program started by the shell finds them."""
        path = os.path.join(self.folder, "modes")
        self.line(f"stty -a > {path}.new && mv {path}.new {path}")
        end = time.monotonic() + TIMEOUT_S
        while not os.path.exists(path) and time.monotonic() < end:
            time.sleep(0.1)
        with open(path) as file:
            text = file.read()
        os.remove(path)
        return re.sub(r"rows \d+; columns \d+", "", text)

    def flags(self):
        """Whether the second screen is shown, and the cursor."""
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag}").strip()


def is_prompt(screen):
    lines = [line for line in screen.splitlines() if line.strip()]
    return bool(lines) and lines[-1].strip() == "$"


def is_restored(user, modes, what):
    check(user.modes() == modes, f"{what}: the terminal has other settings")
    check(user.flags() == "0 1", f"{what}: second screen and cursor are {user.flags()}")


def last_line(screen):
    return screen.rstrip("\n").splitlines()[-1]


def view_of(user, columns, lines, others):
    user.open_shell(columns, lines)
    modes = user.modes()
    size = f"{columns} x {lines}"

    first = user.view("-a")
    check(len(first.rstrip("\n").splitlines()) == lines and last_line(first).startswith(KEYS), f"{size}: other height")
    check(re.match(r"perfleet top: [\d,]+ samples? of \S+ in \d\.\d s.* idle \d+\.\d %, hidden", first),
          f"{size}: the first line is {first.splitlines()[0]}")
    check("swapper" not in first, f"{size}: the idle task is shown")
    check(user.flags() == "1 0", f"{size}: the view isn't on the second screen, or has a cursor")

    # All keys fit the narrowest terminal.
    check("h:help" in last_line(first), f"{size}: keys are cut: {last_line(first)}")
    user.keys("h")
    user.wait(lambda screen: "instructions of the selected function" in screen, f"{size}: no help")
    user.keys("Escape")
    user.wait(lambda screen: "work_a" in screen, f"{size}: the table isn't back")

    user.keys("/")
    user.type("work_bx")
    user.keys("BSpace")
    user.wait(lambda screen: "filter: work_b_" in screen, f"{size}: what is typed isn't shown")
    user.keys("Enter")
    user.wait(lambda screen: "work_b" in screen and "work_a" not in screen and "filter: *work_b*" in screen,
              f"{size}: the filter doesn't")
    user.keys("Escape")
    user.wait(lambda screen: "work_a" in screen, f"{size}: the filter stays")

    user.keys("i")
    user.wait(lambda screen: "hidden" not in screen and "work_a" in screen, f"{size}: idle stays hidden")
    user.keys("i", "b")
    user.wait(lambda screen: "shares_workload" in screen and "work_a" not in screen, f"{size}: no rows by image")
    user.keys("b", "b", "b")
    user.wait(lambda screen: "work_a" in screen, f"{size}: no rows by symbol")

    user.keys("t")
    user.wait(lambda screen: "(total)" in screen, f"{size}: no totals")
    seconds = lambda screen: float((re.search(r" in (\d+\.\d) s", screen) or [0, 0])[1])
    before = seconds(user.wait(lambda screen: seconds(screen) > 3, f"{size}: totals don't grow"))
    user.keys("z")
    user.wait(lambda screen: "(total)" in screen and seconds(screen) < before, f"{size}: zero doesn't")
    user.keys("t")

    user.tmux("resize-window", "-x", str(others[0]), "-y", str(others[1]))
    user.wait(lambda screen: len(screen.rstrip("\n").splitlines()) == others[1] and last_line(screen).startswith(KEYS)
              and "work_a" in screen, f"{size}: doesn't follow a resize")
    user.tmux("resize-window", "-x", str(columns), "-y", str(lines))
    user.wait(lambda screen: len(screen.rstrip("\n").splitlines()) == lines and last_line(screen).startswith(KEYS),
              f"{size}: doesn't follow a resize back")

    user.keys("q")
    user.wait(lambda screen: "ended 0" in screen and is_prompt(screen), f"{size}: q doesn't quit with 0")
    is_restored(user, modes, f"{size}, q")

    for name, end in (("Ctrl-C", lambda: user.keys("C-c")), ("TERM", lambda: os.kill(user.view_pid(), signal.SIGTERM))):
        user.keys("C-l")
        user.line("clear")
        user.view("-a")
        end()
        user.wait(lambda screen: "ended 0" in screen and is_prompt(screen), f"{size}: {name} doesn't end it with 0")
        is_restored(user, modes, f"{size}, {name}")

    for name, stop in (("Ctrl-Z", lambda: user.keys("C-z")), ("STOP", lambda: os.kill(user.view_pid(), signal.SIGSTOP))):
        user.line("clear")
        user.line("perfleet top -a")
        user.wait(lambda screen: KEYS in screen and "work_a" in screen, f"{size}: no view before {name}")
        stop()
        user.wait(lambda screen: "Stopped" in screen, f"{size}: {name} doesn't stop it")
        check(user.modes() == modes, f"{size}, {name}: the stopped view leaves other settings")
        if name == "Ctrl-Z":  # SIGSTOP leaves no time for it
            check(user.flags() == "0 1", f"{size}: second screen and cursor of the stopped view are {user.flags()}")
        user.line("clear; fg")
        user.wait(lambda screen: KEYS in screen and "work_a" in screen and "Stopped" not in screen,
                  f"{size}: no view after {name} and CONT")
        user.keys("/", "w", "Enter")
        user.wait(lambda screen: "filter: *w*" in screen, f"{size}: no keys after {name} and CONT")
        user.keys("q")
        user.wait(is_prompt, f"{size}: no quit after {name} and CONT")
        is_restored(user, modes, f"{size}, {name} and CONT")


def functions_open(user):
    user.open_shell(100, 30)
    user.view(f"-g --call-graph fp -p {user.worker.pid}")

    def share_of_work_a(screen):
        row = next((line for line in screen.splitlines() if "work_a" in line), "0 0%")
        return float(row.split()[1].rstrip("%"))

    # The first samples are of a few rounds, whose lengths are random.
    user.wait(lambda screen: share_of_work_a(screen) > 50, "work_a has few samples")
    user.keys("c")
    user.wait(lambda screen: "callers of work_a" in screen and "main" in screen, "no callers")
    user.keys("Left", "a")
    user.wait(lambda screen: re.search(r"work_a in .*shares_workload: [\d,]+ samples", screen) and "imul" in screen,
              "no instructions")
    user.keys("q")
    user.wait(is_prompt, "no end after annotate")


def command_has_files(user):
    user.open_shell(80, 24)
    modes = user.modes()
    user.view(f"-- sh -c 'echo of the command; echo its error >&2; {user.workload} 3'")
    check("of the command" not in user.screen(), "the command's output is in the view")
    user.wait(lambda screen: "the profile has ended" in screen and "(total)" in screen, "the view doesn't say that it ended")
    user.keys("q")
    screen = user.wait(lambda screen: "ended 0" in screen and is_prompt(screen), "no end of a command")
    is_restored(user, modes, "after a command")
    text = re.sub(r"\s*\n\s*", " ", screen)
    paths = sorted(re.findall(r"output is in (\S+)", text))
    check(len(paths) == 2, f"names no files: {screen}")
    contents = {os.path.splitext(path)[1]: open(path).read() for path in paths}
    check(contents.get(".out", "").startswith("of the command\n"), f"standard output is {contents}")
    check(contents.get(".err") == "its error\n", f"standard error is {contents}")
    for path in paths:
        os.remove(path)

    # A signal ends the command, too, and the view by the same signal.
    user.line("clear")
    user.line(f"perfleet top -- {user.workload} 1000")
    user.wait(lambda screen: KEYS in screen and "work_a" in screen, "no view of a command")
    pid = user.view_pid()
    user.keys("C-c")
    user.wait(is_prompt, "Ctrl-C doesn't end a command's view")
    user.line("echo ended $?")
    user.wait(lambda screen: "ended 130" in screen, "Ctrl-C doesn't end it by the signal")
    is_restored(user, modes, "after Ctrl-C of a command")
    check(not subprocess.run(["pgrep", "-P", str(pid)], capture_output=True).stdout, "the command goes on")


def nothing_is_left(user):
    """After kill -9: no file, and no process that goes on."""
    before = {os.path.join(folder, name) for folder, _, names in os.walk(user.folder) for name in names}
    view = subprocess.Popen(["perfleet", "top", "-a", "-g"], env=user.environment, cwd=user.folder,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    check(b"samples" in view.stdout.readline(), "no table before kill -9")
    view.kill()
    view.wait()
    after = {os.path.join(folder, name) for folder, _, names in os.walk(user.folder) for name in names}
    check(after == before, f"kill -9 leaves {after - before}")


def tables(user):
    def run(*words, interrupt=True, **environment):
        view = subprocess.Popen(["perfleet", "top", *words], env=user.environment | environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        lines = []
        while interrupt and sum(line.startswith("20") for line in lines) < 3:
            lines.append(view.stdout.readline())
        if interrupt:
            view.send_signal(signal.SIGINT)
        out, err = view.communicate(timeout=TIMEOUT_S)
        return view.returncode, "".join(lines) + out, err

    status, out, err = run("-a", "-d", "0.5")
    check(status == 0, f"SIGINT of tables: {status} {err}")
    check("\x1b" not in out, "tables have escape sequences")
    check(re.search(r"^20\S+Z  \d+ samples? of \S+ in 0\.5 s; .*idle", out), f"no first line: {out[:300]}")
    shares = [float(percent) for percent in re.findall(r"(\d+\.\d+)%.* work_a$", out, re.MULTILINE)]
    check(len(shares) >= 3, f"not a table a period: {out}")
    status, out, _ = run("-p", str(user.worker.pid), "-z", "-d", "0.5")
    times = [float(text) for text in re.findall(r" in (\d+\.\d) s", out)]
    check(times == sorted(times) and times[-1] > times[0], f"-z shows no totals: {times}")
    check(all(re.search(r"work_" + name + "$", out, re.MULTILINE) for name in "abc"), f"functions are missing: {out}")
    status, out, _ = run("-a", "--idle", "-d", "0.5")
    check("hidden" not in out, "--idle hides the idle task")

    # Each table of consecutive periods has rows of its own: together they are all.
    status, out, err = run("-d", "0.3", "--format", "json", "--", user.workload, "2", interrupt=False)
    answers = [json.loads(line) for line in out.splitlines()]
    total = sum(answer["measure"]["total"] for answer in answers) / 1e9 if answers else 0
    check(status == 0 and 1.9 < total < 2.6, f"tables of a command of 2 s have {total} s: {status} {err}")
    status, _, _ = run("--", "sh", "-c", "exit 7", interrupt=False)
    check(status == 7, f"the command's exit status 7 is {status}")
    status, _, err = run("--", "not-a-command", interrupt=False)
    check(status == 127 and "not-a-command" in err, f"a missing command: {status} {err}")

    # The oldest rows are removed, in memory that stays small.
    view = subprocess.Popen(["perfleet", "top", "-a", "--idle", "-F", "9999", "-z", "--memory", "1m", "-d", "1"],
                            env=user.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    end = time.monotonic() + TIMEOUT_S
    line = ""
    while "older ones dropped" not in line and time.monotonic() < end:
        line = view.stdout.readline()
    view.send_signal(signal.SIGINT)
    rest = view.communicate(timeout=TIMEOUT_S)[0]
    check("older ones dropped" in line and "left out" not in line + rest, f"1 MiB: {line}")
    check(view.returncode == 0, f"1 MiB: exit status {view.returncode}")

    user.open_shell(80, 24)
    user.line(f"TERM=dumb perfleet top -d 0.5 -- {user.workload} 1; echo ended $?")
    screen = user.wait(lambda screen: "ended 0" in screen, "no tables on a dumb terminal")
    check(KEYS not in screen and "work_a" in screen, f"a dumb terminal has no table: {screen}")


def main():
    user = User(sys.argv[1], sys.argv[2])
    os.environ["PATH"] = user.environment["PATH"]
    try:
        for check_part in {"narrow": [lambda of: view_of(of, 80, 24, (200, 50))],
                           "wide": [lambda of: view_of(of, 200, 50, (80, 24))],
                           "rest": [functions_open, command_has_files, nothing_is_left, tables]}[sys.argv[3]]:
            check_part(user)
    finally:
        user.close()
    print(f"{len(failed)} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
