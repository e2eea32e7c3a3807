#include "query-engine/symbol/demangle.h"

#include <cxxabi.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

namespace perfleet {
namespace {

struct Free {
    void operator()(char* memory) const { std::free(memory); }
};

std::optional<std::string> cxa_demangled(const std::string& mangled) {
    int status = 0;
    const std::unique_ptr<char, Free> text{abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status)};
    if (status != 0 || text == nullptr) {
        return std::nullopt;
    }
    return std::string{text.get()};
}

// Qualifiers of the implicit object parameter, which are part of the parameters.
void drop_function_qualifiers(std::string& name) {
    constexpr std::array<std::string_view, 6> kQualifiers{" const", " volatile", " restrict", " &&", " &", " noexcept"};
    for (bool again = true; again;) {
        again = false;
        for (const std::string_view qualifier : kQualifiers) {
            if (name.ends_with(qualifier)) {
                name.resize(name.size() - qualifier.size());
                again = true;
            }
        }
    }
}

// The name alone: an encoding that ends behind its <name> is that of a variable, which has no parameters. Its end is
// found by trying: the first end where the demangler accepts the text, and no template arguments (I) or ABI tag (B)
// follow. Names that are nested (N) or local (Z) and template arguments end with E.
std::optional<std::string> without_parameters(const std::string& mangled) {
    if (mangled.size() < 3 || mangled[2] == 'T' || mangled[2] == 'G') {
        return cxa_demangled(mangled);  // vtables, thunks, guard variables
    }
    const bool nested = mangled[2] == 'N';
    for (std::size_t end = 4; end <= mangled.size(); ++end) {
        if (end < mangled.size() &&
            (mangled[end] == 'I' || mangled[end] == 'B' || (nested && mangled[end - 1] != 'E'))) {
            continue;
        }
        if (auto name = cxa_demangled(mangled.substr(0, end))) {
            drop_function_qualifiers(*name);
            return name;
        }
    }
    return std::nullopt;
}

bool is_hex(std::string_view text) { return text.find_first_not_of("0123456789abcdef") == std::string_view::npos; }

// Escapes of Rust's older mangling.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kRustEscapes{{{"$SP$", "@"},
                                                                                     {"$BP$", "*"},
                                                                                     {"$RF$", "&"},
                                                                                     {"$LT$", "<"},
                                                                                     {"$GT$", ">"},
                                                                                     {"$LP$", "("},
                                                                                     {"$RP$", ")"},
                                                                                     {"$C$", ","},
                                                                                     {"..", "::"}}};

bool append_rust_part(std::string_view part, std::string& out) {
    if (part.starts_with("_$")) {
        part.remove_prefix(1);
    }
    while (!part.empty()) {
        bool known = false;
        for (const auto& [escape, meaning] : kRustEscapes) {
            if (part.starts_with(escape)) {
                out += meaning;
                part.remove_prefix(escape.size());
                known = true;
                break;
            }
        }
        if (known) {
            continue;
        }
        if (part.starts_with("$u")) {  // $u7e$: a character by its code
            const std::size_t end = part.find('$', 2);
            if (end == std::string_view::npos || end == 2 || end > 4 || !is_hex(part.substr(2, end - 2))) {
                return false;
            }
            const unsigned long code = std::strtoul(std::string{part.substr(2, end - 2)}.c_str(), nullptr, 16);
            if (code < 0x20 || code > 0x7e) {
                return false;
            }
            out += static_cast<char>(code);
            part.remove_prefix(end + 1);
        } else if (part.front() == '$') {
            return false;
        } else {
            out += part.front();
            part.remove_prefix(1);
        }
    }
    return true;
}

// Rust's older mangling looks like C++'s, with a hash as its last part: _ZN4core3fmt5write17h0123456789abcdefE
std::optional<std::string> rust_demangled(std::string_view mangled) {
    if (!mangled.starts_with("_ZN") || mangled.find("17h") == std::string_view::npos) {
        return std::nullopt;
    }
    mangled.remove_prefix(3);
    std::string name;
    while (!mangled.empty() && mangled.front() >= '1' && mangled.front() <= '9') {
        std::size_t size = 0;
        while (!mangled.empty() && mangled.front() >= '0' && mangled.front() <= '9' && size < mangled.size()) {
            size = size * 10 + static_cast<std::size_t>(mangled.front() - '0');
            mangled.remove_prefix(1);
        }
        if (size > mangled.size()) {
            return std::nullopt;
        }
        const std::string_view part = mangled.substr(0, size);
        mangled.remove_prefix(size);
        if (size == 17 && part.front() == 'h' && is_hex(part.substr(1)) && mangled.starts_with('E')) {
            return name.empty() ? std::nullopt : std::optional{name};
        }
        if (!name.empty()) {
            name += "::";
        }
        if (!append_rust_part(part, name)) {
            return std::nullopt;
        }
    }
    return std::nullopt;
}

}  // namespace

std::string demangled_name(std::string_view name) {
    if (!name.starts_with("_Z") || name.size() > kDemangledNameSizeBytesMax) {
        return std::string{name};
    }
    if (auto rust = rust_demangled(name)) {
        return *std::move(rust);
    }
    // What the compiler appends to clones of a function (".isra.0", ".cold") is no part of the name.
    const std::string mangled{name.substr(0, name.find('.'))};
    if (auto text = without_parameters(mangled)) {
        return *std::move(text);
    }
    return std::string{name};
}

}  // namespace perfleet
