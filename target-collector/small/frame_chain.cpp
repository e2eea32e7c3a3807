#include "target-collector/small/frame_chain.h"

namespace perfleet {
namespace {

constexpr std::size_t kRecordSizeBytes = 16;

struct FrameRecord {
    std::uint64_t caller;  // its frame pointer
    std::uint64_t return_address;
};

// The stack as addresses.
class FrameStack {
public:
    FrameStack(std::span<const std::byte> stack, FrameLayout layout)
        : stack_{stack},
          begin_{reinterpret_cast<std::uintptr_t>(stack.data())},
          below_bytes_{layout == FrameLayout::kRecordBelowPointer ? kRecordSizeBytes : 0} {}

    // Whether the record of that frame pointer lies in the stack.
    [[nodiscard]] bool has(std::uint64_t frame_pointer) const {
        const std::uint64_t at = frame_pointer - below_bytes_;
        return stack_.size() >= kRecordSizeBytes && at % kRecordSizeBytes == 0 && frame_pointer >= below_bytes_ &&
               at >= begin_ && at - begin_ <= stack_.size() - kRecordSizeBytes;
    }
    [[nodiscard]] FrameRecord record(std::uint64_t frame_pointer) const {
        FrameRecord record;
        __builtin_memcpy(&record, stack_.data() + (frame_pointer - below_bytes_ - begin_), sizeof record);
        return record;
    }

private:
    std::span<const std::byte> stack_;
    std::uint64_t begin_;
    std::uint64_t below_bytes_;
};

}  // namespace

std::size_t walk_frames(const FrameRegisters& registers, std::span<const std::byte> stack,
                        std::span<std::uint64_t> into, FrameLayout layout) {
    if (into.empty()) {
        return 0;
    }
    const FrameStack frames{stack, layout};
    std::size_t count = 0;
    into[count++] = registers.pc;
    std::uint64_t at = registers.frame_pointer;
    while (count < into.size() && frames.has(at)) {
        FrameRecord record = frames.record(at);
        // A leaf: where others have the return address it has the caller's frame pointer.
        if (layout == FrameLayout::kRecordBelowPointer && count == 1 && record.return_address > at &&
            frames.has(record.return_address)) {
            record = {record.return_address, registers.return_address};
        }
        if (record.return_address == 0) {
            break;
        }
        into[count++] = record.return_address;
        if (record.caller <= at) {
            break;
        }
        at = record.caller;
    }
    return count;
}

}  // namespace perfleet
