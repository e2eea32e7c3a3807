// The data of a page: JSON, compressed (zlib's format) and in Base64, as a tenth to a fifth of its bytes. So no text of
// it ends the element that it stands in, either. base_page.js has what reads it.
#pragma once

#include <string>
#include <string_view>

namespace perfleet {

[[nodiscard]] std::string packed_json(std::string_view json);

}  // namespace perfleet
