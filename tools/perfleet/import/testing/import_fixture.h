// Fixture for tests of imports: from a file's text through a store to an answer's printed figures.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "exporters/report/report.h"
#include "query-engine/statistic/testing/text_query.h"
#include "storage/store/memory_store.h"
#include "tests/golden/golden_file.h"
#include "tools/perfleet/import/imported_run.h"
#include "tools/perfleet/import/run_store.h"
#include "tools/perfleet/import/session/stored_session_writer.h"

namespace perfleet {

inline constexpr UtcNs kImportTime{1'700'000'000'000'000'000};

inline std::string golden(const std::string& name) { return golden_file("statistics/" + name); }

using Runs = Result<std::vector<ImportedRun>>;

inline std::unique_ptr<Store> stored(const Runs& runs) {
    EXPECT_TRUE(runs.ok()) << (runs.ok() ? "" : runs.error().message);
    auto store = make_memory_store();
    StoreDestination destination{*store};
    if (runs.ok()) {
        for (const ImportedRun& run : *runs) {
            const auto done = store_run(run, {"board", "aarch64", kImportTime, "file"}, destination);
            EXPECT_TRUE(done.ok()) << (done.ok() ? "" : done.error().message);
        }
    }
    return store;
}

inline Answer ask(const Store& store, const OptionTexts& options) {
    auto answer = run_text_query("latency", options, store, {}, kImportTime);
    EXPECT_TRUE(answer.ok()) << (answer.ok() ? "" : answer.error().message);
    return answer.ok() ? std::move(*answer) : Answer{};
}

inline std::vector<std::string> printed(const Answer& answer, const std::string& column) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < answer.columns.size(); ++i) {
        if (answer.columns[i].name == column) {
            for (const auto& row : answer.rows) {
                if (std::holds_alternative<std::monostate>(row[i])) {
                    values.emplace_back("-");
                    continue;
                }
                Answer one;
                one.columns = {{"x", ""}};
                one.rows = {{row[i]}};
                const std::string text = format_report(one, ReportFormat::kText);
                const std::size_t start = text.find('\n') + 1;
                const std::string line = text.substr(start, text.find('\n', start) - start);
                values.push_back(line.substr(line.find_first_not_of(' ')));
            }
        }
    }
    return values;
}

using Texts = std::vector<std::string>;

inline bool warns_of(const Answer& answer, const std::string& what) {
    for (const std::string& warning : answer.warnings) {
        if (warning.find(what) != std::string::npos) {
            return true;
        }
    }
    return false;
}

}  // namespace perfleet
