// Fields of the struct perf_event_attr that an event was recorded with, in EventRecord::attr.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace perfleet::perf {

// Offsets in bytes.
namespace attr_offset {
inline constexpr std::size_t kSampleType = 24;
inline constexpr std::size_t kReadFormat = 32;
inline constexpr std::size_t kFlags = 40;
inline constexpr std::size_t kBranchSampleType = 72;
inline constexpr std::size_t kSampleRegsUser = 80;
inline constexpr std::size_t kSampleRegsIntr = 96;
}  // namespace attr_offset

// Bits of branch_sample_type, as in linux/perf_event.h.
namespace branch_sample_type {
inline constexpr std::uint64_t kCallStack = 1U << 11;
inline constexpr std::uint64_t kHwIndex = 1U << 17;
}  // namespace branch_sample_type

// The 8-byte field at `offset`; 0 if the attr is of an older kernel and ends before it.
inline std::uint64_t attr_field(std::string_view attr, std::size_t offset) {
    std::uint64_t field = 0;
    if (attr.size() >= offset + sizeof(field)) {
        std::memcpy(&field, attr.data() + offset, sizeof(field));
    }
    return field;
}

}  // namespace perfleet::perf
