// Reads the log of seL4's kernel: kernel entries and tracepoints in the log buffer, utilisation in the IPC buffer.
// Layouts: schemas/sel4/kernel_log.h.
//
// Freestanding; a read-only mapping of the buffer is enough. Bytes are untrusted: whatever they are, nothing outside
// the span is read. Indices come from seL4_BenchmarkFinalizeLog, which doesn't stop logging: a poller may read [last
// index, index) as often as it likes. Faults: each function says what `where` and `value` mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/sel4/kernel_log.h"
#include "schemas/vocabulary/result.h"

namespace perfleet::sel4 {

// The start times in a 32-bit log wrap to 0 here.
inline constexpr std::uint64_t kShortClockRange = 1ULL << 32;

// The readable part of a log.
struct LogFill {
    std::uint64_t record_count = 0;  // in the buffer
    std::uint64_t lost = 0;          // known losses: tracepoints that found the buffer full
    bool is_saturated = false;       // the buffer is full
    bool is_loss_known = true;       // false: a full log of kernel entries may have lost any number

    friend bool operator==(const LogFill&, const LogFill&) = default;
};

// The index of kernel entries stops at the capacity. Fault: kTooLarge if it is larger, as no kernel makes it: another
// layout or another log (where: the index, value: the capacity).
[[nodiscard]] Checked<LogFill> entry_log_fill(EntryLayout layout, std::uint64_t index);

// The index of tracepoints goes on counting past the capacity.
[[nodiscard]] LogFill tracepoint_log_fill(WordSize word, std::uint64_t index);

struct KernelEntry {
    std::uint64_t start_ticks = 0;
    std::uint32_t duration_ticks = 0;  // modulo 2^32
    std::uint8_t path_number = 0;      // entry_path() gives its meaning in the kernel's version
    std::uint32_t detail = 0;          // syscall_detail() or word_detail()

    friend bool operator==(const KernelEntry&, const KernelEntry&) = default;
};

// Reads entries one by one, from a buffer or its beginning.
class KernelEntryReader {
public:
    // `has_short_clock`: the kernel's timestamps have 32 bits (AArch32); a start that falls back by more than half of
    // that has wrapped, and gets the missing upper bits.
    KernelEntryReader(EntryLayout layout, bool has_short_clock, std::span<const std::byte> buffer_untrusted)
        : size_bytes_{entry_size_bytes(layout)}, has_short_clock_{has_short_clock}, rest_{buffer_untrusted} {}

    // False: no complete entry remains.
    [[nodiscard]] bool next(KernelEntry& entry);
    // Times that a short clock wrapped so far.
    [[nodiscard]] std::uint64_t wrap_count() const { return wrap_count_; }

private:
    std::size_t size_bytes_;
    bool has_short_clock_;
    std::span<const std::byte> rest_;
    std::uint64_t wrap_count_ = 0;
    std::uint64_t last_start_ = 0;
};

struct TracepointRecord {
    std::uint64_t id = 0;
    std::uint64_t duration_ticks = 0;

    friend bool operator==(const TracepointRecord&, const TracepointRecord&) = default;
};

class TracepointReader {
public:
    // Ids from `id_count` (KernelMaxNumTracePoints) on can't come from the kernel: they are counted and skipped.
    TracepointReader(WordSize word, std::uint64_t id_count, std::span<const std::byte> buffer_untrusted)
        : word_{word}, id_count_{id_count}, rest_{buffer_untrusted} {}

    [[nodiscard]] bool next(TracepointRecord& record);
    [[nodiscard]] std::uint64_t quarantined_count() const { return quarantined_count_; }
    // The largest of those ids.
    [[nodiscard]] std::uint64_t quarantined_id_max() const { return quarantined_id_max_; }

private:
    WordSize word_;
    std::uint64_t id_count_;
    std::span<const std::byte> rest_;
    std::uint64_t quarantined_count_ = 0;
    std::uint64_t quarantined_id_max_ = 0;
};

struct UtilisationFigures {
    std::uint64_t cycles = 0;
    std::uint64_t schedules = 0;
    std::uint64_t kernel_cycles = 0;
    std::uint64_t kernel_entries = 0;

    friend bool operator==(const UtilisationFigures&, const UtilisationFigures&) = default;
};
struct ThreadUtilisation {
    UtilisationFigures thread;
    UtilisationFigures idle;  // of the caller's core
    std::uint64_t idle_cycles_of_thread_core = 0;
    UtilisationFigures total;
};

// The IPC buffer's message words after seL4_BenchmarkGetThreadUtilisation. Fault: kTruncated (where: bytes there,
// value: bytes needed).
[[nodiscard]] Checked<ThreadUtilisation> read_utilisation(std::span<const std::byte> message_untrusted);

enum class LogCall : std::uint8_t { kSetLogBuffer = 1, kResetLog = 2 };

// The meaning of a call's error. SetLogBuffer: kInvalid, the capability isn't a large frame's. ResetLog: kNotFound, no
// buffer was set. Any other error: kUnsupported, the kernel has no such log (where: the call, value: the error).
[[nodiscard]] Checked<Done> check_log_call(LogCall call, std::uint64_t error);

}  // namespace perfleet::sel4
