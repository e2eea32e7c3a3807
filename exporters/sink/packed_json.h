// The data of a page: JSON, compressed (zlib's format) and in Base64, a tenth to a fifth of its size. Base64 also
// prevents its text from ending the HTML element. page/src/page.ts decodes it.
#pragma once

#include <string>
#include <string_view>

namespace perfleet {

[[nodiscard]] std::string packed_json(std::string_view json);

}  // namespace perfleet
