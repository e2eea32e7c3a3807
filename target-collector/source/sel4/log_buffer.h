// Reads what seL4's kernel logged: kernel entries and tracepoints of the log buffer, utilisation of the IPC buffer.
// Layouts: schemas/sel4/kernel_log.h.
//
// Freestanding; nothing is written to the buffer, a read-only mapping is enough. Bytes are foreign: whatever they are,
// nothing outside the span is read. Indices are those that seL4_BenchmarkFinalizeLog returns; it doesn't stop logging,
// so a poller reads [last index, index) as often as it likes. Faults: `where` and `value` as each function says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/sel4/kernel_log.h"
#include "schemas/vocabulary/result.h"

namespace perfleet::sel4 {

// Where the start time of a 32-bit log begins again from 0.
inline constexpr std::uint64_t kShortClockRange = 1ULL << 32;

// How much of a log can be read.
struct LogFill {
    std::uint64_t record_count = 0;  // in the buffer
    std::uint64_t lost = 0;          // known to be lost: tracepoints behind a full buffer
    bool is_saturated = false;       // the buffer is full
    bool is_loss_known = true;       // a full log of kernel entries may have lost any number

    friend bool operator==(const LogFill&, const LogFill&) = default;
};

// The index of kernel entries stops at the capacity. Fault: kTooLarge when it is greater than that, which no kernel
// gives: another layout or another log (where: the index, value: the capacity).
[[nodiscard]] Checked<LogFill> entry_log_fill(EntryLayout layout, std::uint64_t index);

// The index of tracepoints goes on counting past the capacity.
[[nodiscard]] LogFill tracepoint_log_fill(WordSize word, std::uint64_t index);

struct KernelEntry {
    std::uint64_t start_ticks = 0;
    std::uint32_t duration_ticks = 0;  // modulo 2^32
    std::uint8_t path_number = 0;      // entry_path() says what it means in the kernel's version
    std::uint32_t detail = 0;          // syscall_detail() or word_detail()

    friend bool operator==(const KernelEntry&, const KernelEntry&) = default;
};

// One after the other, from a buffer or the beginning of one.
class KernelEntryReader {
public:
    // `has_short_clock`: the kernel's timestamps have 32 bits (AArch32); a start that falls back by more than half of
    // that has wrapped, and is given the bits that it lacks.
    KernelEntryReader(EntryLayout layout, bool has_short_clock, std::span<const std::byte> buffer_untrusted)
        : size_bytes_{entry_size_bytes(layout)}, has_short_clock_{has_short_clock}, rest_{buffer_untrusted} {}

    // False when no whole entry is left.
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
    // Ids from `id_count` on (KernelMaxNumTracePoints) are none that the kernel could have: they are counted and passed
    // over.
    TracepointReader(WordSize word, std::uint64_t id_count, std::span<const std::byte> buffer_untrusted)
        : word_{word}, id_count_{id_count}, rest_{buffer_untrusted} {}

    [[nodiscard]] bool next(TracepointRecord& record);
    [[nodiscard]] std::uint64_t quarantined_count() const { return quarantined_count_; }
    // The greatest of those ids.
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

// What a call's error says. SetLogBuffer: kInvalid, the capability is none of a large frame. ResetLog: kNotFound, no
// buffer was set. Any other error: kUnsupported, a kernel without such a log (where: the call, value: the error).
[[nodiscard]] Checked<Done> check_log_call(LogCall call, std::uint64_t error);

}  // namespace perfleet::sel4
