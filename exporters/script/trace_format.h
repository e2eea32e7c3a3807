// The format of a tracepoint from tracefs: decodes the raw bytes of its rows as `perf script` prints them (the event's
// `print fmt`, evaluated by libtraceevent) and field by field.
//
// Formats and rows come from targets and are untrusted, and libtraceevent checks neither against the other. It gets
// only formats of print_format.h's grammar, rewritten from the parsed fields, and rows in a buffer that is larger than
// any offset in such a format. Rows of other formats are printed as `name=value`.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class TraceFormat : NonCopyable {
public:
    // The kernel function at an address, for %ps and %pS: its name, empty if it isn't known, and where it starts.
    struct Function {
        std::string name;
        std::uint64_t address = 0;
    };
    using FindFunction = std::function<Function(std::uint64_t address)>;
    using Value = std::variant<std::int64_t, std::uint64_t, std::string, std::vector<std::uint64_t>>;

    // `system` is the part before the colon of the event's name.
    TraceFormat(const std::string& system, std::string_view format_untrusted, FindFunction find_function);
    ~TraceFormat();

    // As `perf script` prints it; empty where the format can't be read.
    [[nodiscard]] std::string text(std::uint32_t cpu, std::string_view raw_untrusted);

    // The event's own fields, in the format's order, as far as the row reaches.
    [[nodiscard]] std::vector<std::pair<std::string, Value>> fields(std::string_view raw_untrusted) const;

private:
    struct Library;
    std::unique_ptr<Library> library_;
};

}  // namespace perfleet
