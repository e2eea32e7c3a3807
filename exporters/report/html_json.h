// JSON as it may stand in a `<script type="application/json">` of a page: no text of it ends the element.
#pragma once

#include <string>
#include <string_view>

namespace perfleet {

[[nodiscard]] inline std::string json_for_html(std::string_view json) {
    std::string text;
    text.reserve(json.size() + json.size() / 16);
    for (const char c : json) {
        switch (c) {
            case '<': text += "\\u003c"; break;
            case '>': text += "\\u003e"; break;
            case '&': text += "\\u0026"; break;
            default: text += c;
        }
    }
    return text;
}

}  // namespace perfleet
