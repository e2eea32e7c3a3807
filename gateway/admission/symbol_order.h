// Symbols that an operator of the gateway's own user hands over: an order names the build and a file that holds them as
// they are stored. So `perfleet symbols push` and `fetch` work beside a gateway.
#pragma once

#include <string>
#include <string_view>

#include "gateway/control/operator_message.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/image.h"

namespace perfleet {

struct OrderedSymbols {
    std::string build_id;  // raw
    ImageContent content;
};

// The order that hands over what stands in `file`, an absolute path.
[[nodiscard]] OperatorCommand order_of_symbols(std::string_view build_id, std::uint16_t type, const std::string& file);

// Reads and checks the file that an order names. Errors: kInvalid, kTooLarge, kNotFound, kPermission, kIo.
[[nodiscard]] Result<OrderedSymbols> read_ordered_symbols(const OperatorCommand& order);

}  // namespace perfleet
