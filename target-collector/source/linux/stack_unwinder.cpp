#include "target-collector/source/linux/stack_unwinder.h"

#include <algorithm>
#include <utility>

namespace perfleet {

StackUnwinder::StackUnwinder(UnwindMachine machine, MakeTable make_table, OnTable on_table)
    : machine_{machine}, make_table_{std::move(make_table)}, on_table_{std::move(on_table)} {}

const UnwindTable* StackUnwinder::table_of(std::uint32_t pid, const Mapping& mapping) {
    if (mapping.image >= tables_.size()) {
        tables_.resize(mapping.image + std::size_t{1});
    }
    if (!tables_[mapping.image].is_known) {
        auto table = make_table_(mapping.image, pid, mapping);
        if (table && table->machine() == machine_) {
            if (tables_bytes_ + table->size_bytes() > kTablesBytesMax) {
                std::for_each(tables_.begin(), tables_.end(), [](Slot& slot) { slot = {}; });
                tables_bytes_ = 0;
            }
            tables_bytes_ += table->size_bytes();
            tables_[mapping.image].table = std::make_unique<const UnwindTable>(std::move(*table));
        }
        tables_[mapping.image].is_known = true;
    }
    if (on_table_) {
        on_table_(mapping.image, tables_[mapping.image].table.get());
    }
    return tables_[mapping.image].table.get();
}

void StackUnwinder::forget_images() {
    tables_.clear();
    tables_bytes_ = 0;
}

void StackUnwinder::unwind(UnwindRegisters registers, const StackCopy& stack, std::uint32_t pid,
                           const MappingList& mappings, std::uint32_t depth_max, Chain& chain) {
    static const UnwindRule kNoRule;
    chain.count = 0;
    const std::size_t count_max = std::min<std::size_t>(depth_max, chain.addresses.size());
    bool is_return_address = false;
    for (;;) {
        // A call that never returns may be the last instruction of its function: a return address belongs to what is
        // before it.
        const std::uint64_t place = registers.pc - (is_return_address ? 1 : 0);
        const Mapping* const mapping = mappings.find(place);
        if (mapping == nullptr && is_return_address) {
            chain.end = UnwindEnd::kBadAddress;
            return;
        }
        if (chain.count == count_max) {
            chain.end = UnwindEnd::kDepth;
            return;
        }
        chain.addresses[chain.count++] = registers.pc;
        const UnwindTable* const table = mapping != nullptr ? table_of(pid, *mapping) : nullptr;
        const UnwindRule& rule =
            table != nullptr ? table->find(place - mapping->start + mapping->file_offset) : kNoRule;
        auto end = unwind_step(machine_, rule, stack, registers);
        if (end == UnwindEnd::kNoTable) {
            UnwindRegisters caller = registers;
            const auto frame_end = unwind_step_by_frame_pointer(machine_, stack, caller);
            const bool is_caller = !frame_end && mappings.find(caller.pc - 1) != nullptr;
            if (is_caller) {
                registers = caller;
                end.reset();
            } else if (frame_end == UnwindEnd::kOutermost) {
                end = frame_end;  // a thread of a program with frame pointers ends so
            }
        }
        if (end) {
            chain.end = *end;
            return;
        }
        is_return_address = !rule.is_signal_frame;
    }
}

}  // namespace perfleet
