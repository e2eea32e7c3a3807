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
// Other lines (a boot loader's, a kernel's) are passed over. A file may hold several runs. A bare table of tests ×
// groups is one run whose sizes the user names.
#include <algorithm>
#include <array>
#include <optional>

#include "tools/perfleet/import/exact_decimal.h"
#include "tools/perfleet/import/imported_run.h"
#include "tools/perfleet/import/number_table.h"
#include "tools/perfleet/import/text_lines.h"

namespace perfleet {
namespace {

using enum ColumnId;

constexpr std::string_view kInitial = "Initial Test size:";
constexpr std::string_view kDelta = "Delta:";
constexpr std::string_view kSampleSize = "Number of Tests / Sample size of Accumulated latency:";
constexpr std::string_view kGroupCount = "Number of Groups:";
constexpr std::string_view kTable = "Accumulated latencies";
constexpr std::string_view kDone = "Done!";

constexpr std::uint64_t kGroupsMax = 4'096;
constexpr std::uint64_t kValuesMax = 1U << 22;

struct Parameters {
    std::optional<std::uint64_t> initial;
    std::optional<std::uint64_t> delta;
    std::optional<std::uint64_t> sample_size;
    std::optional<std::uint64_t> groups;
};

// N of the groups; nothing where they go past 64 bits.
std::optional<std::vector<std::uint64_t>> sizes_of(std::uint64_t initial, std::uint64_t delta, std::size_t groups) {
    std::vector<std::uint64_t> sizes{initial};
    while (sizes.size() < groups) {
        std::uint64_t next = 0;
        if (__builtin_add_overflow(sizes.back(), delta, &next)) {
            return std::nullopt;
        }
        sizes.push_back(next);
    }
    return sizes;
}

ImportedRun run_of(const Parameters& parameters, const std::vector<std::vector<std::uint64_t>>& table,
                   const ImportHints& hints) {
    ImportedRun run;
    ImportedSeries series;
    series.kind = Kind::kLatency;
    series.event = hints.event.empty() ? "accumulated-latency" : hints.event;
    series.unit = hints.unit.empty() ? "cycles" : hints.unit;
    for (std::size_t test = 0; test < table.size(); ++test) {
        for (std::size_t group = 0; group < table[test].size(); ++group) {
            series.rows.push_back(imported_row<Kind::kLatency>(
                column<kTestSize>(*parameters.initial + group * *parameters.delta), column<kGroup>(group + 1),
                column<kTest>(test + 1), column<kValue>(table[test][group])));
        }
    }
    run.labels["format"] = "kbench";
    run.labels["initial_test_size"] = std::to_string(parameters.initial.value_or(0));
    run.labels["delta"] = std::to_string(parameters.delta.value_or(0));
    run.labels["groups"] = std::to_string(parameters.groups.value_or(0));
    run.labels["sample_size"] = std::to_string(parameters.sample_size.value_or(table.size()));
    run.labels["status"] = "ok";
    run.series.push_back(std::move(series));
    return run;
}

// --- what the program prints ---

class SerialReader {
public:
    explicit SerialReader(const ImportHints& hints) : hints_{hints} {}

    Result<std::vector<ImportedRun>> read(std::string_view text) {
        std::size_t number = 0;
        for (const std::string_view line : lines_of(text)) {
            ++number;
            PERFLEET_TRY(take(line, number));
        }
        if (is_in_table_) {
            finish(false);
        }
        if (runs_.empty()) {
            return Error{ErrorCode::kInvalid, "no Kanata Bench output: no line begins with \"" + std::string{kTable} +
                                                  "\" (for a bare table name --initial-test-size and --delta)"};
        }
        return std::move(runs_);
    }

private:
    Result<Done> take(std::string_view line, std::size_t number) {
        for (const auto& [name, value] :
             {std::pair{kInitial, &parameters_.initial}, std::pair{kDelta, &parameters_.delta},
              std::pair{kSampleSize, &parameters_.sample_size}, std::pair{kGroupCount, &parameters_.groups}}) {
            if (line.starts_with(name)) {
                if (is_in_table_) {
                    finish(false);  // the run before never came to its end
                }
                *value = number_of<std::uint64_t>(without_space(line.substr(name.size())));
                return *value ? Result<Done>{Done{}}
                              : invalid(number, "\"" + std::string{name} + "\" without a whole number");
            }
        }
        if (line.starts_with(kTable)) {
            return begin_table(number);
        }
        if (!is_in_table_ || line.empty() || line.starts_with('#')) {
            return Done{};
        }
        if (line.starts_with(kDone)) {
            finish(true);
            return Done{};
        }
        return take_row(line, number);
    }

    Result<Done> begin_table(std::size_t number) {
        if (is_in_table_) {
            finish(false);
        }
        std::string missing;
        for (const auto& [name, value] :
             {std::pair{kInitial, parameters_.initial}, std::pair{kDelta, parameters_.delta},
              std::pair{kSampleSize, parameters_.sample_size}, std::pair{kGroupCount, parameters_.groups}}) {
            missing += value ? "" : (missing.empty() ? "\"" : ", \"") + std::string{name} + "\"";
        }
        if (!missing.empty()) {
            return invalid(number, "the table comes before its parameters: no line " + missing);
        }
        if (*parameters_.groups == 0 || *parameters_.groups > kGroupsMax) {
            return invalid(number, "groups are 1 to " + std::to_string(kGroupsMax));
        }
        if (*parameters_.initial == 0 || !sizes_of(*parameters_.initial, *parameters_.delta, *parameters_.groups)) {
            return invalid(number, "test sizes are 1 to 2^64 - 1: check \"" + std::string{kInitial} + "\" and \"" +
                                       std::string{kDelta} + "\"");
        }
        is_in_table_ = true;
        return Done{};
    }

    Result<Done> take_row(std::string_view line, std::size_t number) {
        auto values = numbers_of(line);
        if (!values) {
            notes_.push_back("line " + std::to_string(number) + " of the table is no row of whole numbers");
            return Done{};
        }
        if (values->size() != *parameters_.groups) {
            notes_.push_back("line " + std::to_string(number) + " has " + std::to_string(values->size()) +
                             " values for " + std::to_string(*parameters_.groups) + " groups");
            is_ragged_ = true;
            return Done{};
        }
        if (table_.size() * *parameters_.groups >= kValuesMax) {
            return invalid(number, "more than " + std::to_string(kValuesMax) + " values in one run");
        }
        table_.push_back(std::move(*values));
        return Done{};
    }

    // Other lines inside a table do no harm where no row is missing.
    void finish(bool is_done) {
        ImportedRun run = run_of(parameters_, table_, hints_);
        const bool is_whole = table_.size() == *parameters_.sample_size && !is_ragged_;
        if (!is_done) {
            run.fail("the output ends without \"Done!\"");
        } else if (!is_whole && !notes_.empty()) {
            run.fail(notes_.front());
        } else if (!is_whole) {
            run.fail(std::to_string(table_.size()) + " rows where " + std::to_string(*parameters_.sample_size) +
                     " were announced");
        } else if (!notes_.empty()) {
            run.warnings.push_back(notes_.front() + ": passed over, all rows are there");
        }
        runs_.push_back(std::move(run));
        parameters_ = {};
        table_.clear();
        notes_.clear();
        is_ragged_ = false;
        is_in_table_ = false;
    }

    const ImportHints& hints_;
    Parameters parameters_;
    bool is_in_table_ = false;
    bool is_ragged_ = false;
    std::vector<std::vector<std::uint64_t>> table_;
    std::vector<std::string> notes_;
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

// 0, 1, 2, … or 1, 2, 3, …
bool counts_tests(const std::vector<std::uint64_t>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] != values[0] + i) {
            return false;
        }
    }
    return values.size() >= 3 && values[0] <= 1;
}

std::string list_of(const std::vector<std::uint64_t>& sizes) {
    std::string list;
    for (std::size_t i = 0; i < sizes.size() && i < 8; ++i) {
        list += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
    }
    return list + (sizes.size() > 8 ? ", …" : "");
}

// All columns in parts of the same size, those of the column with the most decimals.
Result<Done> share_unit(std::vector<NumberColumn>& columns) {
    const auto most = std::max_element(columns.begin(), columns.end(),
                                       [](const auto& a, const auto& b) { return a.unit.decimals < b.unit.decimals; });
    const ValueUnit shared = most->unit;
    for (NumberColumn& column : columns) {
        if (column.unit.name != shared.name) {
            return Error{ErrorCode::kInvalid, "groups in several units"};
        }
        for (std::uint64_t& value : column.values) {
            const auto parts = in_parts({value, static_cast<int>(column.unit.decimals)}, shared.decimals);
            if (!parts) {
                return Error{ErrorCode::kInvalid, std::to_string(shared.decimals) +
                                                      " decimals and large numbers need more than 64 bits; round"};
            }
            value = *parts;
        }
        column.unit = shared;
    }
    return Done{};
}

// What a head says must be what the user says: as names, or as a first row of the sizes themselves.
Result<Done> take_head(const std::vector<std::uint64_t>& sizes, NumberTable& read) {
    std::vector<std::uint64_t> named;
    bool is_first_row = read.columns[0].values.size() > 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (const auto size = size_in_name(read.columns[i].name)) {
            named.push_back(*size);
        }
        is_first_row = is_first_row && read.columns[i].values[0] == sizes[i];
    }
    // Groups may also be numbered.
    bool is_numbering = !named.empty() && named[0] <= 1;
    for (std::size_t i = 0; i < named.size(); ++i) {
        is_numbering = is_numbering && named[i] == named[0] + i;
    }
    if (named.size() == sizes.size() && named != sizes && !is_numbering) {
        return Error{ErrorCode::kInvalid, "the table's head says test sizes " + list_of(named) +
                                              "; --initial-test-size and --delta make " + list_of(sizes)};
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
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text)) {
        ++number;
        if (line.starts_with(kInitial)) {
            return invalid(number, "the file says its own test sizes; leave out --initial-test-size and --delta");
        }
    }
    auto read = PERFLEET_TRY(read_number_table({text, 1, is_end}));
    // Of tests and groups it is said below what their head is.
    std::erase_if(read.warnings,
                  [](const std::string& warning) { return warning.find("looks like") != std::string::npos; });
    if (read.columns.size() > 1 && counts_tests(read.columns[0].values)) {
        read.columns.erase(read.columns.begin());
        read.warnings.emplace_back("the first column counts the tests: left out");
    }
    const std::size_t groups = read.columns.size();
    if (groups == 0) {
        return Error{ErrorCode::kInvalid, "no line of numbers"};
    }
    if (groups * read.columns[0].values.size() > kValuesMax) {
        return Error{ErrorCode::kTooLarge, "more than " + std::to_string(kValuesMax) + " values in one run"};
    }
    for (const NumberColumn& column : read.columns) {
        if (column.values.size() != read.columns[0].values.size()) {
            return Error{ErrorCode::kInvalid,
                         "empty cells: each group of a run has as many tests; import groups of "
                         "other sizes from files of their own"};
        }
    }
    PERFLEET_TRY(share_unit(read.columns));
    const auto sizes = sizes_of(*hints.initial_test_size, hints.test_size_delta, groups);
    if (!sizes) {
        return Error{ErrorCode::kUsage, "--delta: test sizes are 1 to 2^64 - 1"};
    }
    PERFLEET_TRY(take_head(*sizes, read));
    const std::size_t tests = read.columns[0].values.size();
    std::vector<std::vector<std::uint64_t>> table(tests);
    for (std::size_t test = 0; test < tests; ++test) {
        for (const NumberColumn& column : read.columns) {
            table[test].push_back(column.values[test]);
        }
    }
    PERFLEET_TRY(name_unit(hints.unit, read.columns[0]));
    const ValueUnit& unit = read.columns[0].unit;
    ImportHints named = hints;
    named.unit = stored_unit(unit);
    std::vector<ImportedRun> runs{
        run_of({hints.initial_test_size, hints.test_size_delta, tests, groups}, table, named)};
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
        return Error{ErrorCode::kUsage,
                     "--initial-test-size 0: a test is of one latency at least; say a number above 0"};
    }
    return read_bare_table(text, hints);
}

}  // namespace perfleet
