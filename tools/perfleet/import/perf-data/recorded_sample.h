// Reads samples, and the trailers of all other records, by the attr of their event. Everything in them is checked
// against the record's own length before it is used.
//
// What is returned borrows the record's bytes, and the reader's memory until its next call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "schemas/perf/sample_rest.h"
#include "tools/perfleet/import/perf-data/recorded_event.h"

namespace perfleet {

// One record as it stands in the file, its 8 bytes of header included.
struct RecordBytes {
    std::span<const std::byte> bytes;
    std::uint32_t type = 0;
    std::uint16_t misc = 0;
    std::uint64_t file_offset = 0;
};

struct RecordedSample {
    std::optional<std::uint64_t> id;
    std::uint64_t ip = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t time = 0;
    std::uint32_t cpu = 0;
    std::uint64_t period = 0;  // the attr's where samples have none

    // Of READ: a counter's value by the id of its event.
    struct Value {
        std::uint64_t value = 0;
        std::uint64_t id = 0;
    };
    std::span<const Value> values;
    std::uint64_t enabled_ns = 0;
    std::uint64_t running_ns = 0;
    std::span<const std::uint64_t> callchain;
    std::span<const std::byte> raw;

    // Of --call-graph dwarf: the registers in sample_regs_user, from the lowest bit on. Empty: none were recorded.
    bool is_64_bit = false;
    std::span<const std::uint64_t> registers;
    std::span<const std::byte> stack;
    bool is_stack_cut = false;

    std::uint64_t address = 0;
    std::uint64_t stream_id = 0;
    std::span<const std::byte> tail;  // perf::kTailFields, in this machine's byte order
};

// Of a record that isn't a sample.
struct RecordedTrailer {
    std::optional<std::uint64_t> id;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::optional<std::uint64_t> time;
    std::uint32_t cpu = 0;
    std::size_t size_bytes = 0;
};

// Fields of samples that neither a column nor SampleRest has, as perf_event_attr.sample_type has them. What READ counts
// is in the weights of rows; copied stacks are unwound.
inline constexpr std::uint64_t kFieldsNotKept =
    ~(perf::kTailFields | perf::sample_type::kIp | perf::sample_type::kTid | perf::sample_type::kTime |
      perf::sample_type::kAddr | perf::sample_type::kRead | perf::sample_type::kCallchain | perf::sample_type::kId |
      perf::sample_type::kCpu | perf::sample_type::kPeriod | perf::sample_type::kStreamId | perf::sample_type::kRaw |
      perf::sample_type::kIdentifier);
// "ADDR", "BRANCH_STACK"; "bit 25" of one that has no name yet.
[[nodiscard]] std::string sample_field_name(unsigned bit);

class SampleReader {
public:
    explicit SampleReader(bool is_foreign) : is_foreign_{is_foreign} {}
    [[nodiscard]] bool is_foreign() const { return is_foreign_; }

    // The id and the time of any record, without the rest, where its attr says that it has them. A record that isn't a
    // sample has a trailer only if the attr has sample_id_all.
    [[nodiscard]] std::optional<std::uint64_t> id_of(const RecordBytes& record, const RecordedEvent& event) const;
    [[nodiscard]] std::optional<std::uint64_t> time_of(const RecordBytes& record, const RecordedEvent& event) const;

    // Empty: the record breaks its format.
    [[nodiscard]] std::optional<RecordedSample> sample(const RecordBytes& record, const RecordedEvent& event);
    [[nodiscard]] std::optional<RecordedTrailer> trailer(const RecordBytes& record, const RecordedEvent& event) const;

private:
    class Fields;

    bool is_foreign_;
    std::vector<std::uint64_t> chain_;
    std::vector<std::uint64_t> registers_;
    std::vector<RecordedSample::Value> values_;
    std::vector<std::uint64_t> tail_;
};

}  // namespace perfleet
