#include "target-collector/process/stack_unwinder.h"

#include <algorithm>
#include <utility>

namespace perfleet {

StackUnwinder::StackUnwinder(UnwindMachine machine, MakeTable make_table, UnwindTableStore* store)
    : machine_{machine}, make_table_{std::move(make_table)}, store_{store} {}

void StackUnwinder::make_table(std::uint32_t pid, const Mapping& mapping) {
    const ImageIndex image = mapping.image;
    if (store_ != nullptr ? store_->has_table(image) : image < tables_.size() && tables_[image].is_known) {
        return;
    }
    auto table = make_table_(image, pid, mapping);
    if (table && table->machine() != machine_) {
        table.reset();
    }
    if (store_ != nullptr) {
        store_->set_table(image, table ? &*table : nullptr);
    } else {
        keep_here(image, std::move(table));
    }
}

void StackUnwinder::keep_here(ImageIndex image, std::optional<UnwindTable> table) {
    tables_.resize(std::max<std::size_t>(tables_.size(), image + std::size_t{1}));
    if (table) {
        if (tables_bytes_ + table->size_bytes() > kTablesBytesMax) {
            std::for_each(tables_.begin(), tables_.end(), [](Slot& slot) { slot = {}; });
            tables_bytes_ = 0;
        }
        tables_bytes_ += table->size_bytes();
        tables_[image].table = std::make_unique<const UnwindTable>(std::move(*table));
    }
    tables_[image].is_known = true;
}

UnwindRule StackUnwinder::rule_of(std::uint32_t pid, const Mapping& mapping, std::uint64_t file_offset) {
    make_table(pid, mapping);
    if (store_ != nullptr) {
        return store_->rule(mapping.image, file_offset);
    }
    const auto& table = tables_[mapping.image].table;
    return table != nullptr ? table->find(file_offset) : UnwindRule{};
}

void StackUnwinder::forget_images() {
    tables_.clear();
    tables_bytes_ = 0;
}

void StackUnwinder::unwind(UnwindRegisters registers, const StackCopy& stack, std::uint32_t pid,
                           const MappingList& mappings, std::uint32_t depth_max, Chain& chain) {
    chain.count = 0;
    const std::size_t count_max = std::min<std::size_t>(depth_max, chain.addresses.size());
    bool is_return_address = false;
    for (;;) {
        // A return address belongs to the instruction before it: a call that never returns may end its function.
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
        const bool may_have_rule = mapping != nullptr && stack.word_bytes == StackCopy::kWordBytes;
        const UnwindRule rule =
            may_have_rule ? rule_of(pid, *mapping, place - mapping->start + mapping->file_offset) : UnwindRule{};
        auto end = unwind_step(machine_, rule, stack, registers);
        if (end == UnwindEnd::kNoTable) {
            UnwindRegisters caller = registers;
            const auto frame_end = unwind_step_by_frame_pointer(machine_, stack, caller);
            const bool is_caller = !frame_end && mappings.find(caller.pc - 1) != nullptr;
            if (is_caller) {
                registers = caller;
                end.reset();
            } else if (frame_end == UnwindEnd::kOutermost) {
                end = frame_end;  // the normal end of a thread with frame pointers
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
