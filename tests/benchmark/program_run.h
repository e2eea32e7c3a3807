// The cost of a whole program: its start, its CPU time, its peak memory.
//
// One thread; a benchmark stops where a program fails.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace perfleet {

struct ProgramRun {
    double cpu_s = 0;
    double wall_s = 0;
    double memory_mib = 0;  // includes its parent's peak before the fork
};

// Its standard output goes to `output`; its warnings are discarded.
inline ProgramRun run_program(const std::vector<std::string>& command, const std::string& output = "/dev/null") {
    const auto begin = std::chrono::steady_clock::now();
    const pid_t child = ::fork();
    if (child == 0) {
        std::vector<char*> arguments;
        for (const std::string& argument : command) {
            arguments.push_back(const_cast<char*>(argument.c_str()));
        }
        arguments.push_back(nullptr);
        const int to = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        const int nowhere = ::open("/dev/null", O_WRONLY);
        if (to >= 0 && ::dup2(to, STDOUT_FILENO) >= 0 && ::dup2(nowhere, STDERR_FILENO) >= 0) {
            ::execv(arguments[0], arguments.data());
        }
        ::_exit(127);
    }
    int status = 0;
    rusage usage{};
    if (child < 0 || ::wait4(child, &status, 0, &usage) != child || status != 0) {
        std::string said;
        for (const std::string& argument : command) {
            said += argument + " ";
        }
        std::fprintf(stderr, "failed; run it by hand: %s\n", said.c_str());
        std::exit(1);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return {seconds(usage.ru_utime) + seconds(usage.ru_stime), took.count(),
            static_cast<double>(usage.ru_maxrss) / 1'024};
}

// In a process of its own, so that its memory isn't counted for processes that are started later.
template <class Work>
void run_apart(const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) {
        work();
        ::_exit(0);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) {
        std::fprintf(stderr, "the process beside failed\n");
        std::exit(1);
    }
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace perfleet
