// The name of an image that stands for one function named by a client. Further data of the function follow the name;
// they aren't shown.
//
//   function ␟ image ␟ file ␟ first line      each of the last three may be empty; ␟ is U+001F
//
// Such images are anonymous, without an address; offsets in them encode lines (offset_of_line()).
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace perfleet {

inline constexpr char kFunctionPartMark = '\x1f';
inline constexpr std::uint64_t kFunctionLineMax = 1U << 24;
inline constexpr std::uint64_t kFunctionSize = 2 * (kFunctionLineMax + 1);  // of such an image

// Two offsets stand for each line, because callers are looked up one byte before their offset.
[[nodiscard]] constexpr std::uint64_t offset_of_line(std::uint64_t line) { return 2 * line + 1; }
[[nodiscard]] constexpr std::uint32_t line_of_offset(std::uint64_t offset) {
    return static_cast<std::uint32_t>(offset / 2);
}

struct NamedFunction {
    std::string_view function;
    std::string_view image;        // where it runs: a program, a library
    std::string_view file;         // of its source
    std::uint32_t first_line = 0;  // 0: not known

    // The texts must not have control characters.
    [[nodiscard]] std::string text() const {
        std::string made{function};
        for (const std::string_view part : {image, file}) {
            made += kFunctionPartMark;
            made += part;
        }
        return made + kFunctionPartMark + (first_line == 0 ? std::string{} : std::to_string(first_line));
    }

    // Borrows the name. For any other image's name, the whole name is the function, and the rest isn't known.
    [[nodiscard]] static NamedFunction in(std::string_view name_untrusted) {
        NamedFunction made;
        const auto take = [&] {
            const std::string_view part = name_untrusted.substr(0, name_untrusted.find(kFunctionPartMark));
            name_untrusted.remove_prefix(part.size() == name_untrusted.size() ? part.size() : part.size() + 1);
            return part;
        };
        made.function = take();
        made.image = take();
        made.file = take();
        std::from_chars(name_untrusted.data(), name_untrusted.data() + name_untrusted.size(), made.first_line);
        return made;
    }
};

}  // namespace perfleet
