#include "query-engine/symbol/go_functions.h"

#include <cstring>
#include <optional>

namespace perfleet {
namespace {

constexpr std::uint32_t kMagicOf1_18 = 0xffff'fff0;
constexpr std::uint32_t kMagicOf1_20 = 0xffff'fff1;
constexpr std::size_t kEntryBytes = 8;

template <class Number>
std::optional<Number> number_at(std::string_view bytes, std::uint64_t at) {
    Number number{};
    if (at > bytes.size() || bytes.size() - at < sizeof(number)) {
        return std::nullopt;
    }
    std::memcpy(&number, bytes.data() + at, sizeof(number));
    return number;
}

// The section from the offset on that its header stores at `at`.
std::string_view part_at(std::string_view section, std::uint64_t at) {
    const auto offset = number_at<std::uint64_t>(section, at);
    return offset && *offset < section.size() ? section.substr(static_cast<std::size_t>(*offset)) : std::string_view{};
}

// Empty if there is no name.
std::string_view name_at(std::string_view names, std::uint32_t at) {
    if (at >= names.size()) {
        return {};
    }
    const std::string_view rest = names.substr(at);
    const std::size_t size = rest.find('\0');
    return size == std::string_view::npos ? std::string_view{} : rest.substr(0, size);
}

}  // namespace

std::vector<GoFunction> go_functions(std::string_view section) {
    const auto magic = number_at<std::uint32_t>(section, 0);
    const auto address_bytes = number_at<std::uint8_t>(section, 7);
    const std::uint64_t count = number_at<std::uint64_t>(section, 8).value_or(0);
    const std::uint64_t text = number_at<std::uint64_t>(section, 24).value_or(0);
    const std::string_view names = part_at(section, 32);
    const std::string_view functions = part_at(section, 64);
    if ((magic != kMagicOf1_18 && magic != kMagicOf1_20) || address_bytes != 8 || text == 0 ||
        count > functions.size() / kEntryBytes) {
        return {};
    }
    std::vector<GoFunction> found;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto entry = number_at<std::uint32_t>(functions, i * kEntryBytes);
        const auto record = number_at<std::uint32_t>(functions, i * kEntryBytes + 4);
        const auto next = number_at<std::uint32_t>(functions, (i + 1) * kEntryBytes);
        const auto name_offset =
            record ? number_at<std::uint32_t>(functions, std::uint64_t{*record} + 4) : std::nullopt;
        if (!name_offset || !next || *next < *entry || text + *next < text) {
            break;
        }
        const std::string_view name = name_at(names, *name_offset);
        if (*next > *entry && !name.empty()) {
            found.push_back({text + *entry, text + *next, name});
        }
    }
    return found;
}

}  // namespace perfleet
