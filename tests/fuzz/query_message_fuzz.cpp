// Messages between clients and perfleet-query. Whatever decodes is within its limits and is the same after being
// encoded and decoded again.
#include <string>

#include "query-engine/limits/query_limits.h"
#include "query-engine/wire/query_message.h"
#include "schemas/vocabulary/assert.h"
#include "tests/fuzz/fuzz_input.h"

namespace perfleet {
namespace {

void expect_within_limits(const QueryMessage& message) {
    if (const auto* ask = std::get_if<query_message::Ask>(&message.body)) {
        PERFLEET_ASSERT(ask->options.size() <= kQueryOptionsMax);
    } else if (const auto* columns = std::get_if<query_message::Columns>(&message.body)) {
        PERFLEET_ASSERT(columns->columns.size() <= limits::kQueryColumnsMax);
    } else if (const auto* rows = std::get_if<query_message::Rows>(&message.body)) {
        PERFLEET_ASSERT(rows->rows.size() <= limits::kQueryChunkRows);
        for (const auto& row : rows->rows) {
            PERFLEET_ASSERT(row.size() <= limits::kQueryColumnsMax);
        }
    }
}

}  // namespace
}  // namespace perfleet

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const auto message = decode_query_message_untrusted(input.rest());
    if (!message.ok()) {
        PERFLEET_ASSERT(!message.error().message.empty());
        return 0;
    }
    expect_within_limits(*message);
    const std::string once = encode_query_message(*message);
    const auto again = decode_query_message_untrusted(std::as_bytes(std::span{once}));
    PERFLEET_ASSERT(again.ok() && again->query == message->query);
    PERFLEET_ASSERT(encode_query_message(*again) == once);
    return 0;
}
