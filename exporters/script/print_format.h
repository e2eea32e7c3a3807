// Parses a tracepoint's format from tracefs: its field lines, and the expressions of its `print fmt`.
//
// Formats come from targets and are untrusted, while libtraceevent, which evaluates them, trusts its input. So only
// formats of this grammar are passed to it, and only if no expression can read outside of a row.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace perfleet {

inline constexpr std::size_t kTraceRowSizeBytesMax = 64U << 10U;  // offsets of dynamic fields have 16 bits
inline constexpr std::size_t kTraceIndexMax = 9'999;
inline constexpr std::size_t kTraceElementSizeBytesMax = 8;

struct TraceField {
    std::string name;
    std::string declaration;  // in C, without line breaks
    std::size_t offset = 0;   // offset + size is at most kTraceRowSizeBytesMax
    std::size_t size_bytes = 0;
    std::size_t element_size_bytes = 0;
    bool is_signed = false;
    bool is_array = false;
    bool is_string = false;
    bool is_dynamic = false;   // the field holds the content's place in the row
    bool is_relative = false;  // the same, relative to the field's end
    bool is_common = false;    // of all tracepoints
};

struct TraceLayout {
    std::string name;
    std::vector<TraceField> fields;  // empty: not a format
    std::string print;               // the text after `print fmt:`
};
[[nodiscard]] TraceLayout parse_trace_layout(std::string_view format_untrusted);

// Whether the `print fmt` can be evaluated for any row: within the grammar, only these fields, no divisor that can be
// 0, no index, count or width from the row, no deep nesting.
[[nodiscard]] bool is_safe_print_format(std::string_view print_untrusted, std::span<const TraceField> fields);

}  // namespace perfleet
