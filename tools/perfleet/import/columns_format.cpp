// Plain columns of numbers, and the lines of Bernat's kernel module.
//
// columns: one number a line, or several in columns (space, comma, semicolon or tab between them). The first line may
// name the columns; '#' begins a comment. Each column is a series of single values.
//
// bernat: as columns, and lines of key=value as the module's "run" file prints them: "err=… msg=…" is a run that
// failed.
#include <cctype>

#include "tools/perfleet/import/imported_run.h"
#include "tools/perfleet/import/text_lines.h"

namespace perfleet {
namespace {

constexpr std::size_t kColumnsMax = 256;

// cpu, pid, tid, stack, weight, value, raw size.
std::vector<std::uint64_t> single_value(std::uint64_t value) { return {0, 0, 0, 0, 1, value, 0}; }

Error invalid(std::size_t line, const std::string& what) {
    return Error{ErrorCode::kInvalid, "line " + std::to_string(line) + ": " + what};
}

class ColumnReader {
public:
    explicit ColumnReader(const ImportHints& hints) : hints_{hints} {}

    Result<Done> take(std::string_view line, std::size_t number) {
        if (line.empty() || line.starts_with('#')) {
            return Done{};
        }
        const auto values = numbers_of(line);
        if (!values) {
            if (!columns_.empty()) {
                return invalid(number, "\"" + std::string{line.substr(0, 64)} + "\" is no row of whole numbers");
            }
            for (const std::string_view word : words_of(line)) {
                names_.emplace_back(word);
            }
            return Done{};
        }
        if (columns_.empty()) {
            if (values->size() > kColumnsMax) {
                return invalid(number, "more than " + std::to_string(kColumnsMax) + " columns");
            }
            columns_.resize(values->size());
        }
        if (values->size() != columns_.size()) {
            return invalid(number, std::to_string(values->size()) + " values where the lines before have " +
                                       std::to_string(columns_.size()));
        }
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            columns_[i].push_back((*values)[i]);
        }
        return Done{};
    }

    [[nodiscard]] bool is_empty() const { return columns_.empty(); }

    void give(ImportedRun& run) {
        for (std::size_t i = 0; i < columns_.size(); ++i) {
            ImportedSeries& series = run.series.emplace_back();
            series.kind = Kind::kTracepoint;
            series.event = names_.size() == columns_.size() ? names_[i] : hints_.event.empty() ? "value" : hints_.event;
            if (names_.size() != columns_.size() && columns_.size() > 1) {
                series.event += "-" + std::to_string(i + 1);
            }
            series.unit = hints_.unit.empty() ? "cycles" : hints_.unit;
            for (const std::uint64_t value : columns_[i]) {
                series.rows.push_back(single_value(value));
            }
        }
    }

private:
    const ImportHints& hints_;
    std::vector<std::string> names_;
    std::vector<std::vector<std::uint64_t>> columns_;
};

// key=value and key="several words".
bool take_settings(std::string_view line, std::map<std::string, std::string>& settings) {
    std::map<std::string, std::string> found;
    while (!line.empty()) {
        const std::size_t equals = line.find('=');
        if (equals == 0 || equals == std::string_view::npos ||
            line.substr(0, equals).find_first_of(" \t\"") != std::string_view::npos) {
            return false;
        }
        const std::string key{line.substr(0, equals)};
        line.remove_prefix(equals + 1);
        const bool is_quoted = line.starts_with('"');
        if (is_quoted) {
            line.remove_prefix(1);
        }
        const std::size_t end = std::min(line.find(is_quoted ? '"' : ' '), line.size());
        found[key] = std::string{line.substr(0, end)};
        line = without_space(line.substr(std::min(end + 1, line.size())));
    }
    settings.merge(found);
    return !settings.empty();
}

}  // namespace

Result<std::vector<ImportedRun>> read_columns(std::string_view text_untrusted, const ImportHints& hints) {
    ColumnReader columns{hints};
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text_untrusted)) {
        if (const auto taken = columns.take(line, ++number); !taken.ok()) {
            return Error{taken.error()};
        }
    }
    if (columns.is_empty()) {
        return Error{ErrorCode::kInvalid, "no line of numbers"};
    }
    std::vector<ImportedRun> runs(1);
    runs[0].labels = {{"format", "columns"}, {"status", "ok"}};
    columns.give(runs[0]);
    return runs;
}

Result<std::vector<ImportedRun>> read_bernat(std::string_view text_untrusted, const ImportHints& hints) {
    ColumnReader columns{hints};
    std::map<std::string, std::string> settings;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(text_untrusted)) {
        ++number;
        if (take_settings(line, settings)) {
            continue;
        }
        if (const auto taken = columns.take(line, number); !taken.ok()) {
            return Error{taken.error()};
        }
    }
    std::vector<ImportedRun> runs(1);
    ImportedRun& run = runs[0];
    run.labels = {{"format", "bernat"}, {"status", "ok"}};
    // What the module said of itself, beside what is measured here.
    for (const auto& [key, value] : settings) {
        run.labels["reported_" + key] = value;
    }
    columns.give(run);
    const auto message = settings.find("msg");
    if (settings.contains("err") || message != settings.end()) {
        run.fail(message == settings.end() ? "err=" + settings["err"] : message->second);
    } else if (columns.is_empty() && settings.empty()) {
        return Error{ErrorCode::kInvalid, "neither numbers nor a line of key=value"};
    }
    return runs;
}

}  // namespace perfleet
