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

    std::uint16_t misc = 0;  // of the record
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

    // The user's registers in sample_regs_user, from the lowest bit on, and the copied part of the stack, from the
    // stack pointer on. Without registers: of a kernel's thread, or none were recorded.
    bool has_stack_copy = false;  // the event copies stacks: this copy may be empty
    bool is_32_bit = false;
    std::span<const std::uint64_t> registers;
    std::uint64_t registers_mask = 0;  // sample_regs_user
    std::span<const std::byte> stack;
    bool is_stack_cut = false;  // the stack may go on behind the copy

    std::uint64_t cgroup = 0;  // its id, of the hierarchy that perf_event is in; 0: it isn't recorded

    // 0 and empty: not recorded. perf_event_open(2) describes them.
    std::uint64_t access_cost = 0;  // WEIGHT or WEIGHT_STRUCT
    std::uint64_t data_source = 0;
    std::uint64_t transaction = 0;
    std::uint64_t physical_address = 0;
    std::uint64_t data_page_size = 0;
    std::uint64_t code_page_size = 0;
    std::span<const std::uint64_t> branches;             // their number, hw_idx if the event has it, the branches
    std::span<const std::uint64_t> user_registers;       // ABI, `registers`
    std::span<const std::uint64_t> interrupt_registers;  // ABI, those in sample_regs_intr
};

class SampleReader {
public:
    // Empty: the record breaks its format.
    [[nodiscard]] std::optional<SampleRecord> read(const RecordBytes& record, const RecordLayout& layout);

private:
    class Fields;

    std::vector<std::uint64_t> chain_;
    std::vector<std::uint64_t> branches_;
    std::vector<std::uint64_t> user_registers_;
    std::vector<std::uint64_t> interrupt_registers_;
    std::vector<SampleRecord::Value> values_;
};

}  // namespace perfleet
