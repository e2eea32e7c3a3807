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
// Other lines (a boot loader's, a kernel's) are passed over outside the table. A file may hold several runs.
#include <optional>

#include "schemas/vocabulary/limits.h"
#include "tools/perfleet/import/imported_run.h"
#include "tools/perfleet/import/text_lines.h"

namespace perfleet {
namespace {

constexpr std::string_view kInitial = "Initial Test size:";
constexpr std::string_view kDelta = "Delta:";
constexpr std::string_view kSampleSize = "Number of Tests / Sample size of Accumulated latency:";
constexpr std::string_view kGroups = "Number of Groups:";
constexpr std::string_view kTable = "Accumulated latencies";
constexpr std::string_view kDone = "Done!";

struct Parameters {
    std::optional<std::uint64_t> initial;
    std::optional<std::uint64_t> delta;
    std::optional<std::uint64_t> sample_size;
    std::optional<std::uint64_t> groups;
};

class KbenchReader {
public:
    explicit KbenchReader(const ImportHints& hints) : hints_{hints} {}

    Result<std::vector<ImportedRun>> read(std::string_view text) {
        if (hints_.initial_test_size != 0) {
            parameters_.initial = hints_.initial_test_size;
            parameters_.delta = hints_.test_size_delta;
            is_in_table_ = true;
        }
        std::size_t number = 0;
        for (const std::string_view line : lines_of(text)) {
            ++number;
            if (const auto taken = take(line, number); !taken.ok()) {
                return Error{taken.error()};
            }
        }
        if (is_in_table_ && (hints_.initial_test_size == 0 || !table_.empty())) {
            finish(hints_.initial_test_size != 0);
        }
        if (runs_.empty()) {
            return Error{ErrorCode::kInvalid, "no Kanata Bench output: no line begins with \"" + std::string{kTable} +
                                                  "\" (for a bare table name --initial-test-size and --delta)"};
        }
        return std::move(runs_);
    }

private:
    Result<Done> take(std::string_view line, std::size_t number) {
        const auto header = [&](std::string_view name, std::optional<std::uint64_t>& value) -> Result<bool> {
            if (!line.starts_with(name)) {
                return false;
            }
            if (hints_.initial_test_size != 0) {
                return invalid(number, "the file says its own test sizes; leave out --initial-test-size and --delta");
            }
            if (is_in_table_) {
                finish(false);  // the run before never came to its end
            }
            value = number_of(without_space(line.substr(name.size())));
            if (!value) {
                return invalid(number, "\"" + std::string{name} + "\" without a number");
            }
            return true;
        };
        for (const auto& [name, value] :
             {std::pair{kInitial, &parameters_.initial}, std::pair{kDelta, &parameters_.delta},
              std::pair{kSampleSize, &parameters_.sample_size}, std::pair{kGroups, &parameters_.groups}}) {
            const Result<bool> taken = header(name, *value);
            if (!taken.ok()) {
                return Error{taken.error()};
            }
            if (*taken) {
                return Done{};
            }
        }
        if (line.starts_with(kTable)) {
            if (is_in_table_) {
                finish(false);
            }
            if (!parameters_.initial || !parameters_.delta || !parameters_.sample_size || !parameters_.groups) {
                return invalid(number, "the table comes before its parameters (initial size, delta, tests, groups)");
            }
            if (*parameters_.groups == 0 || *parameters_.groups > kGroupsMax) {
                return invalid(number, "groups are 1 to " + std::to_string(kGroupsMax));
            }
            is_in_table_ = true;
            return Done{};
        }
        if (!is_in_table_) {
            return Done{};
        }
        if (line.starts_with(kDone)) {
            finish(true);
            return Done{};
        }
        return take_row(line, number);
    }

    Result<Done> take_row(std::string_view line, std::size_t number) {
        auto values = numbers_of(line);
        if (!values) {
            if (!line.empty() && !line.starts_with('#')) {
                notes_.push_back("line " + std::to_string(number) + " of the table is no row of numbers");
            }
            return Done{};
        }
        if (!parameters_.groups) {
            parameters_.groups = values->size();
        }
        if (values->size() != *parameters_.groups) {
            notes_.push_back("line " + std::to_string(number) + " has " + std::to_string(values->size()) +
                             " values for " + std::to_string(*parameters_.groups) + " groups");
            return Done{};
        }
        if (table_.size() * *parameters_.groups >= kValuesMax) {
            return invalid(number, "more than " + std::to_string(kValuesMax) + " values in one run");
        }
        table_.push_back(std::move(*values));
        return Done{};
    }

    void finish(bool is_done) {
        ImportedRun run;
        ImportedSeries series;
        series.kind = Kind::kLatency;
        series.event = hints_.event.empty() ? "accumulated-latency" : hints_.event;
        series.unit = hints_.unit.empty() ? "cycles" : hints_.unit;
        for (std::size_t test = 0; test < table_.size(); ++test) {
            for (std::size_t group = 0; group < table_[test].size(); ++group) {
                series.rows.push_back(
                    {*parameters_.initial + group * *parameters_.delta, group + 1, test + 1, table_[test][group]});
            }
        }
        run.labels["format"] = "kbench";
        run.labels["initial_test_size"] = std::to_string(parameters_.initial.value_or(0));
        run.labels["delta"] = std::to_string(parameters_.delta.value_or(0));
        run.labels["groups"] = std::to_string(parameters_.groups.value_or(0));
        run.labels["sample_size"] = std::to_string(parameters_.sample_size.value_or(table_.size()));
        run.labels["status"] = "ok";
        if (!is_done) {
            run.fail("the output ends without \"Done!\"");
        } else if (!notes_.empty()) {
            run.fail(notes_.front());
        } else if (parameters_.sample_size && table_.size() != *parameters_.sample_size) {
            run.fail(std::to_string(table_.size()) + " rows where " + std::to_string(*parameters_.sample_size) +
                     " were announced");
        }
        run.series.push_back(std::move(series));
        runs_.push_back(std::move(run));
        parameters_ = {};
        table_.clear();
        notes_.clear();
        is_in_table_ = false;
    }

    static Error invalid(std::size_t line, const std::string& what) {
        return Error{ErrorCode::kInvalid, "line " + std::to_string(line) + ": " + what};
    }

    static constexpr std::uint64_t kGroupsMax = 4'096;
    static constexpr std::uint64_t kValuesMax = 1U << 26;

    const ImportHints& hints_;
    Parameters parameters_;
    bool is_in_table_ = false;
    std::vector<std::vector<std::uint64_t>> table_;
    std::vector<std::string> notes_;
    std::vector<ImportedRun> runs_;
};

}  // namespace

Result<std::vector<ImportedRun>> read_kbench(std::string_view text_untrusted, const ImportHints& hints) {
    return KbenchReader{hints}.read(text_untrusted);
}

}  // namespace perfleet
