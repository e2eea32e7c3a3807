#include "storage/model/session_note.h"

#include <algorithm>

namespace perfleet {

Result<Done> check_given_name(std::string_view text_untrusted) {
    const auto invalid = [](const char* why) {
        return Error{ErrorCode::kInvalid, std::string{"a session's name "} + why};
    };
    if (text_untrusted.empty() || text_untrusted.size() > kGivenNameSizeBytesMax) {
        return invalid("has 1 to 64 bytes");
    }
    if (text_untrusted == "last" || text_untrusted.starts_with("last~")) {
        return invalid("can't be \"last\": that is the last session");
    }
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (std::any_of(text_untrusted.begin(), text_untrusted.end(), is_control) || text_untrusted.front() == ' ' ||
        text_untrusted.back() == ' ') {
        return invalid("has no control characters, and no space at its ends");
    }
    return Done{};
}

}  // namespace perfleet
