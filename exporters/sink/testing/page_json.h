// The JSON that packed_json() has put into a page; a page without it is a failure of the test.
#pragma once

#include <string>

namespace perfleet {

[[nodiscard]] std::string json_of_page(const std::string& page);

}  // namespace perfleet
