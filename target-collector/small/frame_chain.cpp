#include "target-collector/small/frame_chain.h"

#include <optional>

namespace perfleet {
namespace {

constexpr std::size_t kRecordSizeBytes = StackReader::kRecordSizeBytes;

struct FrameRecord {
    std::uint64_t caller;  // its frame pointer
    std::uint64_t return_address;
};
static_assert(sizeof(FrameRecord) == kRecordSizeBytes);

// A stack that is mapped here, as addresses.
class MappedStack {
public:
    explicit MappedStack(std::span<const std::byte> stack)
        : stack_{stack}, begin_{reinterpret_cast<std::uintptr_t>(stack.data())} {}

    [[nodiscard]] bool read(std::uint64_t address, std::span<std::byte, kRecordSizeBytes> into) const {
        if (stack_.size() < kRecordSizeBytes || address < begin_ ||
            address - begin_ > stack_.size() - kRecordSizeBytes) {
            return false;
        }
        __builtin_memcpy(into.data(), stack_.data() + (address - begin_), kRecordSizeBytes);
        return true;
    }

private:
    std::span<const std::byte> stack_;
    std::uint64_t begin_;
};

// The record of that frame pointer. Nothing: it doesn't lie in the stack.
template <class Stack>
std::optional<FrameRecord> read_record(Stack& stack, std::uint64_t frame_pointer, FrameLayout layout) {
    const std::uint64_t below_bytes = layout == FrameLayout::kRecordBelowPointer ? kRecordSizeBytes : 0;
    const std::uint64_t at = frame_pointer - below_bytes;
    std::byte bytes[kRecordSizeBytes];
    if (frame_pointer < below_bytes || at % kRecordSizeBytes != 0 || !stack.read(at, bytes)) {
        return std::nullopt;
    }
    FrameRecord record;
    __builtin_memcpy(&record, bytes, sizeof record);
    return record;
}

template <class Stack>
std::size_t walk(const FrameRegisters& registers, Stack& stack, std::span<std::uint64_t> into, FrameLayout layout) {
    if (into.empty()) {
        return 0;
    }
    std::size_t count = 0;
    into[count++] = registers.pc;
    std::uint64_t at = registers.frame_pointer;
    while (count < into.size()) {
        std::optional<FrameRecord> record = read_record(stack, at, layout);
        if (!record) {
            break;
        }
        // A leaf: where others have the return address it has the caller's frame pointer.
        if (layout == FrameLayout::kRecordBelowPointer && count == 1 && record->return_address > at &&
            read_record(stack, record->return_address, layout)) {
            record = FrameRecord{record->return_address, registers.return_address};
        }
        if (record->return_address == 0) {
            break;
        }
        into[count++] = record->return_address;
        if (record->caller <= at) {
            break;
        }
        at = record->caller;
    }
    return count;
}

}  // namespace

std::size_t walk_frames(const FrameRegisters& registers, std::span<const std::byte> stack,
                        std::span<std::uint64_t> into, FrameLayout layout) {
    const MappedStack mapped{stack};
    return walk(registers, mapped, into, layout);
}

std::size_t walk_frames(const FrameRegisters& registers, StackReader& stack, std::span<std::uint64_t> into,
                        FrameLayout layout) {
    stack.begin_chain();
    return walk(registers, stack, into, layout);
}

}  // namespace perfleet
