// Follows the kernel's log without stopping it: returns each record once, in the kernel's order, straight from the
// buffer.
//
// The buffer is no ring: the kernel stops at its end, and starts again only after a reset. So when most of it is read
//
//      read          index         capacity
//   ───┴──────────────┴──────────────┤        FinalizeLog returns the index, ResetLog sets it to 0;
//      ├── tail ──────┤─ window ─┤            records logged between the two calls follow the index.
//
// the tail and that window are still read at the old place while the kernel writes from the beginning again. Kernel
// entries of the window are recognised by their start time, which is later than the previous entry's: older ones remain
// from the pass before. Tracepoints have no time: the window is compared with its earlier content; a record that equals
// it word for word, with no different record after it, can't be recognised.
//
// For one core; each further core logs in its own order. Freestanding; one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/result.h"
#include "target-collector/source/sel4/kernel_interface.h"

namespace perfleet::sel4 {

class LogFollower {
public:
    // Borrows `kernel`, which must have a log (mode kKernelEntries or kTracepoints).
    explicit LogFollower(KernelInterface& kernel);

    // Faults: as check_log_call().
    [[nodiscard]] Checked<Done> start();

    // The next complete records, at most `record_count_max`; empty: none now. Valid until the next call. Enters the
    // kernel once, or two or three times at a reset; not at all while it knows of unread records.
    [[nodiscard]] std::span<const std::byte> poll(std::uint64_t record_count_max);

    // Whether it knows of unread records: then poll() doesn't look for others.
    [[nodiscard]] bool has_more() const { return read_ != end_ || is_behind_reset_; }

    // Call it last, when has_more() is false: how many records the kernel has logged since the last poll(), by its own
    // index. Enters the kernel once.
    [[nodiscard]] std::uint64_t count_unread();

    struct Counts {
        std::uint64_t records = 0;      // returned
        std::uint64_t resets = 0;       // times that the log was reset
        std::uint64_t recovered = 0;    // those of `records` that were in windows
        std::uint64_t saturations = 0;  // resets that came too late: the buffer was full
        // Lower bound of the records lost in saturations: exact for tracepoints; one for each time for kernel entries,
        // which the kernel doesn't count.
        std::uint64_t lost = 0;
    };
    [[nodiscard]] const Counts& counts() const { return counts_; }

private:
    static constexpr std::size_t kWindowRecordsMax = 64;  // tracepoints of one window that are searched for
    static constexpr std::size_t kTracepointSizeBytesMax = 16;

    [[nodiscard]] std::span<const std::byte> records(std::uint64_t from, std::uint64_t to) const;
    [[nodiscard]] std::span<const std::byte> take(std::uint64_t to, std::uint64_t record_count_max);
    [[nodiscard]] bool is_later(std::uint64_t record) const;
    void look();
    void begin_anew(std::uint64_t index);
    void find_window(std::uint64_t index);

    KernelInterface& kernel_;
    bool is_entries_;
    bool has_short_clock_;
    std::size_t record_size_bytes_;
    std::uint64_t capacity_;
    std::uint64_t read_ = 0;
    std::uint64_t end_ = 0;         // end of the records that it knows of
    bool is_behind_reset_ = false;  // read_ and end_ are from before the last reset
    std::uint64_t window_end_ = 0;  // tracepoints: after the last record of the window
    std::array<std::byte, kWindowRecordsMax * kTracepointSizeBytesMax> before_{};
    Counts counts_;
};

}  // namespace perfleet::sel4
