#!/usr/bin/env python3
"""Checks the rules that hold the modules apart. Prints `file:line: what is wrong` and exits 1 when one is broken.

The rules are the tables below: permitted includes, the owner of each library, includes of freestanding code, a target for
every source, one name for each type, forbidden names of files, and forbidden words of texts.
"""

import argparse
import fnmatch
import os
import posixpath
import re
import sys

from source_tree import project_files

# --- Includes ---------------------------------------------------------------------------------------------------

MAY_INCLUDE = {
    "schemas": {"schemas"},
    "daemon": {"daemon", "schemas"},
    "target-collector": {"target-collector", "schemas"},
    "storage": {"storage", "schemas"},
    "gateway": {"gateway", "schemas", "storage"},
    "query-engine": {"query-engine", "schemas", "storage"},
    # And those headers of storage that a header of query-engine includes: they are part of what it offers.
    "exporters": {"exporters", "schemas", "query-engine"},
    "tools": {"tools", "schemas", "daemon", "target-collector", "storage", "gateway", "query-engine", "exporters"},
    "tests": {"tests", "schemas", "daemon", "target-collector", "storage", "gateway", "query-engine", "exporters", "tools"},
}

# The option table, and everything that has options on a host beside programs.
OPTION_TABLE = "daemon/option/"
HAVE_OPTIONS = ("query-engine/", "exporters/", "target-collector/linux/")

# What programs that contain gateways and collectors may include of them: folders and headers. The rest is theirs.
OFFERED = {
    "gateway": "gateway.h admission control",
    "target-collector": "intake linux probe process relay upload"
                        " source/linux/bpf/function_tracer.h source/linux/image/debug_file.h"
                        " source/linux/event source/linux/opening/event_counts.h source/linux/probe_area.h source/linux/probe_reader.h",
}
# Importers may include less: they take rows, batches and messages, and know nothing of sockets, orders and events.
OFFERED_TO_IMPORTERS = {
    "gateway": "admission",
    "target-collector": "intake source/sel4/log_buffer.h wire/frame_file.h linux/host",
}

# The order of the sub-folders of a module: each may include itself and those before it, so there are no circles. "." is
# the files of the module's own folder. Tests may include all.
FOLDER_ORDER = {
    "schemas": "vocabulary host text gzip columns perf sel4 wire session pprof otlp peers zmtp zeromq",
    "daemon": "terminal log option listen metrics service start command-line",
    "target-collector": "probe/perfleet probe ring message pmu process/unwind process records wire curve network metrics small source/sel4 bare-metal"
                        " source/linux/bpf source/linux/image source/linux/event source/linux/opening source/linux spool linux/host"
                        " intake/session intake/recording intake/perf-data intake/pprof intake/push linux/link linux/symbols linux upload relay"
                        " sel4/run sel4/kernel sel4/kernel/aarch64 sel4/kernel/riscv64 sel4/domain sel4/loader sel4/root/boot"
                        " sel4/root/aarch64 sel4/root/riscv64 sel4/root/x86_64 sel4/root library",
    "storage": "limits number model clock key block dictionary summary select engine engine/rados engine/rocksdb read compact store verify copy",
    "gateway": "counts wire process control admission ingest compaction retention metrics .",
    "query-engine": "limits ledger select symbol scan statistic/answer statistic/number statistic/session statistic/stack"
                    " statistic/latency statistic/diff statistic/profile statistic/kernel statistic/counter statistic service wire http http/pyroscope http/push http/api .",
    "exporters": "sink report figure profile rows script timeline * format",  # no format includes another
    "tools": "perfleet/shell perfleet/import/session perfleet/import perfleet/mcp perfleet/query perfleet/send perfleet/session perfleet/function perfleet/record"
             " perfleet/live perfleet/store perfleet",
}

# What a unit test may include beyond its folder's rule: real neighbours instead of imitations.
UNIT_TESTS_MAY_ALSO_INCLUDE = {
    "gateway": ("target-collector/message/", "target-collector/ring/", "target-collector/wire/"),
    "storage": ("target-collector/message/",),
    "query-engine": ("target-collector/message/",),
    "exporters": ("storage/",),
}
GOLDEN_FILES = "tests/golden/"  # any unit test may read them

# --- Libraries ------------------------------------------------------------------------------------------------------


class Library:
    def __init__(self, name, headers, owners, in_unit_tests=False, in_main=False):
        self.name = name
        self.headers = re.compile(headers)
        self.owners = owners
        self.in_unit_tests = in_unit_tests
        self.in_main = in_main

    def is_owned_by(self, path):
        return (path.startswith(self.owners) or (self.in_unit_tests and is_unit_test(path))
                or (self.in_main and is_main(path)))


LIBRARIES = [
    Library("ZeroMQ", r"zmq(_\w+)?\.h(pp)?$", ("schemas/zeromq/connection.cpp", "tests/"), in_unit_tests=True),  # in tests a peer to be held against
    Library("libsodium", r"sodium\.h$", ("schemas/zmtp/", "exporters/sink/", "tests/"), in_unit_tests=True),
    Library("RocksDB", r"rocksdb/", ("storage/engine/", "tests/benchmark/")),
    Library("librados", r"rados/librados", ("storage/engine/rados/",)),
    Library("libelf/libdw", r"(libelf|gelf|nlist|libdw|libdwfl|dwarf)\.h$|elfutils/", ("query-engine/symbol/",),
            in_unit_tests=True),
    Library("libbpf", r"bpf/\w+\.h$", ("target-collector/source/linux/bpf/",)),
    Library("libiberty", r"libiberty/", ("query-engine/symbol/",)),
    Library("Boost.Math", r"boost/math/", ("query-engine/statistic/number/distribution.cpp",)),
    Library("Boost.Beast", r"boost/(asio|beast)/", ("query-engine/http/http_server.cpp", "tools/perfleet/send/otlp_sender.cpp")),
    Library("OpenSSL", r"openssl/", ("query-engine/http/tls.cpp", "tools/perfleet/send/otlp_sender.cpp")),
    Library("RE2", r"re2/", ("storage/select/matcher.cpp",)),
    Library("Cap'n Proto", r"(capnp|kj)/|.*\.capnp\.h$", ("gateway/admission/", "gateway/ingest/reply.cpp", "query-engine/wire/", "tests/"),
            in_unit_tests=True),
    Library("the kernel's perf_event ABI", r"linux/perf_event\.h$", ("target-collector/source/", "target-collector/linux/"),
            in_unit_tests=True),
    Library("prometheus-cpp", r"prometheus/", ("daemon/metrics/metrics_server.cpp",)),
    Library("libtraceevent", r"traceevent/", ("exporters/script/trace_format.cpp",)),
    Library("protozero", r"protozero/", ("exporters/", "query-engine/http/", "schemas/otlp/", "schemas/pprof/", "target-collector/intake/", "tools/perfleet/send/otlp_sender.cpp", "tests/pprof/")),
    Library("cairo", r"cairo(\.h$|-|/)", ("exporters/figure/png.cpp",)),
    Library("spdlog", r"spdlog/", ("daemon/log/log.cpp",)),
    Library("GoogleTest", r"(gtest|gmock)/", ("tests/",), in_unit_tests=True),
    Library("Google Benchmark", r"benchmark/", ("tests/benchmark/",)),
    Library("CLI11", r"CLI/", ("daemon/command-line/", "daemon/option/", "tools/", "tests/chaos/", "daemon/metrics/metrics_option.cpp", "daemon/listen/http_option.cpp",
                             "target-collector/linux/command_line.cpp", "target-collector/linux/link/gateway_choice.cpp",
                             "target-collector/linux/perf_options.cpp"), in_main=True),
    Library("toml++", r"toml\+\+/", ("daemon/command-line/config_file.cpp",)),
    Library("fmt", r"fmt/", ("schemas/vocabulary/error.cpp", "target-collector/source/", "target-collector/linux/",
                             "target-collector/wire/", "storage/", "gateway/", "query-engine/", "exporters/", "tools/",
                             "tests/"), in_main=True),
    Library("perfleet's own probes, as users include them", r"^perfleet/", ("target-collector/probe/", "tests/")),
    Library("LTTng-UST", r"lttng/", ("tests/benchmark/",)),
    Library("lwIP", r"(lwip|netif)/", ("target-collector/network/tcp_stream.cpp", "tests/benchmark/")),
    Library("ncurses", r"(n?curses\w*|term)\.h$", ("tools/perfleet/live/live_view.cpp",)),
    Library("libsel4", r"sel4/", ("target-collector/sel4/kernel/libsel4.h",)),
    Library("nlohmann-json", r"nlohmann/", ("exporters/", "query-engine/http/", "tools/", "tests/"), in_unit_tests=True),
]

# Headers of the compiler, libc and kernel that stand in folders.
SYSTEM_FOLDERS = ("sys/", "linux/", "asm/", "arpa/", "net/", "netinet/")

# --- Freestanding code -------------------------------------------------------------------------------------------

FREESTANDING = re.compile(r"schemas/vocabulary/(assert|batch_limits|column_values|duration_histogram|event|ids|kinds|result|named_row|non_copyable|row_view|series|shared_value|time)\.(h|cpp)$"
                          r"|schemas/vocabulary/(clock_claim|uncovered_time|utilisation_thread)\.h$"
                          r"|schemas/(columns|perf)/|schemas/sel4/(kernel_log|names)\.(h|cpp)$|schemas/wire/\w+\.h$"
                          r"|target-collector/(curve|ring|message|pmu|small|source/sel4)/"
                          r"|target-collector/sel4/run/"
                          r"|target-collector/wire/(byte_stream|delivery\w*|driver|ethernet_port|line_stream|resend_timeout|zmtp_\w+)\.(h|cpp)$"
                          r"|target-collector/network/(ipv4\.(h|cpp)|tcp_stream\.h)$")
NOT_FREESTANDING = re.compile(r".*_(test|host)\.(cpp|h)$|.*/testing/")
FREESTANDING_HEADERS = set("""algorithm array atomic bit climits compare concepts cstddef cstdint cstring initializer_list
    iterator limits new numeric optional span string_view tuple type_traits utility
    nmmintrin.h smmintrin.h immintrin.h arm_acle.h arm_neon.h""".split())

# --- Names and words ---------------------------------------------------------------------------------------------

FORBIDDEN_NAME = re.compile(r"(^|[_-])(utils?)([_.-]|$)", re.IGNORECASE)
# Character classes keep the patterns from finding themselves; they begin with what is rare, so that search is fast.
FORBIDDEN_TEXT = [
    (re.compile(r"/wor[k]/(?<![\w./-]......)"), "a path of one machine"),
    (re.compile(r"/hom[e]/(?<![\w./$}-]......)\w"), "a path of one machine"),
    (re.compile(r"/roo[t]/(?<![\w.-]......)\w"), "a path of one machine"),
    (re.compile(r"/tmp/w[t]/"), "a path of one machine"),
    (re.compile(r"\b(docker[.]io|ghcr[.]io|quay[.]io|gcr[.]io|pypi[.]org|registry[.]npmjs[.]org|crates[.]io)\b"
                r"|\b(artifactory|nexus3?)[.][a-z]", re.IGNORECASE), "the host of a package registry"),
]
# Identifiers that were given up (with a parenthesis where one follows), and the field's words for them.
GIVEN_UP_NAMES = [
    (re.compile(r"\b\w*(?:Conduct[B]ook|Operator[D]oor|Order[B]ook|Order[D]esk)\w*"), "AbuseLimiter, ControlServer, "
     "ControlRequestQueue, ControlExecutor"),
    (re.compile(r"\b\w*(?:Session[C]ourse|Settled[C]lock)\w*"), "SessionMonotonicity, DebouncedClock"),
    (re.compile(r"\b\w*(?:Left[D]elivery|Left[S]ession|Told[L]osses|Tell[i]ng\b)\w*"), "orphan, reported, LogSink"),
    (re.compile(r"\b(?:k?Join(?:er|ed|Step|Steps|Backlog|Counts|Makers)\w*|Block[J]oiner|is_join[e]d)\b"), "compact, compacted"),
    (re.compile(r"\b(?:\w*Pati[e]nce\w*|pati[e]nce_\w*)\b"), "timeout"),
    (re.compile(r"\b(?:is_put_[o]ff\w*|put_[o]ff\w*)\b"), "deferred"),
    (re.compile(r"\b(?:\w*St[o]ry|st[o]ry_\w*|\w+_st[o]ry|\w*Work[s]hop|\w+Rig)\b"), "scenario, fixture"),
    (re.compile(r"\b(?:Image|File|Reply)S[o]rt\b"), "type"),
    (re.compile(r"\bdo[u]bts?_\w*"), "validity_warning"),
    (re.compile(r"\b\w*(?:T[a]lly|T[a]llies|Credit[B]ook)\w*|\bt[a]ll(?:y|ies)_?\b"), "CountName, CountTable, counts, "
     "CreditAccounts"),
    (re.compile(r"\b\w*(?:[Aa]sk[e]rs?)\b"), "client"),
    (re.compile(r"\bN[o]tice\b|\bn[o]tice_|Loss[N]otice"), "LogText, LogSink, LossReport"),
    (re.compile(r"\b(?:t[e]ll_\w*|t[o]ld_\w*)|\bl[e]ft_\b"), "report_, log_, print_; rest_, orphans_"),
    (re.compile(r"\bk?M[i]sdeeds\w*|\bDe[e]ds\b"), "strikes"),
    (re.compile(r"\bk?[Ss]ettl[e][sd]?(?:_\w+|[A-Z]\w*|\()|\w_settl[e]d?\b"), "resolve, flush, recount, converge"),
]
# Of production code alone.
ROW_BY_POSITION = re.compile(r"std::array<std::uint64_t, \d+> (?:integers|row)\b|\bintegers\[[^\]\n]*\b\d")
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\(?")
BINARY = re.compile(rb"\0")

OPENS_NAMESPACE = re.compile(r"(?:inline )?namespace\s*([\w:]*)\s*\{")
CLOSES_NAMESPACE = re.compile(r"\}\s*// namespace")
DEFINES_TYPE = re.compile(r"(?:struct|class|union|enum class|enum)\s+(?:alignas\([^)]*\)\s*)?(\w+)\b(?!\s*::|[^{]*;)")
DEFINES_CONSTANT = re.compile(r"inline constexpr [^={]*?\b(k\w+)\s*[={]")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def is_unit_test(path):
    """Unit tests, and their doubles and fixtures."""
    return bool(re.search(r"_test\.(cpp|h)$|/testing/", path))


def place_in_order(path):
    """Where FOLDER_ORDER has it: the nearest folder that is listed, or "*"; None where nothing is. Those at one place
    don't include each other."""
    module, _, rest = path.partition("/")
    order = FOLDER_ORDER.get(module, "").split()
    place = posixpath.dirname(rest)
    while place and place not in order:
        place = posixpath.dirname(place)
    place = place or "."
    if place in order:
        return order.index(place), ""
    return (order.index("*"), rest.partition("/")[0]) if "*" in order else None


def is_main(path):
    return posixpath.basename(path) == "main.cpp"


def is_freestanding(path):
    return bool(FREESTANDING.match(path)) and not NOT_FREESTANDING.match(path)


def folder_of(path):
    """The module's sub-folder that a file stands in; none of a file in the module's own."""
    return "/".join(path.split("/")[:2]) if path.count("/") > 1 and path.split("/")[0] in MAY_INCLUDE else None


def reachable_in(edges, start):
    seen, left = set(), [start]
    while left:
        for folder in edges.get(left.pop(), {}):
            if folder not in seen:
                seen.add(folder)
                left.append(folder)
    return seen


class Checker:
    def __init__(self, root):
        self.root = root
        self.files = project_files(root)
        self.known = set(self.files)
        self.problems = []
        self.texts = {}
        for path in self.files:
            with open(os.path.join(root, path), "rb") as file:
                content = file.read()
            if not BINARY.search(content):
                self.texts[path] = content.decode("utf-8", "replace").splitlines()
        self.includes = {path: self.includes_of(path) for path in self.texts if path.endswith((".h", ".cpp"))}
        self.test_code = self.find_test_code()
        self.vendor_headers = self.find_vendor_headers()
        self.offered_by_query_engine = self.reachable(
            path for path in self.includes if path.startswith("query-engine/") and path.endswith(".h"))

    def report(self, path, line, text):
        self.problems.append((path, line, text))

    def includes_of(self, path):
        found = []
        for number, text in enumerate(self.texts[path], start=1):
            match = INCLUDE.match(text)
            if match:
                found.append((number, match.group(1) == '"', match.group(2)))
        return found

    def reachable(self, headers):
        seen = set()
        left = list(headers)
        while left:
            path = left.pop()
            if path in seen:
                continue
            seen.add(path)
            left += [target for _, quoted, target in self.includes.get(path, []) if quoted and target in self.known]
        return seen

    def find_test_code(self):
        """By name, and headers that only test code includes."""
        found = {path for path in self.includes if is_unit_test(path) or path.startswith("tests/")}
        includers = {}
        for path, included in self.includes.items():
            for _, _, target in included:
                includers.setdefault(target, set()).add(path)
        grows = True
        while grows:
            # A header's own body says nothing about who uses it.
            users = {path: includers.get(path, set()) - {path.removesuffix(".h") + ".cpp"}
                     for path in self.includes if path.endswith(".h") and path not in found}
            more = {path for path, users_of_it in users.items() if users_of_it and users_of_it <= found}
            found |= more
            grows = bool(more)
        return found

    def find_vendor_headers(self):
        """Headers through which a library's types could leave its owner's module, with the libraries."""
        vendor = {}
        owned = [library for library in LIBRARIES if library.name in
                 ("ZeroMQ", "RocksDB", "libelf/libdw", "Cap'n Proto", "the kernel's perf_event ABI")]
        for path in self.includes:
            if path.endswith(".h"):
                targets = {target for reached in self.reachable([path])
                           for _, _, target in self.includes.get(reached, [])}
                vendor[path] = [library for library in owned if any(map(library.headers.match, targets))]
        return vendor

    # --- the rules ---

    def check_includes(self, path):
        folder = path.split("/")[0]
        if "/" not in path or folder not in MAY_INCLUDE:
            self.report(path, 1, f"C++ outside the modules ({', '.join(sorted(MAY_INCLUDE))})")
            return
        for line, quoted, target in self.includes[path]:
            library = next((library for library in LIBRARIES if library.headers.match(target)), None)
            if library:
                is_test_framework = library.name == "GoogleTest" and path in self.test_code
                if not library.is_owned_by(path) and not is_test_framework:
                    self.report(path, line, f"<{target}>: {library.name} belongs to {', '.join(library.owners)}")
            elif quoted:
                self.check_module(path, folder, line, target)
            elif target in self.known:
                self.report(path, line, f'write "{target}": it is the project\'s own')
            elif "/" in target and not target.startswith(SYSTEM_FOLDERS) or target.endswith(".hpp"):
                self.report(path, line, f"<{target}>: nobody owns this library (tests/architecture has the table)")
            if is_freestanding(path) and not quoted and not library and target not in FREESTANDING_HEADERS:
                self.report(path, line, f"<{target}>: not for freestanding code")

    def check_module(self, path, folder, line, target):
        # An example is copied and must stand alone: it may include only files beside it.
        if path.startswith("target-collector/library/") and f"{path.rpartition('/')[0]}/{target}" in self.known:
            return
        if target not in self.known:
            self.report(path, line, f'"{target}": no such file; includes are rooted at the repository')
            return
        target_folder = target.split("/")[0]
        allowed = (is_main(path) and target_folder not in ("tests",)
                   or target_folder in MAY_INCLUDE[folder]
                   or path in self.test_code and target.startswith(UNIT_TESTS_MAY_ALSO_INCLUDE.get(folder, ("\0",)))
                   or path in self.test_code and target.startswith(GOLDEN_FILES)
                   or target.startswith(OPTION_TABLE) and path.startswith(HAVE_OPTIONS)
                   or folder == "exporters" and target_folder == "storage" and target in self.offered_by_query_engine)
        if not allowed:
            self.report(path, line, f'"{target}": {folder} may not include {target_folder}')
        if folder == "tools" and target_folder in OFFERED and not is_main(path) and path not in self.test_code:
            offered = (OFFERED_TO_IMPORTERS if path.startswith("tools/perfleet/import/") else OFFERED)[target_folder]
            if not any(f"{target}/".startswith(f"{target_folder}/{place}/") for place in offered.split()):
                self.report(path, line, f'"{target}" is not what {target_folder} offers to {posixpath.dirname(path)}')
        if target_folder == folder and folder in FOLDER_ORDER and path not in self.test_code:
            self.check_order(path, line, target)
        if is_freestanding(path) and not is_freestanding(target):
            self.report(path, line, f'"{target}": freestanding code may not include what needs a host')
        if is_unit_test(target) and path not in self.test_code:
            self.report(path, line, f'"{target}" is for tests')
        for library in self.vendor_headers.get(target, []):
            if not library.is_owned_by(path) or target_folder != folder:
                self.report(path, line, f'"{target}" brings in {library.name}, whose types may not leave their module')

    def check_order(self, path, line, target):
        here, there = place_in_order(path), place_in_order(target)
        if here is None or there is None:
            missing = path if here is None else target
            self.report(path, line, f"where does {posixpath.dirname(missing)} stand? FOLDER_ORDER doesn't say")
        elif there[0] > here[0] or (there[0] == here[0] and there[1] != here[1]):
            self.report(path, line, f'"{target}" stands above {posixpath.dirname(path)}: includes go down only')

    def check_circles(self):
        """No two folders of a module reach each other, also through others or single files that the order names."""
        edges = {}  # the first include between two folders
        for path, included in self.includes.items():
            here = folder_of(path)
            for line, _, target in included if here and path not in self.test_code else []:
                there = folder_of(target) if target in self.known else None
                if there and there != here and target not in self.test_code:
                    edges.setdefault(here, {}).setdefault(there, (path, line))
        reached = {folder: reachable_in(edges, folder) for folder in edges}
        for here, targets in sorted(edges.items()):
            for there, (path, line) in sorted(targets.items()):
                if here in reached.get(there, ()):
                    self.report(path, line, f"{here} and {there} include each other")

    def check_testing_folders(self):
        for path in sorted(self.test_code):
            if path.endswith(".h") and not path.startswith("tests/") and not is_unit_test(path):
                self.report(path, 1, "only tests include it: it stands in a folder named testing")

    def check_targets(self):
        """Every source is named in a CMakeLists.txt of its folder or one above."""
        named = set()
        mentioned = set()  # words of a list that a loop turns into sources
        in_folders = set()  # whose sources are a module's
        for path, lines in self.texts.items():
            if posixpath.basename(path) == "CMakeLists.txt":
                folder = posixpath.dirname(path)
                for text in lines:
                    for folders in re.findall(r"FOLDERS((?: [a-z][\w./-]*)+)", text):
                        in_folders |= {posixpath.normpath(posixpath.join(folder, word)) for word in folders.split()}
                    for glob in re.findall(r"\s([\w./]*\*[\w./*]*\.cpp)\b", text):
                        pattern = posixpath.join(folder, glob)
                        in_folders |= {posixpath.dirname(each) for each in self.files if fnmatch.fnmatch(each, pattern)}
                    for word in re.findall(r"[\w./+-]+", text.split("#")[0]):
                        path_of_word = posixpath.normpath(posixpath.join(folder, word))
                        (named if word.endswith(".cpp") else mentioned).add(path_of_word)
        for path in self.includes:
            in_a_list = not path.endswith("_test.cpp") and (path.removesuffix(".cpp") in mentioned
                                                            or posixpath.dirname(path) in in_folders)
            if path.endswith(".cpp") and path not in named and not in_a_list:
                self.report(path, 1, "in no target: name it in a CMakeLists.txt")

    def check_defined_names(self):
        """One name, one type or constant: modules are linked together, and the linker takes two of one name for one."""
        definitions = {}
        for path in self.includes:
            namespaces = []
            for number, text in enumerate(self.texts[path], start=1):
                opened = OPENS_NAMESPACE.match(text)
                defined = DEFINES_TYPE.match(text) or DEFINES_CONSTANT.match(text)
                if opened:
                    namespaces.append(opened.group(1))
                elif CLOSES_NAMESPACE.match(text) and namespaces:
                    namespaces.pop()
                elif defined and "" not in namespaces:
                    name = "::".join(namespaces + [defined.group(1)])
                    definitions.setdefault(name, {}).setdefault(path, number)
        for name, places in definitions.items():
            (first_path, first_number), *others = places.items()
            for path, number in others:
                self.report(path, number, f"{name} is defined in {first_path}:{first_number}, too")

    def check_names(self):
        for path in self.files:
            if any(FORBIDDEN_NAME.search(part) for part in path.split("/")):
                self.report(path, 1, "name it after what it holds, not 'utils'")

    def check_words(self):
        given_up = {}  # of each identifier, what to say of it, or None: they are few, and occur often
        for path, lines in self.texts.items():
            text = "\n".join(lines)

            def report_each(pattern, what):
                for match in pattern.finditer(text):
                    self.report(path, text.count("\n", 0, match.start()) + 1, f"'{match.group(0)}' {what}")

            for pattern, what in FORBIDDEN_TEXT:
                report_each(pattern, f"is {what}")
            if path.endswith((".h", ".cpp", ".py", ".cmake", "CMakeLists.txt")):
                for name in set(IDENTIFIER.findall(text)):
                    if name not in given_up:
                        given_up[name] = next((word for pattern, word in GIVEN_UP_NAMES if pattern.search(name)), None)
                    if given_up[name]:
                        report_each(re.compile(rf"\b{re.escape(name)}"), f"was given up: {given_up[name]}")
            if path.endswith((".h", ".cpp")) and not is_unit_test(path) and not path.startswith("tests/"):
                report_each(ROW_BY_POSITION, "is a row by position; name its columns (schemas/vocabulary/named_row.h)")

    def run(self):
        for path in self.includes:
            self.check_includes(path)
        self.check_targets()
        self.check_testing_folders()
        self.check_circles()
        self.check_defined_names()
        self.check_names()
        self.check_words()
        return sorted(self.problems)


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    root = os.path.realpath(parser.parse_args(words).root)
    checker = Checker(root)
    problems = checker.run()
    for path, line, text in problems:
        print(f"{path}:{line}: {text}")
    if not checker.includes:
        print(f"no C++ files under {root}: nothing was checked")
        return 1
    print(f"{len(checker.includes)} C++ files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
