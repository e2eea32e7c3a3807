#include "target-collector/small/frame_chain.h"

namespace perfleet {

std::size_t walk_frames(std::uint64_t pc, std::uint64_t frame_pointer, std::span<const std::byte> stack,
                        std::span<std::uint64_t> into) {
    constexpr std::size_t kRecordSizeBytes = 16;
    if (into.empty()) {
        return 0;
    }
    std::size_t count = 0;
    into[count++] = pc;
    const auto begin = reinterpret_cast<std::uintptr_t>(stack.data());
    std::uint64_t at = frame_pointer;
    while (count < into.size() && stack.size() >= kRecordSizeBytes && at % kRecordSizeBytes == 0 && at >= begin &&
           at - begin <= stack.size() - kRecordSizeBytes) {
        std::uint64_t record[2];
        __builtin_memcpy(record, stack.data() + (at - begin), sizeof record);
        if (record[1] == 0) {
            break;
        }
        into[count++] = record[1];
        if (record[0] <= at) {
            break;
        }
        at = record[0];
    }
    return count;
}

}  // namespace perfleet
