// All that the collector needs from seL4's kernel: the root task implements it with libsel4's calls, tests with a
// simulation, so that the same code runs in both.
//
// Freestanding; one thread. Nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "schemas/sel4/kernel_log.h"
#include "schemas/sel4/names.h"
#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/non_copyable.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/small/frame_chain.h"

namespace perfleet::sel4 {

// A kernel is built with at most one of them (KernelBenchmarks).
enum class BenchmarkMode : std::uint8_t { kNone, kUtilisation, kKernelEntries, kTracepoints };

struct KernelFeatures {
    BenchmarkMode mode = BenchmarkMode::kNone;
    Architecture architecture = Architecture::kAarch64;
    std::string_view architecture_name{};
    PathNumbering numbering = PathNumbering::kSince14;
    std::string_view version{};  // empty: not known
    bool is_mcs = false;
    std::uint64_t tracepoint_count = 0;  // KernelMaxNumTracePoints
};

// A thread that the collector knows, numbered from 1 as in rows.
using ThreadNumber = StrongInteger<struct ThreadNumberTag, std::uint32_t>;
inline constexpr std::uint32_t kThreadsMax = 64;

struct ThreadRegisters {
    FrameRegisters frame;
    bool is_at_syscall = false;  // a system call's instruction is there or right before: most likely the thread waits
};

class KernelInterface : NonCopyable {
public:
    [[nodiscard]] virtual const KernelFeatures& features() const = 0;

    // The clock of the kernel's own timestamps.
    [[nodiscard]] virtual Ticks now() = 0;

    // seL4_BenchmarkSetLogBuffer and seL4_BenchmarkResetLog: their error (kNoError). Both enter the kernel, which logs
    // that, too.
    [[nodiscard]] virtual std::uint64_t set_log_buffer() = 0;
    [[nodiscard]] virtual std::uint64_t reset_log() = 0;
    // seL4_BenchmarkFinalizeLog: the log's index. Logging continues; measuring of utilisation ends.
    virtual std::uint64_t finalize_log() = 0;
    // The log buffer, kLogBufferSizeBytes, which the kernel writes at every entry. Mapped for reading.
    [[nodiscard]] virtual std::span<const std::byte> log() const = 0;

    // seL4_BenchmarkResetThreadUtilisation and seL4_BenchmarkGetThreadUtilisation: the message's words, until the next
    // call. Empty: the thread is gone.
    virtual void reset_utilisation(ThreadNumber thread) = 0;
    [[nodiscard]] virtual std::span<const std::byte> utilisation(ThreadNumber thread) = 0;

    // Registers of an interrupted thread, which isn't changed. False: the thread is gone.
    [[nodiscard]] virtual bool read_registers(ThreadNumber thread, ThreadRegisters& into) = 0;
    // How long the thread's scheduling context was used since the last call. Nothing: the kernel isn't MCS.
    [[nodiscard]] virtual std::optional<std::uint64_t> consumed_ticks(ThreadNumber thread) = 0;

protected:
    // Kernels aren't deleted through this class.
    ~KernelInterface() = default;
};

}  // namespace perfleet::sel4
