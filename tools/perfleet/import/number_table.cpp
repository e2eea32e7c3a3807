#include "tools/perfleet/import/number_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "schemas/text/layout.h"
#include "schemas/text/parse.h"
#include "tools/perfleet/import/exact_decimal.h"
#include "tools/perfleet/import/text_lines.h"

namespace perfleet {
namespace {

constexpr std::size_t kColumnsMax = 256;
constexpr std::size_t kNumbersMax = 1U << 27;
constexpr std::string_view kBlank = " \t";

// The meaning of a comma between two digits in this file.
enum class Comma : std::uint8_t { kSeparates, kGroups };

bool is_quoted(std::string_view cell) { return cell.size() >= 2 && cell.front() == '"' && cell.back() == '"'; }

std::string_view unquoted(std::string_view cell) {
    return is_quoted(cell) ? without_space(cell.substr(1, cell.size() - 2)) : cell;
}

// Splits at one character, except within quotes; cells may be empty.
std::vector<std::string_view> split_at(std::string_view line, char separator) {
    std::vector<std::string_view> cells;
    std::size_t start = 0;
    bool is_inside = false;
    for (std::size_t at = 0; at <= line.size(); ++at) {
        if (at < line.size() && line[at] == '"') {
            is_inside = !is_inside;
        } else if (at == line.size() || (line[at] == separator && !is_inside)) {
            cells.push_back(unquoted(without_space(line.substr(start, at - start))));
            start = at + 1;
        }
    }
    return cells;
}

// Splits at blanks, however many; text in brackets belongs to the word before it.
std::vector<std::string_view> split_at_blanks(std::string_view line) {
    std::vector<std::string_view> cells;
    std::size_t word = 0;  // begin of the last word
    for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos;) {
        std::size_t end = std::min(line.find_first_of(kBlank, at), line.size());
        if (!cells.empty() && (line[at] == '(' || line[at] == '[')) {
            end = std::min(line.find(line[at] == '(' ? ')' : ']', at), line.size() - 1) + 1;
            cells.back() = line.substr(word, end - word);
        } else {
            word = at;
            cells.push_back(unquoted(line.substr(at, end - at)));
        }
        at = line.find_first_not_of(kBlank, end);
    }
    return cells;
}

std::vector<std::string_view> cells_of(std::string_view line, Comma comma) {
    std::vector<std::string_view> cells;
    if (line.find(';') != std::string_view::npos) {
        cells = split_at(line, ';');
    } else if (line.find('|') != std::string_view::npos) {
        cells = split_at(line, '|');
        if (cells.size() > 1 && cells.front().empty()) {
            cells.erase(cells.begin());  // | a | b |
        }
    } else if (comma == Comma::kSeparates && line.find(',') != std::string_view::npos) {
        cells = split_at(line, ',');
    } else {
        return split_at_blanks(line);
    }
    if (cells.size() > 1 && cells.back().empty()) {
        cells.pop_back();  // a separator at the end
    }
    return cells;
}

bool is_number(std::string_view cell) { return parse_decimal(cell).fault != DecimalFault::kNoNumber; }

bool is_numbers(const std::vector<std::string_view>& cells) {
    return std::all_of(cells.begin(), cells.end(), [](auto cell) { return cell.empty() || is_number(cell); }) &&
           std::any_of(cells.begin(), cells.end(), [](auto cell) { return !cell.empty(); });
}

// Names the first cell that isn't a number.
Error no_number(std::size_t line, const std::vector<std::string_view>& cells) {
    const auto cell = std::find_if_not(cells.begin(), cells.end(), is_number);
    return invalid(line, fault_in_words(DecimalFault::kNoNumber, cell == cells.end() ? "" : *cell));
}

// |---|---:| under the names of a table.
bool is_rule(std::string_view line) { return line.find_first_not_of("-=|:+ \t") == std::string_view::npos; }

// A '#' within a name begins no comment.
std::string_view without_comment(std::string_view line) {
    const std::string_view before = without_space(line.substr(0, line.find('#')));
    const bool is_comment = before.size() == line.size() || before.empty() ||
                            is_numbers(cells_of(before, Comma::kSeparates)) ||
                            is_numbers(cells_of(before, Comma::kGroups));
    return is_comment ? before : line;
}

// Visits lines that aren't empty, without their comments.
template <class Visit>
Result<Done> each_filled_line(const TextPart& part, const Visit& visit) {
    const auto visit_filled = [&](const TextLine& line) -> Result<Done> {
        const std::string_view text = without_comment(line.text);
        const bool is_other =
            text.empty() || is_rule(text) || (part.is_left_out != nullptr && part.is_left_out(line.text));
        return is_other ? Done{} : visit(TextLine{line.number, text});
    };
    return each_line(part.text, visit_filled, part.first_line);
}

// --- meaning of commas ---

struct CommaSigns {
    std::size_t line = 0;  // the first line that can be read both ways
    std::string_view text;
    std::size_t pieces = 0;  // cells of that line, if commas separate
    bool separates = false;  // some line makes sense in only one way
    bool groups = false;
    bool has_single = false;     // has a line of one number below a thousand, thus without a comma
    std::size_t name_count = 0;  // cells of the last line before it that has no numbers
};

void look_at(const TextLine& line, CommaSigns& signs) {
    const std::string_view text = line.text;
    if (text.find_first_of(";|") != std::string_view::npos) {
        return;  // commas inside such cells are judged there
    }
    if (text.find(',') == std::string_view::npos) {
        signs.has_single = signs.has_single || (text.size() <= 3 && is_number(text));
        return;
    }
    const auto words = split_at_blanks(text);
    const bool all_group = std::all_of(words.begin(), words.end(), [](std::string_view word) {
        return word.find(',') == std::string_view::npos ? is_number(word) : is_grouped(word, ',');
    });
    if (!all_group) {
        signs.separates = signs.separates || is_numbers(split_at(text, ','));
    } else if (words.size() > 1) {
        signs.groups = true;
    } else if (signs.line == 0) {
        signs.line = line.number;
        signs.text = text;
        signs.pieces = split_at(text, ',').size();
    }
}

Result<Comma> comma_of(const TextPart& part) {
    CommaSigns signs;
    PERFLEET_TRY(each_filled_line(part, [&](const TextLine& line) {
        look_at(line, signs);
        if (signs.line == 0) {
            const auto cells = cells_of(line.text, Comma::kSeparates);
            signs.name_count = is_numbers(cells) ? signs.name_count : cells.size();
        }
        return Result<Done>{Done{}};
    }));
    if (signs.line == 0) {
        return signs.groups && !signs.separates ? Comma::kGroups : Comma::kSeparates;
    }
    if (signs.separates || (signs.name_count == signs.pieces && !signs.groups)) {
        return Comma::kSeparates;
    }
    if (signs.groups || signs.has_single || signs.name_count == 1) {
        return Comma::kGroups;
    }
    return invalid(signs.line, fmt::format("\"{}\" may be one number or {} columns: write numbers without commas, or "
                                           "columns with ';' between them",
                                           signs.text.substr(0, 48), signs.pieces));
}

// --- names and units ---

// A unit, and its spellings in files.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kUnits{{
    {"s", "s,sec,seconds"},
    {"ms", "ms,msec"},
    {"us", "us,usec,µs,μs,microseconds"},
    {"ns", "ns,nsec,nsecs,nanoseconds"},
    {"cycles", "cycles,clock cycles,cpu cycles,cycle,clocks"},
    {"ticks", "ticks"},
    {"bytes", "bytes"},
    {"instructions", "instructions"},
}};
constexpr std::size_t kUnitSizeMax = 24;

std::optional<std::string> known_unit(std::string_view text) {
    for (auto [unit, names] : kUnits) {
        while (!names.empty()) {
            if (take_part(names, ',') == text) {
                return std::string{unit};
            }
        }
    }
    return std::nullopt;
}

// Any unit in brackets, a known one after _ or /.
void name_column(std::string_view cell, NumberColumn& column) {
    const std::size_t bracket = cell.find_last_of("([");
    if (bracket != std::string_view::npos && !cell.empty() && (cell.back() == ')' || cell.back() == ']')) {
        const std::string_view inside = without_space(cell.substr(bracket + 1, cell.size() - bracket - 2));
        if (!inside.empty() && inside.size() <= kUnitSizeMax) {
            column.unit.name = known_unit(inside).value_or(std::string{inside});
            if (bracket > 0) {
                column.name = unquoted(without_space(cell.substr(0, bracket)));
            }
            return;
        }
    }
    const std::size_t end = cell.find_last_of("_/");
    const auto unit = known_unit(end == std::string_view::npos ? cell : cell.substr(end + 1));
    if (unit) {
        column.unit.name = *unit;
    }
    if (!unit || end != std::string_view::npos) {
        column.name = end != std::string_view::npos && unit && cell[end] == '/' ? cell.substr(0, end) : cell;
    }
}

// Spellings of missing values. No column has such a name.
bool is_missing_value(std::string_view cell) {
    constexpr std::array<std::string_view, 8> kWords{"na", "n/a", "nan", "null", "none", "nil", "inf", "infinity"};
    std::string word{cell.starts_with('-') ? cell.substr(1) : cell};
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

class TableReader {
public:
    explicit TableReader(Comma comma) : comma_{comma} {}

    Result<Done> take(const TextLine& line) {
        const auto cells = cells_of(line.text, comma_);
        if (!is_numbers(cells) && table_.columns.empty()) {
            passed_over_ = passed_over_ == 0 ? line.number : passed_over_;
            ++name_lines_;
            name_line_ = line.number;
            names_[0] = std::move(names_[1]);
            names_[1] = cells;
            return Done{};
        }
        if (table_.columns.empty()) {
            if (cells.size() > kColumnsMax) {
                return invalid(line.number, fmt::format("more than {} columns", kColumnsMax));
            }
            table_.columns.resize(cells.size());
            decimals_line_.resize(cells.size());
            first_row_ = line.number;
        }
        if (!is_numbers(cells)) {
            return no_number(line.number, cells);
        }
        if (cells.size() != table_.columns.size()) {
            return invalid(line.number, fmt::format("{} where the lines before have {}: is a value missing, or "
                                                    "does another table begin here?",
                                                    counted_noun(cells.size(), "value"), table_.columns.size()));
        }
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (cells[i].empty()) {
                ++empty_cells_;
                continue;
            }
            const ParsedDecimal parsed = parse_decimal(cells[i]);
            if (parsed.fault != DecimalFault::kNone) {
                return invalid(line.number, fault_in_words(parsed.fault, cells[i]));
            }
            ValueUnit& unit = table_.columns[i].unit;
            if (parsed.value.decimals > static_cast<int>(unit.decimals)) {
                if (parsed.value.decimals > static_cast<int>(ValueUnit::kDecimalsMax)) {
                    return invalid(line.number, fault_in_words(DecimalFault::kTooManyDigits, cells[i]));
                }
                unit.decimals = static_cast<unsigned>(parsed.value.decimals);
                decimals_line_[i] = line.number;
            }
        }
        return Done{};
    }

    // Called after all lines were taken, when each column's decimals are known.
    Result<Done> fill(const TextLine& line) {
        if (first_row_ == 0 || line.number < first_row_) {
            return Done{};
        }
        const auto cells = cells_of(line.text, comma_);
        value_count_ += cells.size();
        if (value_count_ > kNumbersMax) {
            return too_large(line.number, fmt::format("more than {} values; split the file", kNumbersMax));
        }
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (cells[i].empty()) {
                continue;
            }
            NumberColumn& column = table_.columns[i];
            const auto parts = in_parts(parse_decimal(cells[i]).value, column.unit.decimals);
            if (!parts) {
                return invalid(line.number,
                               fmt::format("\"{}\" with the {} decimals of line {} needs more than 64 bits; round",
                                           cells[i].substr(0, 48), column.unit.decimals, decimals_line_[i]));
            }
            column.values.push_back(*parts);
        }
        return Done{};
    }

    Result<NumberTable> finish() {
        if (table_.columns.empty() && name_lines_ != 0) {
            return no_number(name_line_, names_[1]);
        }
        std::size_t used = 0;
        for (; used < std::min(name_lines_, names_.size()); ++used) {
            const auto& cells = names_[names_.size() - 1 - used];
            if (cells.size() != table_.columns.size() || (used == 1 && has_names())) {
                break;
            }
            if (const auto missing = std::find_if(cells.begin(), cells.end(), is_missing_value);
                missing != cells.end()) {
                return invalid(name_line_, fmt::format("\"{}\" is no number, and no name of a column: leave the line "
                                                       "out, or the cell empty if there is no value",
                                                       *missing));
            }
            for (std::size_t i = 0; i < cells.size(); ++i) {
                name_column(cells[i], table_.columns[i]);
            }
        }
        if (name_lines_ > used && !table_.columns.empty()) {
            table_.warnings.push_back(
                fmt::format("line {}{} before the numbers passed over: they don't name the columns", passed_over_,
                            name_lines_ - used == 1 ? "" : " and others"));
        }
        if (comma_ == Comma::kGroups) {
            table_.warnings.emplace_back("commas between digits were taken to group them: 1,234 is 1234");
        }
        if (empty_cells_ != 0) {
            table_.warnings.push_back(std::to_string(empty_cells_) + " empty cells: no values there");
        }
        if (looks_like_names()) {
            table_.warnings.push_back(fmt::format(
                "line {} was taken for values, but looks like numbers of columns: put # before it if so", first_row_));
        }
        std::erase_if(table_.columns, [](const NumberColumn& column) { return column.values.empty(); });
        return std::move(table_);
    }

private:
    [[nodiscard]] bool has_names() const {
        return std::any_of(table_.columns.begin(), table_.columns.end(),
                           [](const NumberColumn& column) { return !column.name.empty(); });
    }

    // A row "1 2 3" above rows of far larger values.
    [[nodiscard]] bool looks_like_names() const {
        const auto& columns = table_.columns;
        if (columns.size() < 2 || columns[0].values.size() < 3) {
            return false;
        }
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const auto& values = columns[i].values;
            const bool goes_on =
                i == 0 || (!columns[i - 1].values.empty() && !values.empty() && values[0] > columns[i - 1].values[0] &&
                           values[0] - columns[i - 1].values[0] == columns[1].values[0] - columns[0].values[0]);
            const bool is_far =
                values.size() > 1 && *std::min_element(values.begin() + 1, values.end()) / 10 >= values[0];
            if (!goes_on || !is_far) {
                return false;
            }
        }
        return true;
    }

    Comma comma_;
    NumberTable table_;
    std::array<std::vector<std::string_view>, 2> names_;  // the last two lines before the numbers
    std::size_t name_lines_ = 0;
    std::size_t name_line_ = 0;
    std::size_t passed_over_ = 0;             // the first of them
    std::vector<std::size_t> decimals_line_;  // for each column, its line with the most decimals
    std::size_t first_row_ = 0;
    std::size_t empty_cells_ = 0;
    std::size_t value_count_ = 0;
};

}  // namespace

Result<Done> name_unit(const std::string& said, NumberColumn& column) {
    std::string& unit = column.unit.name;
    const auto known = known_unit(unit);
    if (!said.empty() && known && known_unit(said).value_or(said) != *known) {
        return usage(fmt::format(
            "--unit {}: the name of {} says {}; leave --unit out, or take the unit out of the column's name", said,
            column.name.empty() ? "a column" : "column \"" + column.name + "\"", unit));
    }
    unit = !said.empty() ? said : unit.empty() ? "cycles" : unit;
    return Done{};
}

bool is_row_of_numbers(std::string_view line_untrusted) {
    const std::string_view text = without_comment(without_space(line_untrusted));
    return is_numbers(cells_of(text, Comma::kSeparates)) || is_numbers(cells_of(text, Comma::kGroups));
}

Result<NumberTable> read_number_table(const TextPart& part_untrusted) {
    const auto comma = PERFLEET_TRY(comma_of(part_untrusted));
    TableReader reader{comma};
    PERFLEET_TRY(each_filled_line(part_untrusted, [&](const TextLine& line) { return reader.take(line); }));
    PERFLEET_TRY(each_filled_line(part_untrusted, [&](const TextLine& line) { return reader.fill(line); }));
    return reader.finish();
}

}  // namespace perfleet
