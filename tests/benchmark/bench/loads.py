"""Three kinds of host as loads: each is shell text that repeats until it is ended, in a scratch folder."""
import os
import signal
import subprocess

SOURCE = """#include <map>
#include <regex>
#include <string>
#include <vector>
std::map<std::string, std::vector<int>> places(const std::string& text) {
    std::map<std::string, std::vector<int>> found;
    const std::regex word{"[a-z]+(-[a-z]+)*"};
    for (std::sregex_iterator at{text.begin(), text.end(), word}, end; at != end; ++at) {
        found[at->str()].push_back(static_cast<int>(at->position()));
    }
    return found;
}
"""
PYTHON = """import json, re
rows = [{"name": f"row {i}", "values": list(range(i % 40))} for i in range(4000)]
text = json.dumps(rows)
words = {}
for word in re.findall(r"[a-z]+|[0-9]+", text):
    words[word] = words.get(word, 0) + 1
print(sorted(words.items(), key=lambda item: -item[1])[:3], len(json.loads(text)))
"""
PERL = r"""my %count; for my $i (1 .. 60000) { my $text = "line $i of " . ($i * 7 % 1000); $count{$1}++ if $text =~ /(\d+)$/; }
print join(" ", map { "$_=$count{$_}" } (sort keys %count)[0 .. 3]), "\n";
"""

LOADS = {
    # A build host: compilers, compression, version control; a few processes a second.
    "mixed": """g++ -std=c++20 -O1 -c source.cpp -o object.$$; xz -T1 -3 -c /usr/bin/perl | sha256sum
                gzip -c /bin/bash | sort | md5sum; python3 rows.py; git -C repository log --stat -20""",
    # A host of shell scripts: tens of processes a second.
    "short": """for f in /usr/share/doc/b*/copyright; do sha1sum "$f" | cut -c1-9; grep -c the "$f"; done
                ls -R /usr/share/doc | wc -l; uname -m; date; id -u""",
    # A host of scripts: many different call chains.
    "interpreters": """python3 rows.py; perl lines.pl; git -C repository log -p -5; python3 -c 'import email, http.client, decimal'""",
}


def prepare(folder):
    os.makedirs(folder, exist_ok=True)
    for name, text in (("source.cpp", SOURCE), ("rows.py", PYTHON), ("lines.pl", PERL)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    git = ["git", "-C", os.path.join(folder, "repository"), "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    subprocess.run(["git", "init", "-q", git[2]], check=True)
    for number in range(20):
        with open(os.path.join(git[2], f"file{number % 5}"), "a", encoding="utf-8") as file:
            file.writelines(f"line {line} of commit {number}\n" for line in range(200))
        subprocess.run(git + ["add", "."], check=True)
        subprocess.run(git + ["commit", "-q", "-m", f"commit {number}"], check=True)


class Load:
    """One load in as many copies as there are processors, while the context lasts."""

    def __init__(self, name, folder):
        self.command = f"while :; do {LOADS[name]}; done >/dev/null 2>&1"
        self.folder = folder
        self.copies = []

    def __enter__(self):
        for _ in range(os.cpu_count()):
            self.copies.append(subprocess.Popen(["sh", "-c", self.command], cwd=self.folder, start_new_session=True))
        return self

    def __exit__(self, *_):
        for copy in self.copies:
            os.killpg(copy.pid, signal.SIGKILL)
            copy.wait()
