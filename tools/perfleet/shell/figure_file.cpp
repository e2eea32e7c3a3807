#include "tools/perfleet/shell/figure_file.h"

namespace perfleet {

std::optional<std::string> figure_format_of(const std::string& file) {
    for (const char* name : {"html", "svg", "png"}) {
        if (file.ends_with(std::string{"."} + name)) {
            return name;
        }
    }
    return std::nullopt;
}

Result<Done> choose_figure_format(const std::string& file, OptionValues& values) {
    if (values.contains("as")) {
        return Done{};
    }
    const auto format = figure_format_of(file);
    if (!format) {
        return Error{ErrorCode::kUsage,
                     "--output: " + file + " ends in none of .html, .svg and .png; --as chooses one"};
    }
    values["as"] = *format;
    return Done{};
}

}  // namespace perfleet
