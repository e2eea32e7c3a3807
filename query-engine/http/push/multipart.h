// Reads bodies of type multipart/form-data (RFC 7578), as clients of /ingest send them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/error.h"

namespace perfleet {

inline constexpr std::size_t kFormPartsMax = 16;

struct FormPart {
    std::string name;
    std::string_view body;  // of the whole body
};

// `content_type` names the boundary. Errors: kInvalid, kTooLarge (more than kFormPartsMax parts).
[[nodiscard]] Result<std::vector<FormPart>> read_form(std::string_view content_type_untrusted,
                                                      std::string_view body_untrusted);

}  // namespace perfleet
