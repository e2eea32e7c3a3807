// The page's data against the answers of `tree` and `diff`, which count by themselves.
#include "exporters/html/html_exporter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "exporters/html/flame_figure.h"
#include "exporters/html/flame_graph.h"
#include "exporters/html/page_data.h"
#include "exporters/sink/testing/page_json.h"
#include "query-engine/statistic/diff/diff.h"
#include "query-engine/statistic/profile/tree.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/stack/stack_counts.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "schemas/text/utf8.h"
#include "storage/store/memory_store.h"

namespace perfleet::html_exporter_test {
namespace {

using Json = nlohmann::json;
using Path = std::vector<std::string>;
using Totals = std::map<Path, std::uint64_t>;

class TextSink : public ExportSink {
public:
    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        EXPECT_EQ(offset, text.size());
        text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return Done{};
    }
    std::string text;
};

Json data_of(const std::string& page) { return Json::parse(json_of_page(page)); }

// By call path, names and images alike, of slices [from, to).
Totals totals_of(const Json& data, std::uint32_t from, std::uint32_t to) {
    const auto& strings = data["strings"];
    std::vector<Path> paths;
    Path path;
    for (std::size_t i = 0; i < data["frames"]["depth"].size(); ++i) {
        const std::size_t function = data["frames"]["function"][i];
        const std::int64_t image = data["functions"]["image"][function];
        path.resize(data["frames"]["depth"][i].get<std::size_t>());
        path.push_back(strings[data["functions"]["name"][function].get<std::size_t>()].get<std::string>() + " in " +
                       (image < 0 ? "" : strings[static_cast<std::size_t>(image)].get<std::string>()));
        paths.push_back(path);
    }
    Totals totals;
    std::size_t frame = 0;
    for (std::size_t i = 0; i < data["cells"]["frame"].size(); ++i) {
        frame += data["cells"]["frame"][i].get<std::size_t>();
        const std::uint32_t slice = data["cells"]["slice"][i];
        if (slice >= from && slice < to) {
            for (std::size_t depth = 1; depth <= paths[frame].size(); ++depth) {
                totals[Path{paths[frame].begin(), paths[frame].begin() + static_cast<std::ptrdiff_t>(depth)}] +=
                    data["cells"]["value"][i].get<std::uint64_t>();
            }
        }
    }
    return totals;
}

class HtmlExporter : public ::testing::Test {
protected:
    static Scan scan_of(const Store& store, const Selection& selection = {}) {
        Result<Scan> scan = Scan::open(store, selection);
        EXPECT_TRUE(scan.ok());
        return std::move(scan).value();
    }

    static std::string page_of(const Scan& scan, const HtmlOptions& options = {}, const Scan* before = nullptr) {
        Symbolizer symbolizer{nullptr, {}};
        TextSink sink;
        const Result<QueryEnd> outcome = export_html(scan, before, symbolizer, options, sink);
        EXPECT_TRUE(outcome.ok());
        return sink.text;
    }

    static Totals tree_totals(const Scan& scan) {
        Symbolizer symbolizer{nullptr, {}};
        const Result<Answer> answer = make_tree(scan, symbolizer, {});
        EXPECT_TRUE(answer.ok());
        Totals totals;
        Path path;
        for (const auto& row : answer->rows) {
            path.resize(std::get<std::uint64_t>(row[0]));
            const auto* const image = std::get_if<std::string>(&row[2]);
            path.push_back(printable(std::get<std::string>(row[1]) + " in " + (image == nullptr ? "" : *image)));
            totals[path] += std::get<std::uint64_t>(row[3]);
        }
        return totals;
    }

    static std::string event_of(const Scan& scan) {
        const Result<std::optional<Measure>> measure = choose_measure(scan);
        EXPECT_TRUE(measure.ok() && measure->has_value());
        return (*measure)->event;
    }

    // Where a slice begins.
    static UtcNs middle_of(const Json& data) {
        const auto number = [&](const char* name) { return std::stoll(data["slices"][name].get<std::string>()); };
        return UtcNs{number("start_ns") + number("width_ns") * (data["slices"]["count"].get<std::int64_t>() / 2)};
    }

    ProfileScenario scenario_ = make_scenario(8);
    std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(HtmlExporter, FramesHaveTheTotalsOfTree) {
    deliver(scenario_, {}, *store_);
    const Scan scan = scan_of(*store_);
    const Totals expected = tree_totals(scan);
    ASSERT_GT(expected.size(), 20U);
    for (const std::uint64_t slice_count : {0U, 1U, 7U, 100U}) {
        HtmlOptions options;
        options.slice_count = slice_count;
        const Json data = data_of(page_of(scan, options));
        const std::uint32_t count = data["slices"]["count"];
        EXPECT_LE(count, std::max<std::uint64_t>(slice_count, 1));
        EXPECT_TRUE(totals_of(data, 0, count) == expected) << slice_count << " slices";
    }
}

TEST_F(HtmlExporter, AFigureHasAsMuchWidthAsFramesHaveSamples) {
    FlameGraph graph;
    graph.functions = {{"sh", ""}, {"main", "/bin/sh"}, {"leaf", "/lib/libc.so"}};
    graph.frames = {{0, 0}, {1, 1}, {2, 2}, {1, 2}};
    graph.cells = {{0, 0, 10}, {1, 0, 20}, {2, 0, 30}, {2, 1, 0}, {3, 0, 40}, {3, 1, 7}};
    graph.total = 107;
    graph.depth_max = 2;
    PageData data;
    data.title = "title";
    data.unit = "samples";
    data.side.slices.count = 1;  // slice 1 is the other side's
    data.graph = graph;
    const Figure figure = flame_figure(data);
    std::vector<Tenths> widths;
    for (const FilledBox& box : figure.boxes) {
        widths.push_back((box.width + 5) * 100 / (figure.width - 200));
    }
    EXPECT_EQ(widths, (std::vector<Tenths>{100, 50, 30, 40}));
    EXPECT_EQ(figure.boxes[1].left, figure.boxes[0].left);
    EXPECT_EQ(figure.boxes[2].left, figure.boxes[1].left);
    EXPECT_EQ(figure.boxes[3].top, figure.boxes[1].top) << "beside its sibling";
    EXPECT_GT(figure.boxes[3].left, figure.boxes[1].left + figure.boxes[1].width);
    EXPECT_LT(figure.boxes[2].top, figure.boxes[1].top) << "callers are below";
    EXPECT_EQ(figure.boxes[2].colour, figure.boxes[3].colour);
}

TEST_F(HtmlExporter, SlicesHaveTheTotalsOfTheirTime) {
    deliver(scenario_, {}, *store_);
    HtmlOptions options;
    options.slice_count = 10;
    const Json data = data_of(page_of(scan_of(*store_), options));
    const std::uint32_t count = data["slices"]["count"];
    ASSERT_GT(count, 4U);
    Selection first;
    first.to = middle_of(data);
    Selection second;
    second.from = middle_of(data);
    EXPECT_TRUE(totals_of(data, 0, count / 2) == tree_totals(scan_of(*store_, first)));
    EXPECT_TRUE(totals_of(data, count / 2, count) == tree_totals(scan_of(*store_, second)));
}

TEST_F(HtmlExporter, SameRowsGiveTheSameBytes) {
    deliver(scenario_, {}, *store_);
    const std::string page = page_of(scan_of(*store_));
    for (const DeliveryOrder& order : {DeliveryOrder{7, 3, true, 0}, DeliveryOrder{1'000, 5, false, 4}}) {
        const std::unique_ptr<Store> other = make_memory_store();
        deliver(scenario_, order, *other);
        EXPECT_EQ(page_of(scan_of(*other)), page);
    }
}

TEST_F(HtmlExporter, CommandsAscendByName) {
    deliver(scenario_, {}, *store_);
    const Json data = data_of(page_of(scan_of(*store_)));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < data["frames"]["depth"].size(); ++i) {
        if (data["frames"]["depth"][i] == 0) {
            const std::size_t function = data["frames"]["function"][i];
            names.push_back(data["strings"][data["functions"]["name"][function].get<std::size_t>()]);
        }
    }
    ASSERT_GT(names.size(), 3U);
    EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST_F(HtmlExporter, NamesCantLeaveTheirElement) {
    const std::string turned{'\xe2', '\x80', '\xae'};  // right-to-left override
    const std::string name = "</script><!--<script>&amp;\x1b[31m" + turned + "\xff";
    for (ScenarioSession& session : scenario_.sessions) {
        session.record.target_name = name;
        session.record.host.command_line = {"perfleet", "record", "--", name};
        for (ScenarioEpoch& epoch : session.epochs) {
            for (ScenarioTask& task : epoch.tasks) {
                task.name = "</script>";
            }
        }
    }
    for (ImageDefinition& image : scenario_.images) {
        image.name += name;
    }
    deliver(scenario_, {}, *store_);
    HtmlOptions options;
    options.title = name;
    const std::string page = page_of(scan_of(*store_), options);
    std::size_t ends = 0;
    for (std::size_t at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1)) {
        ++ends;
    }
    EXPECT_EQ(ends, 2U);  // of the data, of the script
    EXPECT_EQ(page.find("<!--"), std::string::npos);
    EXPECT_EQ(page.find('\x1b'), std::string::npos);
    EXPECT_EQ(page.find(turned), std::string::npos);
    const Json data = data_of(page);
    EXPECT_EQ(data["title"], "</script><!--<script>&amp;\\x1b[31m\\u202e\\xff");
    EXPECT_EQ(data["sessions"][0]["target"], data["title"]);
    EXPECT_EQ(data["sessions"][0]["command"], data["title"]);
}

TEST_F(HtmlExporter, NothingIsLoadedAndOnlyItsOwnScriptRuns) {
    deliver(scenario_, {}, *store_);
    const std::string page = page_of(scan_of(*store_));
    EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
    for (const char* part : {"http://", "https://", "unsafe-inline", "eval(", "innerHTML", "@import", "src="}) {
        // Warnings name a server of symbols.
        const std::string code = page.substr(page.rfind("<script"));
        EXPECT_EQ(code.find(part), std::string::npos) << part;
    }
}

TEST_F(HtmlExporter, WithoutSamplesThePageIsEmptyAndSaysSo) {
    const auto expect_empty = [&](const Scan& scan) {
        Symbolizer symbolizer{nullptr, {}};
        TextSink sink;
        const Result<QueryEnd> outcome = export_html(scan, nullptr, symbolizer, {}, sink);
        ASSERT_TRUE(outcome.ok()) << outcome.error().message;
        ASSERT_FALSE(outcome->warnings.empty());
        EXPECT_NE(outcome->warnings.front().find("nothing to show"), std::string::npos) << outcome->warnings.front();
        const std::string json = json_of_page(sink.text);
        EXPECT_NE(json.find("\"frames\":{\"depth\":[]"), std::string::npos);
        EXPECT_NE(json.find("nothing to show"), std::string::npos);
    };
    expect_empty(scan_of(*store_));
    deliver(scenario_, {}, *store_);
    Selection selection;
    selection.to = UtcNs{1};
    expect_empty(scan_of(*store_, selection));
}

TEST_F(HtmlExporter, WhatIsCutStaysInTheTotals) {
    deliver(scenario_, {}, *store_);
    const Scan scan = scan_of(*store_);
    Symbolizer symbolizer{nullptr, {}};
    FlameGraphMaker maker{symbolizer, scan.memory(), 1, FrameNames::Wanted::kSymbols};
    const Measure measure = measure_of(scan, event_of(scan));
    const Result<Done> visited =
        visit_stack_counts(scan, measure, {}, [&](const EpochStackCounts& epoch) { maker.add(measure, epoch, 0); });
    ASSERT_TRUE(visited.ok());
    const FlameGraph whole = maker.make(1);
    const FlameGraph cut = maker.make(1, {.frames_max = 10});
    ASSERT_GT(whole.frames.size(), 20U);
    EXPECT_LE(cut.frames.size(), 21U);
    EXPECT_EQ(whole.frames_cut, 0U);
    EXPECT_GE(cut.frames_cut, whole.frames.size() - 10);
    EXPECT_EQ(cut.total, whole.total);
    std::uint64_t sum = 0;
    std::uint64_t sum_cut = 0;
    for (const FlameCell& cell : cut.cells) {
        sum += cell.value;
        sum_cut += cut.functions[cut.frames[cell.frame].function].name == kCutName ? cell.value : 0;
    }
    EXPECT_EQ(sum, whole.total);
    EXPECT_EQ(sum_cut, cut.value_cut);
    EXPECT_GT(sum_cut, 0U);
}

TEST_F(HtmlExporter, SlicesAreMergedWhereTheirNumbersAreTooMany) {
    deliver(scenario_, {}, *store_);
    const Scan scan = scan_of(*store_);
    Symbolizer symbolizer{nullptr, {}};
    FlameGraphMaker maker{symbolizer, scan.memory(), 1, FrameNames::Wanted::kSymbols};
    const Measure measure = measure_of(scan, event_of(scan));
    for (const std::uint32_t first : {0U, 1U, 2U, 3U, 4U}) {
        const Result<Done> visited = visit_stack_counts(
            scan, measure, {}, [&](const EpochStackCounts& epoch) { maker.add(measure, epoch, first); });
        ASSERT_TRUE(visited.ok());
    }
    const FlameGraph whole = maker.make(3);
    const FlameGraph merged = maker.make(3, {.cells_max = whole.cells.size() - 1});
    EXPECT_EQ(merged.slices_merged, 2U);
    std::map<std::uint32_t, std::uint64_t> sums;
    for (const FlameCell& cell : merged.cells) {
        sums[cell.slice] += cell.value;
    }
    // Slices 0, 1 | 2 of the first side, 3, 4 of the second.
    const std::uint64_t one = whole.total / 5;
    EXPECT_EQ(sums, (std::map<std::uint32_t, std::uint64_t>{{0, 2 * one}, {1, one}, {2, 2 * one}}));
}

TEST_F(HtmlExporter, ComparesWithAnotherSelection) {
    deliver(scenario_, {}, *store_);
    const Json alone = data_of(page_of(scan_of(*store_)));
    EXPECT_TRUE(alone["before"].is_null());
    Selection first;
    first.to = middle_of(alone);
    Selection second;
    second.from = middle_of(alone);
    const Scan before = scan_of(*store_, first);
    const Scan after = scan_of(*store_, second);
    const Json data = data_of(page_of(after, {}, &before));
    const std::uint32_t count = data["slices"]["count"];
    const std::uint32_t before_count = data["before"]["slices"]["count"];
    EXPECT_TRUE(totals_of(data, 0, count) == tree_totals(after));
    EXPECT_TRUE(totals_of(data, count, count + before_count) == tree_totals(before));
    ASSERT_EQ(data["ledgers"].size(), 2U);
    EXPECT_EQ(data["ledgers"][0]["name"], "before");

    Symbolizer symbolizer{nullptr, {}};
    DiffOptions options;
    options.subject = DiffSubject::kProfile;
    const Result<Answer> diff = make_diff(before, after, symbolizer, options);
    ASSERT_TRUE(diff.ok());
    EXPECT_EQ(data["before"]["verdicts"]["text"].size(), diff->rows.size());
    EXPECT_GT(diff->rows.size(), 0U);
}

TEST(BeforeSelection, TakesWhatItLeavesOutFromTheSelection) {
    Selection selected;
    selected.session = "aa";
    selected.from = UtcNs{1};
    selected.to = UtcNs{2};
    selected.event = "cycles";
    const UtcNs now{1'000'000'000'000'000};
    const Result<Selection> session = before_selection("last~1", selected, now);
    ASSERT_TRUE(session.ok());
    EXPECT_EQ(session->session, "last~1");
    EXPECT_EQ(session->from, selected.from);
    EXPECT_EQ(session->event, selected.event);
    const Result<Selection> range = before_selection("-2h..-1h", selected, now);
    ASSERT_TRUE(range.ok());
    EXPECT_EQ(range->session, "aa");
    EXPECT_EQ(range->to->value - range->from->value, 3'600'000'000'000);
    EXPECT_FALSE(before_selection("last last", selected, now).ok());
}

}  // namespace
}  // namespace perfleet::html_exporter_test
