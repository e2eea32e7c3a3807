// Messages between operators and a gateway over the control socket. A message that is read is written again unchanged.
#include <string>

#include "gateway/control/operator_message.h"
#include "schemas/vocabulary/assert.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::string_view line = input.rest_text();
    // Except for a blank after the last word that there has to be.
    const auto is_same = [&](const std::string& again) { return again == line || again + " " == line; };
    if (const auto request = decode_operator_request(line); request.ok()) {
        PERFLEET_ASSERT(is_same(encode_operator_request(*request)));
    } else {
        PERFLEET_ASSERT(!request.error().message.empty());
    }
    if (const auto reply = decode_operator_reply(line); reply.ok()) {
        PERFLEET_ASSERT(is_same(encode_operator_reply(*reply)));
    } else {
        PERFLEET_ASSERT(!reply.error().message.empty());
    }
    return 0;
}
