// Functions of a real Python program in its call chains, in place of its interpreter's: recursion, generators, methods,
// callbacks from C, exceptions, threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::python_program_test {
namespace {

// Runs for an amount of CPU time, so that it has as many samples on a busy machine.
constexpr const char* kProgram = R"(import functools, threading, time
def leaf(n):
    s = 0
    for i in range(n):
        s += i * i
    return s
def recurse(depth, n):
    if depth == 0:
        return leaf(n)
    return recurse(depth - 1, n)
def generate(n):
    for i in range(n):
        yield leaf(500)
class Thing:
    def method(self, n):
        return sum(generate(n))
def through_c(n):
    return functools.reduce(lambda a, b: a + leaf(500), range(n))
def raising(n):
    for i in range(n):
        try:
            try:
                leaf(400)
                raise ValueError
            finally:
                leaf(100)
        except ValueError:
            pass
def threaded(end):
    while time.process_time() < end:
        Thing().method(20)
def main():
    end = time.process_time() + 1.5
    thread = threading.Thread(target=threaded, args=(end,))
    thread.start()
    while time.process_time() < end:
        recurse(20, 5000)
        through_c(20)
        raising(20)
    thread.join()
main()
)";

// From the outermost function in.
using Chain = std::vector<std::string>;

bool is_python(const std::string& frame) { return frame.ends_with(")") && frame.find(".py:") != std::string::npos; }

constexpr const char* kWaitingProgram = R"(import queue, threading, time
def nap():
    time.sleep(0.01)
def take(q):
    while q.get():
        pass
def main():
    q = queue.Queue()
    thread = threading.Thread(target=take, args=(q,))
    thread.start()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        nap()
        q.put(1)
    q.put(0)
    thread.join()
main()
)";

bool has_python_3_11() {
    return run({"sh", "-c", "/usr/bin/python3 --version | grep -q ' 3[.]11[.]'"}).ending.status == 0;
}

TEST(PythonProgram, FunctionsStandInPlaceOfTheirInterpreter) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    const std::string script = folder / "work.py";
    std::ofstream{script} << kProgram;
    if (!has_python_3_11()) {
        GTEST_SKIP() << "/usr/bin/python3 isn't Python 3.11";
    }
    // From a shell, as most are started.
    const Finished recorded =
        run({program_path("perfleet"), "record", "-q", "-e", "cpu-clock", "-F", "1999", "--call-graph", "bpf", "--data",
             data, "--", "sh", "-c", "/usr/bin/python3 " + script + "; true"});
    if (recorded.ending.status != 0 && recorded.error_output.find("BPF") != std::string::npos) {
        GTEST_SKIP() << recorded.error_output;
    }
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    const auto perfleet = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), program_path("perfleet"));
        arguments.insert(arguments.end(), {"--data", data});
        return run(arguments).output;
    };

    const std::map<std::string, std::set<std::string>> callers{
        {"leaf (work.py:2)",
         {"recurse (work.py:7)", "generate (work.py:11)", "through_c.<locals>.<lambda> (work.py:18)",
          "raising (work.py:19)"}},
        {"recurse (work.py:7)", {"recurse (work.py:7)", "main (work.py:32)"}},
        {"generate (work.py:11)", {"Thing.method (work.py:15)"}},
        {"Thing.method (work.py:15)", {"threaded (work.py:29)"}},
        {"through_c.<locals>.<lambda> (work.py:18)", {"through_c (work.py:17)"}},
        {"through_c (work.py:17)", {"main (work.py:32)"}},
        {"raising (work.py:19)", {"main (work.py:32)"}},
        {"main (work.py:32)", {"<module> (work.py:1)"}},
    };
    std::map<std::string, std::map<std::string, std::uint64_t>> seen;
    std::uint64_t python_count = 0;
    std::uint64_t whole_count = 0;        // down to the program's or a thread's start
    std::uint64_t interpreter_count = 0;  // with a frame of the interpreter's own that has no Python function
    std::istringstream lines{perfleet({"export", "--to", "folded", "-o", "-", "--comm", "python3"})};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.rfind(' ');
        const std::uint64_t count = std::stoull(line.substr(space + 1));
        Chain chain;
        std::istringstream frames{line.substr(0, space)};
        for (std::string frame; std::getline(frames, frame, ';');) {
            chain.push_back(frame);
        }
        std::string caller;
        bool has_interpreter = false;
        for (const std::string& frame : chain) {
            if (is_python(frame)) {
                seen[frame][caller] += count;
                caller = frame;
            }
            has_interpreter = has_interpreter || frame == "_PyEval_EvalFrameDefault";
        }
        if (caller.find("work.py") == std::string::npos) {
            continue;  // starts, or ends
        }
        python_count += count;
        interpreter_count += has_interpreter ? count : 0;
        whole_count += chain.size() > 2 && (chain[1] == "_start" || chain[1].find("clone") != std::string::npos) &&
                               !is_python(chain[2])
                           ? count
                           : 0;
    }
    ASSERT_GT(python_count, 500U) << recorded.error_output;
    EXPECT_GE(whole_count * 100, python_count * 97);
    EXPECT_LE(interpreter_count * 100, python_count * 3);
    for (const auto& [function, of] : callers) {
        std::uint64_t right_count = 0;
        std::uint64_t count = 0;
        for (const auto& [caller, value] : seen[function]) {
            count += value;
            right_count += of.contains(caller) ? value : 0;
        }
        EXPECT_GT(right_count, 0U) << function;
        // A function's frame exists before it is the thread's current one.
        EXPECT_GE(right_count * 100, count * 98) << function;
    }

    const auto top = nlohmann::json::parse(
        perfleet({"top", "--lines", "--by", "symbol,image", "--comm", "python3", "--limit", "1", "--format", "json"}));
    EXPECT_EQ(top["rows"][0][0], "leaf (work.py:2)");
    EXPECT_EQ(top["rows"][0][1], "work.py:5");
    EXPECT_EQ(top["rows"][0][2], "[python]");

    const auto speedscope = nlohmann::json::parse(perfleet({"export", "--to", "speedscope", "-o", "-"}));
    const nlohmann::json leaf{{"name", "leaf (work.py:2)"}, {"file", "work.py"}, {"line", 2}};
    const auto& frames = speedscope["shared"]["frames"];
    EXPECT_NE(std::find(frames.begin(), frames.end(), leaf), frames.end());
}

TEST(PythonProgram, TimeOffTheCpuHasItsFunctions) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    const std::string script = folder / "wait.py";
    std::ofstream{script} << kWaitingProgram;
    if (!has_python_3_11()) {
        GTEST_SKIP() << "/usr/bin/python3 isn't Python 3.11";
    }
    const Finished recorded = run({program_path("perfleet"), "record", "-q", "-e", "cpu-clock", "--off-cpu", "--data",
                                   data, "--", "/usr/bin/python3", script});
    if (recorded.ending.status != 0 && recorded.error_output.find("BPF") != std::string::npos) {
        GTEST_SKIP() << recorded.error_output;
    }
    ASSERT_EQ(recorded.ending.status, 0) << recorded.error_output;
    std::map<std::string, double> blocked_ns;
    double all_ns = 0;
    std::istringstream lines{
        run({program_path("perfleet"), "export", "--to", "folded", "-o", "-", "--off-cpu", "--data", data}).output};
    for (std::string line; std::getline(lines, line);) {
        const double time_ns = std::stod(line.substr(line.rfind(' ') + 1));
        all_ns += time_ns;
        for (const char* const chain :
             {";main (wait.py:7);nap (wait.py:2);", ";take (wait.py:4);Queue.get (queue.py:"}) {
            blocked_ns[chain] += line.find(chain) != std::string::npos ? time_ns : 0;
        }
    }
    for (const auto& [chain, time_ns] : blocked_ns) {
        EXPECT_GT(time_ns, all_ns / 8) << chain;  // a thread each
    }
    EXPECT_EQ(blocked_ns.size(), 2U);
}

}  // namespace
}  // namespace perfleet::end_to_end::python_program_test
