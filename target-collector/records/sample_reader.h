// Reads samples by the attr of their event. Everything in them is checked against the record's own length before it is
// used.
//
// One thread. What is read borrows the record's bytes, and the reader's memory until its next call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "target-collector/records/record_layout.h"

namespace perfleet {

struct SampleRecord {
    // Of READ: a counter's value by the id of its event.
    struct Value {
        std::uint64_t value = 0;
        std::uint64_t id = 0;
    };

    bool is_kernel = false;  // where ip is
    std::uint64_t ip = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t time = 0;
    std::uint64_t address = 0;
    std::uint32_t cpu = 0;
    std::uint64_t period = 0;  // the layout's where samples have none
    std::span<const Value> values;
    std::span<const std::uint64_t> callchain;  // with context markers, the leaf first
    std::span<const std::byte> raw;

    // The user's registers in sample_regs_user, from the lowest bit on, and what was copied of the stack, from the
    // stack pointer on. Without registers: of a kernel's thread, or none were recorded.
    bool is_32_bit = false;
    std::span<const std::uint64_t> registers;
    std::span<const std::byte> stack;
    bool is_stack_cut = false;  // the stack may go on behind the copy

    std::uint64_t cgroup = 0;             // its id, of the hierarchy that perf_event is in; 0: it isn't recorded
    std::span<const std::uint64_t> tail;  // perf::kTailFields
};

class SampleReader {
public:
    // Empty: the record breaks its format.
    [[nodiscard]] std::optional<SampleRecord> read(const RecordBytes& record, const RecordLayout& layout);

private:
    class Fields;

    std::vector<std::uint64_t> chain_;
    std::vector<std::uint64_t> registers_;
    std::vector<SampleRecord::Value> values_;
    std::vector<std::uint64_t> tail_;
};

}  // namespace perfleet
