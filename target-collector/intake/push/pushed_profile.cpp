#include "target-collector/intake/push/pushed_profile.h"

#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {

std::string label_key(std::string_view key) {
    std::string made{key.substr(0, limits::kLabelSizeBytesMax)};
    for (char& c : made) {
        const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        c = is_kept ? c : '_';
    }
    return made;
}

}  // namespace perfleet
