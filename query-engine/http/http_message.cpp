#include "query-engine/http/http_message.h"

#include <algorithm>
#include <charconv>

#include "daemon/option/option.h"
#include "schemas/text/parse.h"
#include "schemas/zmtp/token.h"

namespace perfleet {
namespace {

constexpr std::size_t kParametersMax = 256;

Error malformed(const std::string& what) { return {ErrorCode::kInvalid, "malformed request: " + what}; }

std::string_view value_in(const std::vector<std::pair<std::string, std::string>>& pairs, std::string_view name) {
    const auto found = std::ranges::find(pairs, name, [](const auto& pair) { return std::string_view{pair.first}; });
    return found == pairs.end() ? std::string_view{} : std::string_view{found->second};
}

Result<std::string> decoded(std::string_view text, bool is_form) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x20 || byte == 0x7f) {
            return malformed("a control character in its target");
        }
        if (text[i] != '%') {
            result += is_form && text[i] == '+' ? ' ' : text[i];
            continue;
        }
        unsigned value = 0;
        const std::string_view digits = text.substr(i + 1, 2);
        const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
        if (digits.size() != 2 || read.ptr != digits.data() + 2 || value == 0) {
            return malformed("an escape with % isn't two hexadecimal digits above 00");
        }
        result += static_cast<char>(value);
        i += 2;
    }
    return result;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view{}
                                           : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_same_word(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

std::string_view HttpRequest::header(std::string_view name) const { return value_in(headers, name); }
std::string_view HttpRequest::parameter(std::string_view name) const { return value_in(parameters, name); }

Result<std::vector<std::pair<std::string, std::string>>> read_parameters(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> parameters;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('&'), text.size());
        const std::string_view part = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (part.empty()) {
            continue;
        }
        if (parameters.size() == kParametersMax) {
            return malformed("more than " + std::to_string(kParametersMax) + " parameters");
        }
        const std::size_t equals = std::min(part.find('='), part.size());
        auto name = PERFLEET_TRY(decoded(part.substr(0, equals), true));
        auto value = PERFLEET_TRY(decoded(part.substr(std::min(equals + 1, part.size())), true));
        parameters.emplace_back(std::move(name), std::move(value));
    }
    return parameters;
}

// `query` is empty, or begins with '?' or '#'.
static Result<Done> read_query(std::string_view query, HttpRequest& request) {
    query = query.substr(0, query.find('#'));
    request.parameters = PERFLEET_TRY(read_parameters(query.substr(query.empty() ? 0 : 1)));
    return Done{};
}

Result<Done> read_target(std::string_view target, HttpRequest& request) {
    for (const std::string_view scheme : {"http://", "https://"}) {
        if (is_same_word(target.substr(0, scheme.size()), scheme)) {
            target.remove_prefix(scheme.size());
            const std::string_view host = target.substr(0, target.find_first_of("/?#"));
            target.remove_prefix(host.size());
            if (host.empty() || host.find('@') != std::string_view::npos) {
                return malformed("its target names no host, or an account");
            }
            std::erase_if(request.headers, [](const auto& header) { return header.first == "host"; });
            request.headers.emplace_back("host", host);
            if (!target.starts_with('/')) {
                request.path = "/";
                return read_query(target, request);
            }
        }
    }
    const std::string_view path = target.substr(0, target.find_first_of("?#"));
    if (!path.starts_with('/')) {
        return malformed("its target is no absolute path");
    }
    request.path = PERFLEET_TRY(decoded(path, false));
    return read_query(target.substr(path.size()), request);
}

bool accepts(std::string_view list, std::string_view coding) {
    bool accepts_any = false;
    for (const std::string& item : split_list(std::string{list})) {
        const std::string_view name = trimmed(std::string_view{item}.substr(0, item.find(';')));
        const std::size_t quality = item.find("q=");
        const bool is_refused =
            quality != std::string::npos && item.find_first_not_of("0. \t", quality + 2) == std::string::npos;
        if (is_same_word(name, coding)) {
            return !is_refused;
        }
        accepts_any |= name == "*" && !is_refused;
    }
    return accepts_any;
}

bool has_cookie(std::string_view header, std::string_view cookie) {
    const std::string_view name = cookie.substr(0, cookie.find('=') + 1);
    while (!header.empty()) {
        const std::string_view part = trimmed(take_part(header, ';'));
        if (part.starts_with(name) && is_same_hash(hash_of_token(part), hash_of_token(cookie))) {
            return true;
        }
    }
    return false;
}

}  // namespace perfleet
