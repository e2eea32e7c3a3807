// Follows the kernel's log without stopping it: hands out each record once, in the order in which the kernel logged
// them, straight from the buffer.
//
// The buffer is no ring: the kernel stops where it ends, and begins anew when it is told to. So when most of it is read
//
//      read          index         capacity
//   ───┴──────────────┴──────────────┤        FinalizeLog says the index, ResetLog sets it to 0;
//      ├── tail ──────┤─ window ─┤            what is logged between the two calls stands behind the index.
//
// the tail and that window are read on from the old place while the kernel writes from the beginning again. Kernel
// entries of the window are known by their start, which is later than that of the entry before: anything older was left
// from the last time round. Tracepoints have no time: what stands there is compared with what stood there before; a
// record that equals it word for word, with none behind it that differs, can't be told from it.
//
// On one core; more cores log in an order of their own. Freestanding; one thread.
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
    // `kernel` is borrowed: one with a log (mode kKernelEntries or kTracepoints).
    explicit LogFollower(KernelInterface& kernel);

    // Faults: as check_log_call().
    [[nodiscard]] Checked<Done> start();

    // The next records, whole ones, at most so many; empty: none now. Good until the next call. Enters the kernel once,
    // twice or three times where it begins anew, and not at all while there are records that it knows of.
    [[nodiscard]] std::span<const std::byte> poll(std::uint64_t record_count_max);

    // Records that it knows of are there, so that poll() doesn't look for others.
    [[nodiscard]] bool has_more() const { return read_ != end_ || is_behind_reset_; }

    // At the end, once has_more() is false: how many the kernel has logged since poll() looked last, by its own index.
    // Nothing may follow. Enters the kernel once.
    [[nodiscard]] std::uint64_t count_unread();

    struct Counts {
        std::uint64_t records = 0;      // handed out
        std::uint64_t resets = 0;       // times that the log began anew
        std::uint64_t recovered = 0;    // of `records`: those of windows
        std::uint64_t saturations = 0;  // resets that came too late: the buffer was full
        // At least so many were lost to that: exact for tracepoints, one for each time for kernel entries, for the
        // kernel doesn't count them.
        std::uint64_t lost = 0;
    };
    [[nodiscard]] const Counts& counts() const { return counts_; }

private:
    static constexpr std::size_t kWindowRecordsMax = 64;  // tracepoints of one window that are looked for
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
    std::uint64_t end_ = 0;         // of what is known to be there
    bool is_behind_reset_ = false;  // read_ and end_ are of the time before the last reset
    std::uint64_t window_end_ = 0;  // tracepoints: behind the last record of the window
    std::array<std::byte, kWindowRecordsMax * kTracepointSizeBytesMax> before_{};
    Counts counts_;
};

}  // namespace perfleet::sel4
