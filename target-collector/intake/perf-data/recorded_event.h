// An event of a perf.data file: the content of its perf_event_attr, and the resulting fields of its records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "target-collector/records/record_layout.h"

namespace perfleet {

inline constexpr std::size_t kAttrSizeBytesMin = 64;  // PERF_ATTR_SIZE_VER0

struct RecordedEvent : RecordLayout {  // its period may be a frequency in Hz
    std::string name;
    std::vector<std::uint64_t> ids;
    std::string attr;  // complete, in this machine's byte order

    // Fields of attr.
    std::uint32_t type = 0;
    std::uint64_t config = 0;
    std::uint64_t flags = 0;  // attr_flags
    std::int32_t clock_id = 0;

    // For a tracepoint whose format is in the file.
    std::string format;
    std::uint16_t group = 0;  // from 1; 0: in none

    // Unit and scale of the counts, if the file has them.
    std::optional<double> scale;
    std::string unit_name;

    [[nodiscard]] bool is(std::uint64_t flag) const { return (flags & flag) != 0; }
};

// Bits of perf_event_attr's flags.
namespace attr_flags {
inline constexpr std::uint64_t kExcludeUser = 1U << 4;
inline constexpr std::uint64_t kExcludeKernel = 1U << 5;
inline constexpr std::uint64_t kExcludeHypervisor = 1U << 6;
inline constexpr std::uint64_t kFreq = 1U << 10;
inline constexpr unsigned kPreciseShift = 15;  // two bits
inline constexpr std::uint64_t kSampleIdAll = 1U << 18;
inline constexpr std::uint64_t kExcludeHost = 1U << 19;
inline constexpr std::uint64_t kExcludeGuest = 1U << 20;
inline constexpr std::uint64_t kExcludeKernelChain = 1U << 21;
inline constexpr std::uint64_t kUseClockid = 1U << 25;
}  // namespace attr_flags

// Reads an attr of at least kAttrSizeBytesMin; missing fields are 0. Empty: it is shorter.
[[nodiscard]] std::optional<RecordedEvent> read_attr(std::span<const std::byte> attr, bool is_foreign);

// perf's name of an event that the file doesn't name: "cycles:u", "raw 0x1a8". Empty for a tracepoint: its format has
// its name.
[[nodiscard]] std::string name_of_attr(const RecordedEvent& event);

// The unit of a row's weight: "ns", "events", "cycles", "2.3283064365386963e-10 Joules".
[[nodiscard]] std::string unit_of_event(const RecordedEvent& event);

}  // namespace perfleet
