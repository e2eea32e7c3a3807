#include "exporters/script/print_format.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "schemas/text/parse.h"

namespace perfleet {
namespace {

constexpr std::size_t kFormatSizeBytesMax = 64U << 10U;
constexpr std::size_t kPrintSizeBytesMax = 32U << 10U;
constexpr std::size_t kFieldsMax = 256;
constexpr int kDepthMax = 64;

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// "offset:8" → 8.
std::optional<std::size_t> number_behind(std::string_view text, std::string_view name) {
    return text.starts_with(name) ? number_of<std::size_t>(text.substr(name.size())) : std::nullopt;
}

std::size_t element_size_of(std::string_view type) {
    const auto has = [&](std::string_view part) { return type.find(part) != std::string_view::npos; };
    if (has("char") || has("u8") || has("s8") || has("bool")) {
        return 1;
    }
    if (has("short") || has("u16") || has("s16")) {
        return 2;
    }
    return has("long") || has("u64") || has("s64") || has("size_t") || has("*") ? 8 : 4;
}

// Words, stars, and brackets that hold at most a word.
bool is_declaration(std::string_view text) {
    while (!text.empty()) {
        const bool is_bracket = text.front() == '[';
        const auto word = static_cast<std::size_t>(
            std::find_if_not(text.begin() + (is_bracket ? 1 : 0), text.end(), is_letter) - text.begin());
        if (is_bracket) {
            if (word == text.size() || text[word] != ']') {
                return false;
            }
            text.remove_prefix(word + 1);
        } else if (word > 0) {
            text.remove_prefix(word);
        } else if (text.front() == ' ' || text.front() == '*') {
            text.remove_prefix(1);
        } else {
            return false;
        }
    }
    return true;
}

// "\tfield:char word[8];\toffset:12;\tsize:8;\tsigned:0;"
std::optional<TraceField> parse_field(std::string_view line) {
    std::array<std::string_view, 4> parts;
    for (std::string_view& part : parts) {
        const std::size_t end = line.find(';');
        if (!line.starts_with('\t') || end == std::string_view::npos) {
            return std::nullopt;
        }
        part = line.substr(1, end - 1);
        line.remove_prefix(end + 1);
    }
    constexpr std::string_view kField = "field:";
    const auto offset = number_behind(parts[1], "offset:");
    const auto size = number_behind(parts[2], "size:");
    const auto is_signed = number_behind(parts[3], "signed:");
    if (!line.empty() || !parts[0].starts_with(kField) || !offset || !size || !is_signed ||
        *offset > kTraceRowSizeBytesMax || *size > kTraceRowSizeBytesMax - *offset) {
        return std::nullopt;
    }
    std::string_view declaration = parts[0].substr(kField.size());
    TraceField field;
    field.declaration = declaration;
    field.is_dynamic = declaration.starts_with("__data_loc ") || declaration.starts_with("__rel_loc ");
    field.is_relative = declaration.starts_with("__rel_loc ");
    field.is_array = field.is_dynamic;
    if (declaration.ends_with(']')) {
        field.is_array = true;
        declaration = declaration.substr(0, declaration.rfind('['));
    }
    const std::size_t name_first = declaration.find_last_of(" *]") + 1;
    field.name = declaration.substr(name_first);
    const std::string_view type = declaration.substr(0, name_first);
    if (!is_declaration(parts[0].substr(kField.size())) || type.empty() || field.name.empty() ||
        is_digit(field.name[0]) || (field.is_dynamic && *size != 4)) {
        return std::nullopt;
    }
    field.offset = *offset;
    field.size_bytes = *size;
    field.element_size_bytes = element_size_of(type);
    field.is_signed = *is_signed != 0;
    field.is_string = field.is_array && field.element_size_bytes == 1 && type.find("bool") == std::string_view::npos;
    field.is_common = field.name.starts_with("common_");
    return field;
}

// Recursive descent over the expressions; each function consumes what it names, or returns false.
class PrintGrammar {
public:
    PrintGrammar(std::string_view text, std::span<const TraceField> fields) : rest_{text}, fields_{fields} {}

    bool is_print() {
        if (!string(true)) {
            return false;
        }
        while (take(",")) {
            if (!expression(0)) {
                return false;
            }
        }
        skip_blanks();
        return rest_.empty();
    }

private:
    void skip_blanks() {
        while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n' || rest_.front() == '\t')) {
            rest_.remove_prefix(1);
        }
    }
    [[nodiscard]] bool sees(std::string_view text) {
        skip_blanks();
        return rest_.starts_with(text);
    }
    bool take(std::string_view text) {
        if (!sees(text)) {
            return false;
        }
        rest_.remove_prefix(text.size());
        return true;
    }
    std::string_view word() {
        skip_blanks();
        const auto end =
            static_cast<std::size_t>(std::find_if_not(rest_.begin(), rest_.end(), is_letter) - rest_.begin());
        const std::string_view taken = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return taken;
    }
    // Decimal or hexadecimal, with a suffix.
    bool number() {
        skip_blanks();
        return !rest_.empty() && is_digit(rest_.front()) && word().size() <= 24;
    }

    // Consecutive string literals. A printf format may have only short constant widths and precisions.
    bool string(bool is_format) {
        bool has_any = false;
        while (take("\"")) {
            has_any = true;
            std::size_t digit_count = 0;
            for (;;) {
                if (rest_.empty()) {
                    return false;
                }
                const char c = rest_.front();
                rest_.remove_prefix(1);
                if (c == '"') {
                    break;
                }
                if (c == '\\') {
                    if (rest_.empty()) {
                        return false;
                    }
                    rest_.remove_prefix(1);
                }
                digit_count = is_digit(c) ? digit_count + 1 : 0;
                if (std::iscntrl(static_cast<unsigned char>(c)) != 0 || (is_format && (c == '*' || digit_count > 4))) {
                    return false;
                }
            }
        }
        return has_any;
    }

    bool expression(int depth) {
        if (depth > kDepthMax || !operands(depth)) {
            return false;
        }
        if (!take("?")) {
            return true;
        }
        return expression(depth + 1) && take(":") && expression(depth + 1);
    }

    bool operands(int depth) {
        int operator_count = 0;
        do {
            while (take("!") || take("~") || take("-")) {
                if (++operator_count > kDepthMax) {
                    return false;
                }
            }
            if (!operand(depth)) {
                return false;
            }
            if (++operator_count > kDepthMax) {
                return false;
            }
        } while (binary_operator());
        return !is_bad_divisor_;
    }

    bool binary_operator() {
        for (const std::string_view name :
             {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "&", "|", "^", "<", ">"}) {
            if (take(name)) {
                return true;
            }
        }
        if (take("/") || take("%")) {
            skip_blanks();
            is_bad_divisor_ = rest_.empty() || rest_.front() < '1' || rest_.front() > '9';
            return true;
        }
        return false;
    }

    static bool is_type(std::string_view name) {
        constexpr std::array<std::string_view, 17> kTypes{"unsigned", "signed", "long", "int", "short", "char",
                                                          "void",     "const",  "bool", "u8",  "u16",   "u32",
                                                          "u64",      "s8",     "s16",  "s32", "s64"};
        return name.ends_with("_t") || name.starts_with("__u") || name.starts_with("__s") ||
               std::find(kTypes.begin(), kTypes.end(), name) != kTypes.end();
    }

    // `(type)` or `(type *)` before an operand.
    bool cast() {
        const std::string_view before = rest_;
        bool has_word = false;
        if (take("(")) {
            for (std::string_view name = word(); !name.empty(); name = word()) {
                if (name == "struct") {
                    name = word();
                } else if (!is_type(name)) {
                    break;
                }
                has_word = true;
                skip_blanks();
            }
            static_cast<void>(take("*"));
            if (has_word && take(")")) {
                return true;
            }
        }
        rest_ = before;
        return false;
    }

    bool operand(int depth) {
        if (depth > kDepthMax) {
            return false;
        }
        if (sees("\"")) {
            return string(false);
        }
        skip_blanks();
        if (!rest_.empty() && is_digit(rest_.front())) {
            return number();
        }
        if (cast()) {
            return operands(depth + 1);
        }
        if (take("(")) {
            return expression(depth + 1) && take(")");
        }
        if (take("REC->")) {
            const TraceField* const found = field(word());
            if (found == nullptr) {
                return false;
            }
            if (!take("[")) {
                return true;
            }
            skip_blanks();
            const std::string_view index = word();
            return found->is_array && !index.empty() && index.size() <= 4 &&
                   std::all_of(index.begin(), index.end(), is_digit) &&
                   found->element_size_bytes <= kTraceElementSizeBytesMax && take("]");
        }
        return function(word(), depth);
    }

    // A function call; or the name of a constant, which counts as 0.
    bool function(std::string_view name, int depth) {
        if (name.empty() || !take("(")) {
            return !name.empty();
        }
        constexpr std::array<std::string_view, 8> kOfDynamicFields{
            "__get_str",     "__get_dynamic_array_len",     "__get_bitmask",     "__get_cpumask",
            "__get_rel_str", "__get_rel_dynamic_array_len", "__get_rel_bitmask", "__get_rel_cpumask"};
        if (std::find(kOfDynamicFields.begin(), kOfDynamicFields.end(), name) != kOfDynamicFields.end()) {
            const TraceField* const found = field(word());
            return found != nullptr && found->is_dynamic && take(")");
        }
        const bool is_flags = name == "__print_flags";
        if ((!is_flags && name != "__print_symbolic") || !expression(depth + 1)) {
            return false;
        }
        if (is_flags && (!take(",") || !string(false))) {
            return false;
        }
        std::size_t value_count = 0;
        while (take(",")) {
            if (!take("{") || !expression(depth + 1) || !take(",") || !string(false) || !take("}")) {
                return false;
            }
            ++value_count;
        }
        return value_count > 0 && take(")");
    }

    const TraceField* field(std::string_view name) const {
        const auto found =
            std::find_if(fields_.begin(), fields_.end(), [&](const auto& known) { return known.name == name; });
        return found == fields_.end() ? nullptr : &*found;
    }

    std::string_view rest_;
    std::span<const TraceField> fields_;
    bool is_bad_divisor_ = false;
};

}  // namespace

TraceLayout parse_trace_layout(std::string_view format) {
    constexpr std::string_view kName = "name: ";
    constexpr std::string_view kPrint = "print fmt:";
    TraceLayout layout;
    const std::size_t print = format.find(kPrint);
    if (format.size() > kFormatSizeBytesMax || print == std::string_view::npos) {
        return layout;
    }
    layout.print = format.substr(print + kPrint.size());
    // Removes the ends of name lists: libtraceevent doesn't expect them.
    for (const std::string_view end : {", { 0, ((void *)0) }", ", { -1, ((void *)0) }", ", { -1, 0 }"}) {
        for (std::size_t at = layout.print.find(end); at != std::string::npos; at = layout.print.find(end, at)) {
            layout.print.erase(at, end.size());
        }
    }
    for (std::string_view rest = format.substr(0, print); !rest.empty();) {
        const std::size_t end = std::min(rest.find('\n'), rest.size() - 1);
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        if (line.starts_with(kName)) {
            layout.name = line.substr(kName.size());
        } else if (line.starts_with('\t')) {
            auto field = parse_field(line);
            if (!field || layout.fields.size() == kFieldsMax) {
                layout.fields.clear();
                return layout;
            }
            layout.fields.push_back(*std::move(field));
        }
    }
    if (layout.name.empty() || !std::all_of(layout.name.begin(), layout.name.end(), is_letter)) {
        layout.fields.clear();
    }
    return layout;
}

bool is_safe_print_format(std::string_view print, std::span<const TraceField> fields) {
    return print.size() <= kPrintSizeBytesMax && PrintGrammar{print, fields}.is_print();
}

}  // namespace perfleet
