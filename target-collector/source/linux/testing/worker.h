// For tests of the Linux source: a process to measure, and the source that measures it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "target-collector/source/linux/event/event_parser.h"
#include "target-collector/source/linux/event/tracepoint_finder.h"
#include "target-collector/source/linux/perf_source.h"

namespace perfleet {

// A child that does `work` on request, and then ends.
class Worker {
public:
    explicit Worker(const std::function<void()>& work) {
        int go[2];
        EXPECT_EQ(::pipe(go), 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            ::close(go[1]);
            char byte = 0;
            if (::read(go[0], &byte, 1) == 1) {
                work();
            }
            ::_exit(0);
        }
        ::close(go[0]);
        go_ = go[1];
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    ~Worker() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        ::close(go_);
    }
    void go() { EXPECT_EQ(::write(go_, "g", 1), 1); }
    [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
    // Drains until the child is gone.
    void wait(PerfSource& source) {
        int status = 0;
        while (::waitpid(pid_, &status, WNOHANG) == 0) {
            pollfd wake{source.wake_fd(), POLLIN, 0};
            ::poll(&wake, 1, 5);
            source.drain();
        }
        EXPECT_TRUE(WIFEXITED(status));
        pid_ = -1;
    }

private:
    pid_t pid_ = -1;
    int go_ = -1;
};

[[gnu::noinline]] inline void burn_cpu(std::uint64_t rounds) {
    volatile std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        sum = sum + i * i;
    }
}

inline Result<std::unique_ptr<PerfSource>> open_source(PerfSourceOptions options, const std::string& events,
                                                       std::vector<std::string>* logged = nullptr) {
    auto parsed =
        PERFLEET_TRY(parse_events(events.empty() ? std::vector<std::string>{} : std::vector{events}, EventPlaces{}));
    options.events.events = std::move(parsed);
    return PerfSource::open(std::move(options), [logged](std::string_view text) {
        if (logged != nullptr) {
            logged->emplace_back(text);
        }
    });
}

// What the source gives of all that the worker does.
inline Result<std::unique_ptr<PerfSource>> record(Worker& worker, PerfSourceOptions options, const std::string& events,
                                                  RowSink& sink) {
    auto source = PERFLEET_TRY(open_source(std::move(options), events));
    source->begin(sink);
    worker.go();
    worker.wait(*source);
    source->finish();
    return source;
}

// Why a test that sees the whole machine or tracepoints can't run here; empty: it can.
inline std::string why_not_as_root() {
    if (::geteuid() != 0) {
        return "needs root";
    }
    return find_tracefs({}).empty() ? "needs tracefs (mount -t tracefs tracefs /sys/kernel/tracing)" : "";
}

}  // namespace perfleet
