#include "daemon/start/program_start.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace perfleet {
namespace {

constexpr int kExitFailure = 1;

constexpr std::string_view kNoThread =
    ": no further thread can be started: a limit of processes and threads is reached (`ulimit -u`, pids.max of the "
    "control group, TasksMax= of the unit), or of memory (`ulimit -v`); raise it, or end other programs\n";
constexpr std::string_view kNoMemory =
    ": there is no more memory: a limit is reached (`ulimit -v`, memory.max of the control group, MemoryMax= of the "
    "unit), or the machine's own; raise it, or end other programs\n";

const char* program_name = "perfleet";  // for the terminate handler, which takes no arguments
std::terminate_handler handler_before = nullptr;

void say(std::string_view text) {
    std::array<iovec, 2> parts{{{const_cast<char*>(program_name), std::strlen(program_name)},
                                {const_cast<char*>(text.data()), text.size()}}};  // writev() doesn't change them
    (void)!::writev(STDERR_FILENO, parts.data(), static_cast<int>(parts.size()));
}

bool is_about_a_thread(const std::system_error& error) {
    return error.code() == std::errc::resource_unavailable_try_again || error.code() == std::errc::not_enough_memory;
}

// Ends without unwinding: running threads may need what would be destroyed.
[[noreturn]] void end() {
    try {
        if (const std::exception_ptr thrown = std::current_exception()) {
            std::rethrow_exception(thrown);
        }
    } catch (const std::bad_alloc&) {
        say(kNoMemory);
        ::_exit(kExitFailure);
    } catch (const std::system_error& error) {
        if (is_about_a_thread(error)) {
            say(kNoThread);
            ::_exit(kExitFailure);
        }
    } catch (...) {
    }
    if (handler_before != nullptr) {
        handler_before();
    }
    std::abort();
}

void open_standard_descriptors() {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(descriptor, F_GETFD) < 0) {
            // open() returns the smallest free number: this one. With the opposite access mode its use still fails.
            (void)!::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

bool can_start_threads(unsigned thread_count) {
    std::mutex until_all_are_there;
    std::vector<std::thread> threads;
    threads.reserve(thread_count);
    bool can_start = true;
    {
        const std::lock_guard lock{until_all_are_there};
        try {
            while (threads.size() < thread_count) {
                threads.emplace_back([&] { const std::lock_guard wait{until_all_are_there}; });
            }
        } catch (const std::system_error&) {
            can_start = false;
        }
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return can_start;
}

}  // namespace

bool start_program(const char* program, unsigned thread_count) {
    program_name = program;
    open_standard_descriptors();
    handler_before = std::set_terminate(end);
    if (!can_start_threads(thread_count)) {
        say(kNoThread);
        return false;
    }
    return true;
}

bool is_signal_ignored(int signal) {
    struct sigaction now {};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace perfleet
