#include "storage/engine/rados/place.h"

namespace perfleet {

std::string RadosPlace::text() const {
    return std::string{kRadosScheme} + (user == RadosPlace{}.user ? "" : user + "@") + pool +
           (name_space.empty() ? "" : "/" + name_space);
}

std::optional<RadosPlace> rados_place(std::string_view text) {
    if (!text.starts_with(kRadosScheme)) {
        return std::nullopt;
    }
    text.remove_prefix(kRadosScheme.size());
    RadosPlace place;
    if (const std::size_t at = text.find('@'); at != std::string_view::npos) {
        place.user = text.substr(0, at);
        text.remove_prefix(at + 1);
    }
    const std::size_t slash = text.find('/');
    place.pool = text.substr(0, slash);
    place.name_space = slash == std::string_view::npos ? "" : text.substr(slash + 1);
    return place;
}

}  // namespace perfleet
