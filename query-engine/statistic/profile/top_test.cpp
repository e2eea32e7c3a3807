#include "query-engine/statistic/profile/top.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "query-engine/statistic/profile/tree.h"
#include "query-engine/statistic/session/measure.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "query-engine/statistic/testing/shown_name.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/hex.h"
#include "storage/select/matcher.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"
#include "storage/store/testing/stores.h"

namespace perfleet::top_test {
namespace {

struct NaiveCounts {
    std::uint64_t self = 0;
    std::uint64_t children = 0;
    std::uint64_t self_samples = 0;
    std::uint64_t children_samples = 0;

    friend bool operator==(const NaiveCounts&, const NaiveCounts&) = default;
};
using NaiveKey = std::tuple<std::string, std::string, std::string, std::uint32_t, std::uint32_t>;

// The name of a thread by replaying the epoch's whole history up to the sample.
std::string replayed_name(const ScenarioEpoch& epoch, const ScenarioSample& sample) {
    std::map<std::uint32_t, std::string> names{{0, "swapper"}};
    for (const ScenarioTask& task : epoch.tasks) {
        if (task.ticks > sample.ticks && task.op != TaskOp::kPresent) {
            break;
        }
        if (task.op == TaskOp::kFork) {
            const auto parent =
                names.contains(task.parent_tid) ? names.find(task.parent_tid) : names.find(task.parent_pid);
            if (parent == names.end()) {
                names.erase(task.tid);
            } else {
                names[task.tid] = std::string{parent->second};
            }
        } else if (task.op != TaskOp::kExit) {
            names[task.tid] = task.name;
        }
    }
    const auto name = names.find(sample.tid);
    return name == names.end() ? ":" + std::to_string(sample.tid) : name->second;
}

struct NaiveOptions {
    std::uint16_t event = 0;
    TopOptions top;
    bool counts_rows = false;
    std::optional<std::pair<std::uint64_t, std::uint64_t>> ticks;  // of every session
};

std::map<NaiveKey, NaiveCounts> naive_top(const ProfileScenario& scenario, const NaiveOptions& options) {
    Symbolizer symbolizer{nullptr, {}};
    std::map<NaiveKey, NaiveCounts> rows;
    for (const ScenarioSession& session : scenario.sessions) {
        for (const ScenarioEpoch& epoch : session.epochs) {
            for (const ScenarioSample& sample : epoch.samples) {
                const bool is_out =
                    options.ticks && (sample.ticks < options.ticks->first || sample.ticks >= options.ticks->second);
                if (sample.event != options.event || is_out) {
                    continue;
                }
                const std::uint64_t value = options.counts_rows ? 1 : sample.weight;
                const std::string command = replayed_name(epoch, sample);
                const auto key = [&](const std::string& symbol, const std::string& image) {
                    const TopOptions& top = options.top;
                    return NaiveKey{top.by_symbol ? symbol : "", top.by_image ? image : "",
                                    top.by_command || top.by_thread ? command : "", top.by_thread ? sample.pid : 0,
                                    top.by_thread ? sample.tid : 0};
                };
                std::vector<NaiveKey> chain;
                for (const ScenarioFrame& frame : sample.frames) {
                    const ImageDefinition& image = scenario.images[frame.image];
                    chain.push_back(key(shown_name(symbolizer, image, frame.offset, options.top.each_address),
                                        Symbolizer::image_display_name(image)));
                }
                if (chain.empty()) {
                    chain.push_back(key("[unknown]", "[unknown]"));
                }
                rows[chain.front()].self += value;
                ++rows[chain.front()].self_samples;
                for (const NaiveKey& one : std::set<NaiveKey>{chain.begin(), chain.end()}) {
                    rows[one].children += value;
                    ++rows[one].children_samples;
                }
            }
        }
    }
    return rows;
}

std::map<NaiveKey, NaiveCounts> rows_of(const Answer& answer, bool by_thread) {
    const auto text = [](const AnswerValue& value) {
        return std::holds_alternative<std::string>(value) ? std::get<std::string>(value) : std::string{};
    };
    std::map<NaiveKey, NaiveCounts> rows;
    for (const std::vector<AnswerValue>& row : answer.rows) {
        const std::size_t at = by_thread ? 5 : 3;
        const auto number = [&](std::size_t i) {
            return by_thread ? static_cast<std::uint32_t>(std::get<std::int64_t>(row[i])) : 0U;
        };
        const NaiveKey key{text(row[0]), text(row[1]), text(row[2]), number(3), number(4)};
        EXPECT_FALSE(rows.contains(key));
        const auto column = [&](std::size_t i) { return std::get<std::uint64_t>(row[at + i]); };
        rows[key] = {column(0), column(3), column(2), column(5)};
    }
    return rows;
}

class Top : public ::testing::Test {
protected:
    void SetUp() override { deliver(scenario_, DeliveryOrder{}, *store_); }

    // Without the warnings of images and symbols that aren't here: none of the scenario's are.
    Answer top(const Selection& selection, const TopOptions& options) {
        const Result<Scan> scan = Scan::open(*store_, selection);
        EXPECT_TRUE(scan.ok()) << scan.error().message;
        Symbolizer symbolizer{store_.get(), {}};
        Result<Answer> answer = make_top(*scan, symbolizer, options);
        EXPECT_TRUE(answer.ok()) << answer.error().message;
        std::erase_if(answer->warnings, [](const std::string& warning) {
            return warning.starts_with("no symbols for ") ||
                   (warning.find("/nowhere/") != std::string::npos && warning.find("n't here") != std::string::npos);
        });
        return std::move(answer).value();
    }

    void expect_naive(Selection selection, const NaiveOptions& options) {
        selection.counts_rows = options.counts_rows;
        const Answer answer = top(selection, options.top);
        const auto expected = naive_top(scenario_, options);
        const auto rows = rows_of(answer, options.top.by_thread);
        EXPECT_EQ(rows.size(), expected.size());
        for (const auto& [key, counts] : expected) {
            const auto row = rows.find(key);
            ASSERT_NE(row, rows.end()) << std::get<0>(key) << " " << std::get<2>(key);
            EXPECT_TRUE(row->second == counts) << std::get<0>(key) << " " << std::get<2>(key);
        }
    }

    ProfileScenario scenario_ = make_scenario(1);
    std::unique_ptr<Store> store_ = make_memory_store();
};

TEST_F(Top, EqualsANaiveCountOfTheSameRows) { expect_naive({}, {}); }

TEST_F(Top, EqualsANaiveCountByEachGrouping) {
    for (const unsigned bits : {1U, 2U, 4U, 8U, 3U, 6U, 9U, 15U, 17U, 19U, 31U}) {
        NaiveOptions options;
        options.top.by_symbol = (bits & 1U) != 0;
        options.top.by_image = (bits & 2U) != 0;
        options.top.by_command = (bits & 4U) != 0;
        options.top.by_thread = (bits & 8U) != 0;
        options.top.each_address = (bits & 16U) != 0;
        SCOPED_TRACE(bits);
        expect_naive({}, options);
    }
}

TEST_F(Top, CountsSamplesWhereTheseAreTheMeasure) {
    NaiveOptions options;
    options.counts_rows = true;
    expect_naive({}, options);
    Selection selection;
    EXPECT_EQ(top(selection, {}).columns[3].unit, "ns");
    selection.counts_rows = true;
    EXPECT_EQ(top(selection, {}).columns[3].unit, "samples");
}

TEST_F(Top, SaysWhatItsWidthsMean) {
    std::int64_t total = 0;
    std::uint64_t samples = 0;
    for (const ScenarioSession& session : scenario_.sessions) {
        for (const ScenarioEpoch& epoch : session.epochs) {
            for (const ScenarioSample& sample : epoch.samples) {
                total += sample.event == 0 ? static_cast<std::int64_t>(sample.weight) : 0;
                samples += sample.event == 0 ? 1 : 0;
            }
        }
    }
    const Answer answer = top({}, {});
    ASSERT_TRUE(answer.measure.has_value());
    EXPECT_EQ(*answer.measure, (AnswerMeasure{"cpu-clock", "amount", "ns", total, samples, {"sched:sched_switch"}}));
}

TEST_F(Top, CountsTracepointRowsOfTheSelectedEvent) {
    Selection selection;
    selection.event = "sched:sched_switch";
    NaiveOptions options;
    options.event = 1;
    expect_naive(selection, options);
}

// Of rows, and of those that were compacted.
TEST_F(Top, CountsByProcessor) {
    std::map<std::pair<std::string, std::int64_t>, std::uint64_t> expected;
    for (ScenarioSession& session : scenario_.sessions) {
        for (ScenarioEpoch& epoch : session.epochs) {
            for (std::size_t i = 0; i < epoch.samples.size(); ++i) {
                ScenarioSample& sample = epoch.samples[i];
                sample.cpu = static_cast<std::uint32_t>(i / 5 % 3);
                if (sample.event == 0) {
                    ++expected[{replayed_name(epoch, sample), sample.cpu}];
                }
            }
        }
    }
    TopOptions options;
    options.by_symbol = options.by_image = false;
    options.by_cpu = true;
    for (const std::size_t compact_every : {std::size_t{0}, std::size_t{20}}) {
        SCOPED_TRACE(compact_every);
        store_ = make_memory_store();
        deliver(scenario_, {.compact_every = compact_every}, *store_);
        std::map<std::pair<std::string, std::int64_t>, std::uint64_t> counts;
        for (const auto& row : top({}, options).rows) {
            EXPECT_TRUE(counts
                            .try_emplace({std::get<std::string>(row[2]), std::get<std::int64_t>(row[3])},
                                         std::get<std::uint64_t>(row[6]))
                            .second);
        }
        EXPECT_EQ(counts, expected);
    }
}

TEST_F(Top, KeysAreCalledAsPerfCallsThem) {
    const auto asked = [](const std::string& by) { return top_options().read({{"by", by}}); };
    EXPECT_TRUE(asked("srcline")->by_line && asked("sym,line")->by_line && asked("sym,line")->by_symbol);
    EXPECT_TRUE(asked("cpu")->by_cpu && !asked("cpu")->by_symbol && !asked("cpu")->by_command);
    EXPECT_TRUE(asked("overhead,sym")->by_symbol && !asked("overhead,sym")->by_command);
    EXPECT_TRUE(asked("overhead")->by_symbol && asked("overhead")->by_command) << "no key: those without --by";
}

TEST_F(Top, CountsByLabelsOfSessions) {
    std::map<std::pair<std::string, std::string>, std::uint64_t> expected;
    for (const ScenarioSession& session : scenario_.sessions) {
        for (const ScenarioEpoch& epoch : session.epochs) {
            for (const ScenarioSample& sample : epoch.samples) {
                expected[{session.record.target_name, matched_value(session.record, "rack")}] +=
                    sample.event == 0 ? sample.weight : 0;
            }
        }
    }
    EXPECT_GT(expected.size(), 1U);
    const Answer answer = top({}, *top_options().read({{"by", std::string{"target,rack"}}}));
    ASSERT_EQ(answer.columns[3].name, "target");
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
    for (const auto& row : answer.rows) {
        EXPECT_TRUE(counts
                        .try_emplace({std::get<std::string>(row[3]), std::get<std::string>(row[4])},
                                     std::get<std::uint64_t>(row[5]))
                        .second);
    }
    EXPECT_EQ(counts, expected);
    const Result<Scan> scan = Scan::open(*store_, {});
    Symbolizer symbolizer{nullptr, {}};
    const Result<Answer> unknown = make_top(*scan, symbolizer, *top_options().read({{"by", std::string{"trace"}}}));
    ASSERT_FALSE(unknown.ok());
    EXPECT_NE(unknown.error().message.find("symbol, line, image, command, thread, tid, cpu, unit"), std::string::npos)
        << unknown.error().message;
    EXPECT_FALSE(top_options().read({{"by", std::string{"a,b,c,d,e,f,g,h,i"}}}).ok());
}

TEST_F(Top, CutsRowsToTheTimeRange) {
    // All sessions started within ten ticks of each other; the middle one's clock is the measure for a single session.
    const ScenarioSession& session = scenario_.sessions[1];
    const std::int64_t start = session.record.start_point.utc_ns.value;
    Selection selection;
    selection.session = session_hex(session.record.session);
    selection.from = UtcNs{start + 3'000};
    selection.to = UtcNs{start + static_cast<std::int64_t>(kScenarioEpochTicks) + 5'000};
    ProfileScenario only = scenario_;
    only.sessions = {session};
    NaiveOptions options;
    options.ticks = {3'000, kScenarioEpochTicks + 5'000};
    const auto expected = naive_top(only, options);
    const auto rows = rows_of(top(selection, {}), false);
    ASSERT_EQ(rows.size(), expected.size());
    for (const auto& [key, counts] : expected) {
        EXPECT_EQ(rows.at(key).self, counts.self);
        EXPECT_EQ(rows.at(key).children, counts.children);
    }
}

TEST_F(Top, RowsAreInTheirOrderAndCutAtTheLimit) {
    const Answer all = top({}, {});
    for (std::size_t i = 1; i < all.rows.size(); ++i) {
        const auto place = [&](std::size_t row) {
            return std::tuple{~std::get<std::uint64_t>(all.rows[row][3]), ~std::get<std::uint64_t>(all.rows[row][5]),
                              std::get<std::string>(all.rows[row][0]), std::get<std::string>(all.rows[row][1]),
                              std::get<std::string>(all.rows[row][2])};
        };
        EXPECT_LT(place(i - 1), place(i));
    }
    TopOptions options;
    options.row_count_max = 5;
    const Answer five = top({}, options);
    ASSERT_EQ(five.rows.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(five.rows[i], all.rows[i]);
    }
    EXPECT_EQ(five.ledger, all.ledger);
}

TEST_F(Top, LeavesOutRowsBelowAShare) {
    constexpr double kPercent = 4;
    for (const bool self_only : {false, true}) {
        TopOptions options;
        options.self_only = self_only;
        const Answer all = top({}, options);
        options.percent_min = kPercent;
        const Answer some = top({}, options);
        ASSERT_EQ(some.columns.size(), self_only ? 6U : 9U);
        const std::size_t percent = some.columns.size() - 2;
        EXPECT_EQ(some.columns[percent].name, self_only ? "self_percent" : "children_percent");
        std::vector<std::vector<AnswerValue>> expected;
        for (const std::vector<AnswerValue>& row : all.rows) {
            if (std::get<double>(row[percent]) >= kPercent) {
                expected.push_back(row);
            }
        }
        EXPECT_EQ(some.rows, expected);
        EXPECT_FALSE(expected.empty());
        EXPECT_LT(expected.size(), all.rows.size());
    }
}

TEST_F(Top, LedgerAndSelfCountsAddUp) {
    const Answer answer = top({}, {});
    std::uint64_t self = 0;
    for (const auto& row : answer.rows) {
        self += std::get<std::uint64_t>(row[5]);
    }
    EXPECT_EQ(answer.ledger.stored, self);
    EXPECT_EQ(answer.ledger.lost, (std::map<std::string, std::uint64_t>{{"kernel_ring", 17}}));
    EXPECT_EQ(answer.ledger.produced, self + 17);
    ASSERT_EQ(answer.warnings.size(), 2U);
    EXPECT_NE(answer.warnings[0].find("sched:sched_switch"), std::string::npos);
    EXPECT_NE(answer.warnings[1].find("has no clean end"), std::string::npos);
}

TEST_F(Top, UnknownEventNamesTheKnownOnes) {
    Selection selection;
    selection.event = "cycles";
    const Result<Scan> scan = Scan::open(*store_, selection);
    Symbolizer symbolizer{nullptr, {}};
    const Result<Answer> answer = make_top(*scan, symbolizer, {});
    ASSERT_FALSE(answer.ok());
    EXPECT_EQ(answer.error().code, ErrorCode::kUsage);
    EXPECT_NE(answer.error().message.find("cpu-clock, sched:sched_switch"), std::string::npos);
    EXPECT_EQ(answer.error().message.find("--session"), std::string::npos) << answer.error().message;
}

TEST_F(Top, UnknownEventOfASessionNamesTheNewestSessionThatHasIt) {
    const SessionRecord& chosen = scenario_.sessions.front().record;
    for (const std::uint64_t id : {0xabc9U, 0xabc8U}) {
        SessionRecord record = sample_session(TargetId{1}, SessionId{id, 1});
        record.start_point.utc_ns.value += static_cast<std::int64_t>(id);
        record.events.front().name = "cycles";
        ASSERT_TRUE(store_->define(partition_of(record.target, BucketNumber{472'222}), record).ok());
    }
    Selection selection;
    selection.session = session_hex(chosen.session);
    selection.event = "cycles";
    const Result<Scan> scan = Scan::open(*store_, selection);
    ASSERT_TRUE(scan.ok());
    const Result<Done> checked = check_event(*scan);
    ASSERT_FALSE(checked.ok());
    EXPECT_NE(checked.error().message.find("recorded were: cpu-clock, sched:sched_switch; the newest session with it "
                                           "is --session 000000000000abc9"),
              std::string::npos)
        << checked.error().message;
}

TEST_F(Top, OfAnEmptyStoreIsAnEmptyTable) {
    store_ = make_memory_store();
    const Answer answer = top({}, {});
    EXPECT_TRUE(answer.rows.empty());
    EXPECT_EQ(answer.columns.size(), 9U);
    EXPECT_EQ(answer.ledger, Ledger{});
}

// A profile of a few samples, whose answer is known.
ProfileScenario short_scenario(std::vector<ScenarioSample> samples) {
    ProfileScenario scenario = make_scenario(1);
    ScenarioSession& session = scenario.sessions.front();
    session.epochs.resize(1);
    ScenarioEpoch& epoch = session.epochs.front();
    epoch.tasks = {{0, TaskOp::kPresent, 1, 1, 0, 0, "A"}, {0, TaskOp::kPresent, 2, 2, 0, 0, "B"}};
    epoch.samples = std::move(samples);
    epoch.readings.clear();
    session.kernel_lost = 0;
    scenario.sessions.resize(1);
    return scenario;
}

// Figure 2.1 of the thesis: thread A in method 1; nobody; thread B in method 2, called by 3; the kernel in method 4.
TEST_F(Top, ASampleOfAnIdleCpuIsOneOfTheProfile) {
    constexpr std::uint64_t kMs = 1'000'000;
    const ProfileScenario scenario = short_scenario({{0, 0, 1, 1, 1, {{0, 16}}},
                                                     {1 * kMs, 0, 0, 0, 1, {}},
                                                     {3 * kMs, 0, 2, 2, 1, {{0, 32}, {0, 48}}},
                                                     {4 * kMs, 0, 2, 2, 1, {{1, 64}}}});
    store_ = make_memory_store();
    deliver(scenario, DeliveryOrder{}, *store_);
    Symbolizer symbolizer{nullptr, {}};
    const auto name = [&](ScenarioFrame frame) {
        return symbolizer.resolve(scenario.images[frame.image], frame.offset).name;
    };
    const auto image = [&](std::uint32_t i) { return Symbolizer::image_display_name(scenario.images[i]); };
    TopOptions options;
    options.each_address = true;
    const Answer answer = top({}, options);
    const auto rows = rows_of(answer, false);
    ASSERT_EQ(rows.size(), 5U);
    const auto counts = [&](const NaiveKey& key) {
        const auto row = rows.find(key);
        return row == rows.end() ? std::pair{~std::uint64_t{0}, ~std::uint64_t{0}}
                                 : std::pair{row->second.self_samples, row->second.children_samples};
    };
    using Counts = std::pair<std::uint64_t, std::uint64_t>;
    EXPECT_EQ(counts({name({0, 16}), image(0), "A", 0, 0}), (Counts{1, 1}));
    EXPECT_EQ(counts({"[unknown]", "[unknown]", "swapper", 0, 0}), (Counts{1, 1}));
    EXPECT_EQ(counts({name({0, 32}), image(0), "B", 0, 0}), (Counts{1, 1}));
    EXPECT_EQ(counts({name({0, 48}), image(0), "B", 0, 0}), (Counts{0, 1}));
    EXPECT_EQ(counts({name({1, 64}), image(1), "B", 0, 0}), (Counts{1, 1}));
    EXPECT_EQ(answer.ledger.stored, 4U);
}

TEST_F(Top, AQuarterOfTheSamplesIsAQuarterOfTheTime) {
    constexpr std::uint64_t kPeriodNs = 10'000'000;
    std::vector<ScenarioSample> samples;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        samples.push_back({i * kPeriodNs, 0, 1, 1, kPeriodNs, {{0, i % 4 == 0 ? 16U : 32U}}});
    }
    store_ = make_memory_store();
    deliver(short_scenario(std::move(samples)), DeliveryOrder{}, *store_);
    TopOptions options;
    options.each_address = true;
    const Answer answer = top({}, options);
    ASSERT_EQ(answer.rows.size(), 2U);
    EXPECT_EQ(answer.columns[3].unit, "ns");
    EXPECT_EQ(answer.rows[1][3], AnswerValue{std::uint64_t{2'500'000'000}});
    EXPECT_EQ(answer.rows[1][4], AnswerValue{25.0});
    EXPECT_TRUE(answer.warnings.empty()) << answer.warnings.front();
}

TEST_F(Top, AddressesOfAnImageWithoutSymbolsAreOneRow) {
    std::vector<ScenarioSample> samples;
    for (std::uint64_t i = 0; i < 1'000; ++i) {
        samples.push_back({i, 0, 1, 1, 1, {{0, 16 + i % 40}, {0, 0x1000 + i % 2}}});
    }
    const ProfileScenario scenario = short_scenario(std::move(samples));
    store_ = make_memory_store();
    deliver(scenario, DeliveryOrder{}, *store_);
    const std::string image = Symbolizer::image_display_name(scenario.images[0]);
    const Answer answer = top({}, {});
    ASSERT_EQ(answer.rows.size(), 1U);
    EXPECT_EQ(answer.rows[0][0], AnswerValue{"[" + image + "]"});
    EXPECT_EQ(answer.rows[0][3], AnswerValue{std::uint64_t{1'000}});
    EXPECT_EQ(answer.rows[0][5], AnswerValue{std::uint64_t{1'000}});
    TopOptions options;
    options.each_address = true;
    EXPECT_EQ(top({}, options).rows.size(), 42U);

    const auto hint_of = [&](const TopOptions& wanted) {
        const Result<Scan> scan = Scan::open(*store_, {});
        Symbolizer symbolizer{nullptr, {}};
        const Result<Answer> answered = make_top(*scan, symbolizer, wanted);
        std::string hint;
        int count = 0;
        for (const std::string& warning : answered->warnings) {
            hint = warning.starts_with("no symbols for ") ? warning : hint;
            count += warning.find(image) != std::string::npos ? 1 : 0;
        }
        EXPECT_EQ(count, 1) << "one warning says all of the image";
        return hint;
    };
    EXPECT_EQ(hint_of({}), "no symbols for 100 % of the samples, in " + image + " (build-id " +
                               hex_of(scenario.images[0].build_id) +
                               "), whose file isn't here (--symfs DIR looks elsewhere): install debug symbols, or set "
                               "DEBUGINFOD_URLS=https://debuginfod.elfutils.org/; --addresses shows each address");
    EXPECT_EQ(hint_of(options).find("--addresses"), std::string::npos);
}

TEST_F(Top, SaysThatNoSampleLiesInTheTimeRange) {
    constexpr std::int64_t kMs = 1'000'000;
    const ProfileScenario scenario = short_scenario({{0, 0, 1, 1, 1, {{0, 16}}}, {3 * kMs, 0, 2, 2, 1, {{0, 32}}}});
    store_ = make_memory_store();
    deliver(scenario, DeliveryOrder{}, *store_);
    const std::int64_t start = scenario.sessions[0].record.start_point.utc_ns.value;
    Selection between;  // the two samples of one batch
    between.from = UtcNs{start + kMs};
    between.to = UtcNs{start + 2 * kMs};
    const auto is_said = [](const Answer& answer) {
        return std::any_of(answer.warnings.begin(), answer.warnings.end(), [](const std::string& warning) {
            return warning.starts_with("no sample of event cpu-clock lies in the selection");
        });
    };
    const Answer nothing = top(between, {});
    EXPECT_TRUE(nothing.rows.empty());
    EXPECT_TRUE(is_said(nothing));
    const Result<Scan> scan = Scan::open(*store_, between);
    Symbolizer symbolizer{store_.get(), {}};
    const Result<Answer> tree = make_tree(*scan, symbolizer, {});
    ASSERT_TRUE(tree.ok());
    EXPECT_TRUE(tree->rows.empty());
    EXPECT_TRUE(is_said(*tree));
    between.to = UtcNs{start + 4 * kMs};
    EXPECT_FALSE(is_said(top(between, {})));
}

TEST_F(Top, SaysHowFarOffAFewSamplesMayBe) {
    const auto warnings_of = [&](std::size_t count) {
        store_ = make_memory_store();
        deliver(short_scenario(std::vector<ScenarioSample>(count, {0, 0, 1, 1, 1, {{0, 16}}})), DeliveryOrder{},
                *store_);
        return top({}, {}).warnings;
    };
    ASSERT_EQ(warnings_of(25).size(), 1U);
    EXPECT_EQ(warnings_of(25).front(),
              "25 samples are few: shares may be 20 percentage points off; sample for longer, or more often (-F)");
    EXPECT_EQ(warnings_of(1).front().substr(0, 16), "1 sample is few:");
    EXPECT_EQ(warnings_of(kFewSamples - 1).size(), 1U);
    EXPECT_TRUE(warnings_of(kFewSamples).empty());
}

}  // namespace
}  // namespace perfleet::top_test
