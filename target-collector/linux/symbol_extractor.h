// Reads the symbols of files that nobody vouches for in a process of its own: without the collector's memory and
// descriptors, as the user nobody where the collector is root, with few system calls and under limits. A file that
// brings it down costs its own symbols.
//
// A resource: the process lives as long as this. One thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/packed_symbols.h"

namespace perfleet {

class SymbolExtractor {
public:
    static constexpr std::size_t kMemorySizeBytesMax = 1U << 30U;
    static constexpr std::size_t kPackedSizeBytesMax = 64U << 20U;  // of one file
    static constexpr unsigned kCpuSecondsMax = 30;                  // of one file
    static constexpr int kWaitMs = 120'000;                         // for one file
    static constexpr unsigned kDescriptorsMax = 16;
    static constexpr unsigned kMessagesMax = 4;  // that it sends about one file
    static constexpr unsigned kStartsMax = 16;   // it is started again after a file that ended it

    // `program` is one whose main() begins with run_if_symbol_extractor().
    explicit SymbolExtractor(std::string program) : program_{std::move(program)} {}
    SymbolExtractor(const SymbolExtractor&) = delete;
    SymbolExtractor& operator=(const SymbolExtractor&) = delete;
    ~SymbolExtractor() { end(); }

    // As packed_symbols_of_file(), which runs there; debug files are opened here. Errors: kInvalid as there; kTooLarge
    // where it took more than the limits, crashed or failed; kUnsupported where it can't be started.
    [[nodiscard]] Result<PackedSymbols> extract(int fd, const OpenDebugFile& open_debug_file);

    // extract() does so where it is needed, and says why it can't.
    void start();
    void end();
    [[nodiscard]] pid_t pid() const { return pid_; }                // 0: it doesn't run
    [[nodiscard]] std::uint64_t cpu_ns() const { return cpu_ns_; }  // of those that have ended

private:
    std::string program_;
    pid_t pid_ = 0;
    int socket_ = -1;
    unsigned start_count_ = 0;
    int start_error_ = 0;
    std::uint64_t cpu_ns_ = 0;
};

// In the process of a SymbolExtractor: does its work and ends the program. Elsewhere: returns.
void run_if_symbol_extractor(const char* const* arguments);

}  // namespace perfleet
