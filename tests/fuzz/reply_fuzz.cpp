// What a gateway says to a collector. First byte: how the message is aligned. All that is borrowed must lie in the
// message.
#include <vector>

#include "target-collector/message/reply_reader.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

template <class Part>
void expect_within(const Part& part, std::span<const std::byte> message) {
    const auto* begin = reinterpret_cast<const std::byte*>(part.data());
    PERFLEET_ASSERT(part.empty() ||
                    (begin >= message.data() && begin + part.size() <= message.data() + message.size()));
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::size_t misalignment = input.byte() % 8;
    std::vector<std::byte> memory(misalignment);
    memory.insert(memory.end(), input.rest().begin(), input.rest().end());
    memory.shrink_to_fit();
    const std::span<const std::byte> message = std::span{memory}.subspan(misalignment);
    if (const auto reply = read_reply(message); reply.ok()) {
        expect_within(reply->message, message);
        expect_within(reply->build_id, message);
        PERFLEET_ASSERT(reply->sort <= Reply::Sort::kClockReply);
    }
    return 0;
}
