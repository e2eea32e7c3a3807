#include "query-engine/http/push/multipart.h"

#include <algorithm>

namespace perfleet {
namespace {

constexpr std::size_t kBoundarySizeBytesMax = 70;  // RFC 2046

// The value of `key="value"` or `key=value` in a header's parameters; empty: none.
std::string_view parameter_of(std::string_view header, std::string_view key) {
    for (std::size_t at = header.find(key); at != std::string_view::npos; at = header.find(key, at + 1)) {
        const bool is_whole = at > 0 && (header[at - 1] == ' ' || header[at - 1] == ';');
        std::string_view rest = header.substr(at + key.size());
        if (!is_whole || !rest.starts_with('=')) {
            continue;
        }
        rest.remove_prefix(1);
        if (rest.starts_with('"')) {
            return rest.substr(1, rest.find('"', 1) - 1);
        }
        return rest.substr(0, rest.find_first_of("; \t\r\n"));
    }
    return {};
}

Error malformed_form(const std::string& what) { return {ErrorCode::kInvalid, "multipart/form-data: " + what}; }

bool is_disposition(std::string_view line) {
    constexpr std::string_view kName = "content-disposition:";
    return line.size() > kName.size() && std::equal(kName.begin(), kName.end(), line.begin(), [](char a, char b) {
               return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b);
           });
}

}  // namespace

Result<std::vector<FormPart>> read_form(std::string_view content_type, std::string_view body) {
    const std::string_view boundary = parameter_of(content_type, "boundary");
    if (boundary.empty() || boundary.size() > kBoundarySizeBytesMax) {
        return malformed_form("its type names no boundary");
    }
    const std::string delimiter = "--" + std::string{boundary};
    const std::string next = "\r\n" + delimiter;
    if (!body.starts_with(delimiter)) {
        return malformed_form("it doesn't begin with its boundary");
    }
    body.remove_prefix(delimiter.size());
    std::vector<FormPart> parts;
    while (!body.starts_with("--")) {
        const std::size_t head_end = body.find("\r\n\r\n");
        const std::size_t end = head_end == std::string_view::npos ? head_end : body.find(next, head_end + 2);
        if (!body.starts_with("\r\n") || end == std::string_view::npos) {
            return malformed_form("part " + std::to_string(parts.size() + 1) + " isn't whole");
        }
        if (parts.size() == kFormPartsMax) {
            return Error{ErrorCode::kTooLarge,
                         "multipart/form-data: more than " + std::to_string(kFormPartsMax) + " parts"};
        }
        FormPart& part = parts.emplace_back();
        std::string_view head = body.substr(2, head_end);
        while (!head.empty()) {
            const std::string_view line = head.substr(0, head.find("\r\n"));
            head.remove_prefix(std::min(line.size() + 2, head.size()));
            part.name = is_disposition(line) ? std::string{parameter_of(line, "name")} : part.name;
        }
        const std::size_t begin = std::min(head_end + 4, end);
        part.body = body.substr(begin, end - begin);
        body.remove_prefix(end + next.size());
    }
    return parts;
}

}  // namespace perfleet
