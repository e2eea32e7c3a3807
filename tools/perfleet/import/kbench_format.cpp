// Serial output of Kanata Bench:
//
//   Initial Test size: 30
//   Delta: 1
//   Number of Tests / Sample size of Accumulated latency: 30
//   Number of Groups: 5
//   Accumulated latencies (clock cycles):
//   <S lines of G integers>
//   Done!
//
// Other lines (a boot loader's, a kernel's) are skipped. A file may hold several runs. A bare table of tests × groups
// is one run whose sizes the user gives.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "schemas/text/layout.h"
#include "tools/perfleet/import/exact_decimal.h"
#include "tools/perfleet/import/number_table.h"
#include "tools/perfleet/import/run_parts.h"
#include "tools/perfleet/import/text_lines.h"

namespace perfleet {
namespace {

using enum ColumnId;

struct Parameters {
    std::optional<std::uint64_t> initial;
    std::optional<std::uint64_t> delta;
    std::optional<std::uint64_t> sample_size;
    std::optional<std::uint64_t> groups;

    // N of a group, which counts from 0; nothing past 64 bits.
    [[nodiscard]] std::optional<std::uint64_t> size_of(std::uint64_t group) const {
        std::uint64_t size = 0;
        const bool is_too_large =
            __builtin_mul_overflow(*delta, group, &size) || __builtin_add_overflow(*initial, size, &size);
        return is_too_large ? std::nullopt : std::optional{size};
    }
};

// The beginning of a parameter's line, and the run's label that keeps the value.
struct ParameterRule {
    std::string_view begin;
    const char* label;
    std::optional<std::uint64_t> Parameters::*value;
};

constexpr std::string_view kInitial = "Initial Test size:";
constexpr std::string_view kDelta = "Delta:";
constexpr std::array<ParameterRule, 4> kParameters{{
    {kInitial, "initial_test_size", &Parameters::initial},
    {kDelta, "delta", &Parameters::delta},
    {"Number of Tests / Sample size of Accumulated latency:", "sample_size", &Parameters::sample_size},
    {"Number of Groups:", "groups", &Parameters::groups},
}};
constexpr std::string_view kTable = "Accumulated latencies";
constexpr std::string_view kDone = "Done!";

constexpr std::uint64_t kGroupsMax = 4'096;
constexpr std::uint64_t kValuesMax = 1U << 22;

// Needs all parameters. `value_of`: of a test and a group.
template <class ValueOf>
ImportedRun run_of(const Parameters& parameters, std::size_t test_count, const ImportHints& hints,
                   const ValueOf& value_of) {
    ImportedRun run = new_run("kbench");
    for (const ParameterRule& rule : kParameters) {
        run.labels[rule.label] = std::to_string(*(parameters.*rule.value));
    }
    ImportedSeries& series = run.series.emplace_back(new_series(Kind::kLatency, hints, "accumulated-latency"));
    for (std::size_t test = 0; test < test_count; ++test) {
        for (std::size_t group = 0; group < *parameters.groups; ++group) {
            series.rows.push_back(imported_row<Kind::kLatency>(column<kTestSize>(*parameters.size_of(group)),
                                                               column<kGroup>(group + 1), column<kTest>(test + 1),
                                                               column<kValue>(value_of(test, group))));
        }
    }
    return run;
}

// --- the program's output ---

class SerialReader {
public:
    explicit SerialReader(const ImportHints& hints) : hints_{hints} {}

    Result<std::vector<ImportedRun>> read(std::string_view text) {
        PERFLEET_TRY(each_line(text, [&](const TextLine& line) { return take(line); }));
        finish(false);
        if (runs_.empty()) {
            return invalid(
                fmt::format("no Kanata Bench output: no line begins with \"{}\" (for a bare table name "
                            "--initial-test-size and --delta)",
                            kTable));
        }
        return std::move(runs_);
    }

private:
    // The current run.
    struct SerialRun {
        Parameters parameters;
        bool is_in_table = false;
        bool is_ragged = false;
        std::vector<std::vector<std::uint64_t>> table;
        std::vector<std::string> notes;
    };

    Result<Done> take(const TextLine& line) {
        for (const ParameterRule& rule : kParameters) {
            if (line.text.starts_with(rule.begin)) {
                finish(false);
                auto& value = run_.parameters.*rule.value;
                value = number_of<std::uint64_t>(without_space(line.text.substr(rule.begin.size())));
                return value ? Result<Done>{Done{}}
                             : invalid(line.number, fmt::format("\"{}\" without a whole number", rule.begin));
            }
        }
        if (line.text.starts_with(kTable)) {
            finish(false);
            return begin_table(line.number);
        }
        if (!run_.is_in_table || line.text.empty() || line.text.starts_with('#')) {
            return Done{};
        }
        if (line.text.starts_with(kDone)) {
            finish(true);
            return Done{};
        }
        return take_row(line);
    }

    Result<Done> begin_table(std::size_t line) {
        const Parameters& parameters = run_.parameters;
        std::string missing;
        for (const ParameterRule& rule : kParameters) {
            if (!(parameters.*rule.value)) {
                missing += fmt::format("{}\"{}\"", missing.empty() ? "" : ", ", rule.begin);
            }
        }
        if (!missing.empty()) {
            return invalid(line, "the table comes before its parameters: no line " + missing);
        }
        if (*parameters.groups == 0 || *parameters.groups > kGroupsMax) {
            return invalid(line, fmt::format("groups are 1 to {}", kGroupsMax));
        }
        if (*parameters.initial == 0 || !parameters.size_of(*parameters.groups - 1)) {
            return invalid(line,
                           fmt::format("test sizes are 1 to 2^64 - 1: check \"{}\" and \"{}\"", kInitial, kDelta));
        }
        run_.is_in_table = true;
        return Done{};
    }

    Result<Done> take_row(const TextLine& line) {
        const std::uint64_t groups = *run_.parameters.groups;
        auto values = numbers_of(line.text);
        if (!values) {
            run_.notes.push_back(fmt::format("line {} of the table is no row of whole numbers", line.number));
        } else if (values->size() != groups) {
            run_.notes.push_back(fmt::format("line {} has {} for {}", line.number,
                                             counted_noun(values->size(), "value"), counted_noun(groups, "group")));
            run_.is_ragged = true;
        } else if (run_.table.size() * groups >= kValuesMax) {
            return invalid(line.number, fmt::format("more than {} values in one run", kValuesMax));
        } else {
            run_.table.push_back(std::move(*values));
        }
        return Done{};
    }

    // Ends the current table, if any. Other lines inside it do no harm if no row is missing.
    void finish(bool is_done) {
        if (!run_.is_in_table) {
            return;
        }
        ImportedRun& run =
            runs_.emplace_back(run_of(run_.parameters, run_.table.size(), hints_,
                                      [&](std::size_t test, std::size_t group) { return run_.table[test][group]; }));
        const std::uint64_t announced = *run_.parameters.sample_size;
        const bool is_whole = run_.table.size() == announced && !run_.is_ragged;
        if (!is_done) {
            run.fail("the output ends without \"Done!\"");
        } else if (!is_whole && !run_.notes.empty()) {
            run.fail(run_.notes.front());
        } else if (!is_whole) {
            run.fail(fmt::format("{} where {} were announced", counted_noun(run_.table.size(), "row"), announced));
        } else if (!run_.notes.empty()) {
            run.warnings.push_back(run_.notes.front() + ": passed over, all rows are there");
        }
        run_ = {};
    }

    const ImportHints& hints_;
    SerialRun run_;
    std::vector<ImportedRun> runs_;
};

// --- a bare table ---

bool is_end(std::string_view line) { return line.starts_with(kDone) || line.starts_with(kTable); }

// The number in a column's name: 30 of "30", "N=30" and "group 30".
std::optional<std::uint64_t> size_in_name(const std::string& name) {
    const std::size_t last = name.find_last_of("0123456789");
    if (last == std::string::npos) {
        return std::nullopt;
    }
    const std::size_t before = name.find_last_not_of("0123456789", last);
    const std::size_t first = before == std::string::npos ? 0 : before + 1;
    return number_of<std::uint64_t>(std::string_view{name}.substr(first, last - first + 1));
}

// Whether values count up: 0, 1, 2, … or 1, 2, 3, …
bool counts_up(const std::vector<std::uint64_t>& values) {
    return !values.empty() && values[0] <= 1 &&
           std::ranges::adjacent_find(values, [](std::uint64_t a, std::uint64_t b) { return b != a + 1; }) ==
               values.end();
}

std::string list_of(std::span<const std::uint64_t> sizes) {
    constexpr std::size_t kShown = 8;
    return fmt::format("{}{}", fmt::join(sizes.first(std::min(sizes.size(), kShown)), ", "),
                       sizes.size() > kShown ? ", …" : "");
}

// Scales all columns to the unit of the column with the most decimals.
Result<Done> share_unit(std::vector<NumberColumn>& columns) {
    const auto most = std::max_element(columns.begin(), columns.end(),
                                       [](const auto& a, const auto& b) { return a.unit.decimals < b.unit.decimals; });
    const ValueUnit shared = most->unit;
    for (NumberColumn& column : columns) {
        if (column.unit.name != shared.name) {
            return invalid("groups in several units");
        }
        for (std::uint64_t& value : column.values) {
            const auto parts = in_parts({value, static_cast<int>(column.unit.decimals)}, shared.decimals);
            if (!parts) {
                return invalid(
                    fmt::format("{} decimals and large numbers need more than 64 bits; round", shared.decimals));
            }
            value = *parts;
        }
        column.unit = shared;
    }
    return Done{};
}

// Sizes in the table's head, as names or as a first row, must be those that the user gives.
Result<Done> take_head(const Parameters& parameters, NumberTable& read) {
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> named;
    bool is_first_row = read.columns[0].values.size() > 1;
    for (const NumberColumn& column : read.columns) {
        sizes.push_back(*parameters.size_of(sizes.size()));
        if (const auto size = size_in_name(column.name)) {
            named.push_back(*size);
        }
        is_first_row = is_first_row && column.values[0] == sizes.back();
    }
    // Groups may also be numbered.
    if (named.size() == sizes.size() && named != sizes && !counts_up(named)) {
        return invalid("the table's head says test sizes " + list_of(named) +
                       "; --initial-test-size and --delta make " + list_of(sizes));
    }
    if (is_first_row) {
        for (NumberColumn& column : read.columns) {
            column.values.erase(column.values.begin());
        }
        read.warnings.emplace_back("the first row holds the test sizes: taken as the table's head");
    }
    return Done{};
}

Result<std::vector<ImportedRun>> read_bare_table(std::string_view text, const ImportHints& hints) {
    PERFLEET_TRY(each_line(text, [](const TextLine& line) -> Result<Done> {
        return !line.text.starts_with(kInitial)
                   ? Result<Done>{Done{}}
                   : invalid(line.number,
                             "the file says its own test sizes; leave out --initial-test-size and --delta");
    }));
    auto read = PERFLEET_TRY(read_number_table({text, 1, is_end}));
    // Messages about the head of tests and groups are made below.
    std::erase_if(read.warnings,
                  [](const std::string& warning) { return warning.find("looks like") != std::string::npos; });
    constexpr std::size_t kTestsMin = 3;
    if (read.columns.size() > 1 && read.columns[0].values.size() >= kTestsMin && counts_up(read.columns[0].values)) {
        read.columns.erase(read.columns.begin());
        read.warnings.emplace_back("the first column counts the tests: left out");
    }
    const std::size_t groups = read.columns.size();
    if (groups == 0) {
        return invalid("no line of numbers");
    }
    if (groups * read.columns[0].values.size() > kValuesMax) {
        return Error{ErrorCode::kTooLarge, fmt::format("more than {} values in one run", kValuesMax)};
    }
    for (const NumberColumn& column : read.columns) {
        if (column.values.size() != read.columns[0].values.size()) {
            return invalid(
                "empty cells: each group of a run has as many tests; import groups of other sizes from files of their "
                "own");
        }
    }
    PERFLEET_TRY(share_unit(read.columns));
    Parameters parameters{hints.initial_test_size, hints.test_size_delta, {}, groups};
    if (!parameters.size_of(groups - 1)) {
        return usage("--delta: test sizes are 1 to 2^64 - 1");
    }
    PERFLEET_TRY(take_head(parameters, read));
    parameters.sample_size = read.columns[0].values.size();
    PERFLEET_TRY(name_unit(hints.unit, read.columns[0]));
    ImportHints named = hints;
    named.unit = stored_unit(read.columns[0].unit);
    std::vector<ImportedRun> runs{
        run_of(parameters, *parameters.sample_size, named,
               [&](std::size_t test, std::size_t group) { return read.columns[group].values[test]; })};
    runs[0].warnings = std::move(read.warnings);
    return runs;
}

}  // namespace

Result<std::vector<ImportedRun>> read_kbench(std::string_view text_untrusted, const ImportHints& hints) {
    const std::string text = without_escapes(without_mark(text_untrusted));
    if (!hints.initial_test_size) {
        return SerialReader{hints}.read(text);
    }
    if (*hints.initial_test_size == 0) {
        return usage("--initial-test-size 0: a test is of one latency at least; give a number above 0");
    }
    return read_bare_table(text, hints);
}

}  // namespace perfleet
