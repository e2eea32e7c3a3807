// Reads untrusted files in a separate process: without the collector's memory and descriptors, as user nobody if the
// collector is root, with few system calls and under limits. A file that crashes it only loses its own symbols or
// unwind table.
//
// A resource: the destructor ends the process. One thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/linux/host/packed_symbols.h"
#include "target-collector/source/linux/image/image_reader.h"

namespace perfleet {

class ConfinedReader final : public ImageReader, NonCopyable {
public:
    static constexpr std::size_t kMemorySizeBytesMax = 1U << 30U;
    static constexpr std::size_t kAnswerSizeBytesMax = 64U << 20U;  // for one file
    static constexpr unsigned kSymbolsCpuSecondsMax = 30;           // of one file
    static constexpr unsigned kTableCpuSecondsMax = 2;
    static constexpr int kSymbolsWaitMs = 120'000;  // for one file
    static constexpr int kTableWaitMs = 10'000;     // the source waits during this
    static constexpr unsigned kDescriptorsMax = 16;
    static constexpr unsigned kMessagesMax = 4;  // sent by it about one file
    // Restarts after a file that crashed it: kStartsMax at once, and one more after each kStartEveryNs.
    static constexpr unsigned kStartsMax = 16;
    static constexpr std::uint64_t kStartEveryNs = 60'000'000'000;

    static constexpr int kUrgentNice = -5;

    // `program`: its main() begins with run_if_confined_reader(). `is_urgent`: samples wait for its answers, so its
    // process gets a higher priority if this one may set it.
    explicit ConfinedReader(std::string program, bool is_urgent = false)
        : program_{std::move(program)}, is_urgent_{is_urgent} {}
    ~ConfinedReader() override { end(); }

    // packed_symbols_of_file() in that process; debug files are opened here. Errors: kInvalid as there; kTooLarge if it
    // exceeded the limits, crashed or failed; kUnsupported if it can't be started.
    [[nodiscard]] Result<PackedSymbols> symbols(int fd, const OpenDebugFile& open_debug_file);

    // Errors as those of symbols(). Its answers are validated here, because a file may control the process.
    [[nodiscard]] Result<UnwindTable> unwind_table(int fd) override;
    [[nodiscard]] std::optional<PythonSymbols> python_symbols(int fd) override;
    [[nodiscard]] std::vector<perfleet_probe_name> probe_entries(int fd) override;
    [[nodiscard]] std::optional<ProbeDoorPlace> probe_door(int fd, std::uint64_t file_offset) override;

    // Starts the process; otherwise it is started on demand.
    void start();
    void end();
    [[nodiscard]] pid_t pid() const override { return pid_; }  // 0: it doesn't run; any thread
    [[nodiscard]] std::uint64_t cpu_ns() const;                // of the current process and of those that have ended

private:
    struct Answer {
        std::string bytes;
        bool is_whole = false;
    };
    // `request`: of confined_reader.cpp's messages.
    [[nodiscard]] Result<Answer> ask(std::uint32_t request, int fd, int wait_ms, const OpenDebugFile& open_debug_file,
                                     std::uint64_t file_offset = 0);
    // Reads values for which any bytes are valid; none if it fails or sends more than `count_max`.
    template <class Value>
    [[nodiscard]] std::vector<Value> ask_for_values(std::uint32_t request, int fd, std::size_t count_max,
                                                    std::uint64_t file_offset = 0);

    std::string program_;
    bool is_urgent_ = false;
    std::atomic<pid_t> pid_{0};
    FileDescriptor socket_;
    unsigned starts_left_ = kStartsMax;
    std::uint64_t starts_counted_ns_ = 0;  // CLOCK_MONOTONIC
    int start_error_ = 0;
    std::uint64_t ended_cpu_ns_ = 0;
};

// In the process of a ConfinedReader: runs it and ends the program. Otherwise returns.
void run_if_confined_reader(const char* const* arguments);

}  // namespace perfleet
