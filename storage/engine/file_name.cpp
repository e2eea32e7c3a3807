#include "storage/engine/file_name.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

namespace perfleet {

std::string file_number_text(std::uint64_t number) {
    constexpr std::size_t kDigitsMin = 6;
    std::string text = std::to_string(number);
    return text.insert(0, kDigitsMin - std::min(kDigitsMin, text.size()), '0');
}

std::string table_file_name(EngineFile file) { return file_number_text(file) + ".sst"; }

std::optional<EngineFile> table_file_in(const Error& error) {
    const std::string_view message{error.message};
    const std::size_t end = message.rfind(".sst");
    std::size_t begin = end == std::string_view::npos ? 0 : end;
    while (end != std::string_view::npos && begin > 0 && message[begin - 1] >= '0' && message[begin - 1] <= '9') {
        --begin;
    }
    EngineFile number = 0;
    if (end == std::string_view::npos ||
        std::from_chars(message.data() + begin, message.data() + end, number).ec != std::errc{}) {
        return std::nullopt;
    }
    return number;
}

std::string damage_in(const Error& error) {
    const std::string_view message{error.message};
    for (const std::string_view begin : {": Corruption: ", ": IO error: "}) {
        if (const std::size_t at = message.find(begin); at != std::string_view::npos) {
            return std::string{message.substr(at + 2)};
        }
    }
    return std::string{message};
}

}  // namespace perfleet
