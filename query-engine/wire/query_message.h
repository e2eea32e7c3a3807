// Messages between query client and server, as plain values; schemas/wire/query.capnp is their encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "daemon/option/option.h"
#include "query-engine/service/query.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr std::size_t kQueryRequestSizeBytesMax = 64U << 10;
inline constexpr std::size_t kQueryReplySizeBytesMax = 16U << 20;
inline constexpr std::uint32_t kQueryOptionsMax = 32;

namespace query_message {

struct Ask {
    std::string command;
    OptionValues options;
    std::uint32_t chunk_count = 0;
};
struct More {
    std::uint32_t chunk_count = 0;
};
struct Cancel {};
struct Working {
    std::uint64_t done = 0;   // rows read
    std::uint64_t total = 0;  // rows to read, as far as known; 0: unknown
};
struct Columns {
    std::vector<AnswerColumn> columns;
};
struct Rows {
    std::vector<std::vector<AnswerValue>> rows;
};
struct Bytes {
    std::uint64_t offset = 0;
    std::string bytes;
};
using Body = std::variant<Ask, More, Cancel, Working, Columns, Rows, Bytes, QueryEnd, Error>;

}  // namespace query_message

struct QueryMessage {
    std::uint64_t query = 0;
    query_message::Body body;
};

[[nodiscard]] std::string encode_query_message(const QueryMessage& message);

// Errors: kInvalid (not a query message, or beyond its limits), kUnsupported (a newer version).
[[nodiscard]] Result<QueryMessage> decode_query_message_untrusted(std::span<const std::byte> bytes_untrusted);

}  // namespace perfleet
