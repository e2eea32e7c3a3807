// Operators' requests to keep symbols: a request names a build and a file that holds its symbols as they are stored.
// `perfleet symbols push` and `fetch` use it beside a live gateway.
#pragma once

#include <string>
#include <string_view>

#include "gateway/control/operator_message.h"
#include "schemas/session/image_content.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

struct OrderedSymbols {
    std::string build_id;  // raw
    ImageContent content;
};

// The request to keep the symbols in `file`, an absolute path.
[[nodiscard]] OperatorCommand order_of_symbols(std::string_view build_id, std::uint16_t type, const std::string& file);

// Reads and checks the file that a request names. Errors: kInvalid, kTooLarge, kNotFound, kPermission, kIo.
[[nodiscard]] Result<OrderedSymbols> read_ordered_symbols(const OperatorCommand& order);

}  // namespace perfleet
