// Records of perf_event in a kernel ring or a file, and the properties of their fields that the event's perf_event_attr
// determines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "schemas/perf/perf_event.h"

namespace perfleet {

// One record, its 8 bytes of header included. Borrowed.
struct RecordBytes {
    std::span<const std::byte> bytes;
    std::uint32_t type = 0;
    std::uint16_t misc = 0;
    std::uint64_t file_offset = 0;

    [[nodiscard]] bool is(perf::RecordType wanted) const { return type == static_cast<std::uint32_t>(wanted); }
};

// A whole record in this machine's byte order.
[[nodiscard]] inline RecordBytes native_record(std::span<const std::byte> bytes) {
    perf::RecordHeader header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    return {bytes, header.type, header.misc};
}

// Of the records of an event: fields of perf_event_attr.
struct RecordLayout {
    std::uint64_t sample_type = 0;
    std::uint64_t read_format = 0;
    std::uint64_t branch_sample_type = 0;
    std::uint64_t sample_regs_user = 0;
    std::uint64_t sample_regs_intr = 0;
    std::uint64_t period = 0;  // of samples that don't carry theirs
    bool has_trailers = true;  // sample_id_all: behind every record that isn't a sample
    bool is_foreign = false;   // in the other byte order

    [[nodiscard]] bool has(std::uint64_t fields) const { return (sample_type & fields) != 0; }
};

}  // namespace perfleet
