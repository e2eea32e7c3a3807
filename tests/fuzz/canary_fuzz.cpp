// A bug that was planted here, to show that a campaign finds one: a collector that keeps the build-id of a request, and
// relies on the gateway for its length of 20 bytes. The product's own reader of replies runs before it.
#include <cstring>
#include <vector>

#include "schemas/wire/checksum.h"
#include "target-collector/message/reply_reader.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    static constexpr std::size_t kBuildIdSizeBytes = 20;
    FuzzInput input{data, size_bytes};
    std::vector<std::byte> message{input.rest().begin(), input.rest().end()};
    if (message.size() >= protocol::kChecksumEndBytes) {
        protocol::set_checksum(message);
    }
    const auto reply = read_reply(message);
    if (!reply.ok() || reply->type != Reply::Type::kNeedImage || reply->build_id.empty()) {
        return 0;
    }
    std::vector<std::byte> kept(kBuildIdSizeBytes);
    std::memcpy(kept.data(), reply->build_id.data(), reply->build_id.size());  // the bug
    [[maybe_unused]] static volatile std::byte first;
    first = kept.front();
    return 0;
}
