#include "target-collector/source/linux/source_sample.h"

#include "target-collector/records/byte_cursor.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kEndCopy = 4;  // from bpf/unwind_walk.bpf.h: a copy of the stack instead of a chain

}  // namespace

bool take_unwound(SourceSample& sample, bool is_off_cpu) {
    ByteCursor cursor{sample.raw, false};
    if (is_off_cpu) {  // off_cpu_head without its first word
        constexpr std::size_t kNameBytes = 16;
        sample.off_cpu.waker_tid = cursor.u32();
        sample.off_cpu.blocked_ns = cursor.u64();
        sample.off_cpu.runnable_ns = cursor.u64();
        sample.off_cpu.waker = cursor.field(kNameBytes);
        cursor.skip(sizeof(std::uint32_t));
    }
    // unwind_sample, from `status` on; its words are aligned.
    sample.unwound_end = cursor.u32();
    sample.period = cursor.u64();
    const auto chain = cursor.rest();
    sample.user_chain = {reinterpret_cast<const std::uint64_t*>(chain.data()), chain.size() / sizeof(std::uint64_t)};
    sample.is_unwound = sample.unwound_end != kEndCopy;
    sample.raw = {};
    return !cursor.failed();
}

}  // namespace perfleet
