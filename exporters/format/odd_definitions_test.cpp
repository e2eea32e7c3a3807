// One session with impossible definitions: no query command and no export fails for it, and the answers of the other
// session's rows stay the same.
#include <gtest/gtest.h>

#include "exporters/format/export_format.h"
#include "query-engine/statistic/command.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::odd_definitions_test {
namespace {

constexpr BucketNumber kBucket{480'000};
constexpr TargetId kTarget{17};
constexpr SessionId kGood{1, 1};
constexpr SessionId kOdd{2, 2};
constexpr Series kSamples{Kind::kSample, EventNumber{0}};

class NoSink final : public ExportSink {
public:
    Result<Done> write_at(std::uint64_t /*offset*/, std::span<const std::byte> bytes) override {
        size_bytes += bytes.size();
        return Done{};
    }
    std::size_t size_bytes = 0;
};

void put(Store& store, SessionId session, const std::vector<AdmittedBatch>& batches, std::uint64_t row_count) {
    SessionRecord record = sample_session(kTarget, session);
    EventRecord event;
    event.name = "cpu-clock";
    event.kind = Kind::kSample;
    event.callchain = true;
    record.events = {event};
    const Partition partition = partition_of(kTarget, kBucket);
    ASSERT_TRUE(store.define(partition, record).ok());
    ASSERT_TRUE(store.put(partition, batches).ok());
    const std::vector<CountEntry> counts{{kSamples, CountName::kProduced, row_count}};
    ASSERT_TRUE(
        store.end_session(kTarget, session, {Seq{batches.size()}, counts, {}, {Ticks{9'000}, UtcNs{5}, 6}}).ok());
}

SampleBatch rows(SessionId session, std::uint64_t seq, const std::vector<std::uint64_t>& stacks) {
    SampleBatch batch{kTarget, session, Seq{seq}, EpochNumber{0}, kBucket};
    SampleIntegers integers;
    for (std::size_t row = 0; row < stacks.size(); ++row) {
        integers[ColumnId::kTime].push_back(1'000 * seq + row);
        integers[ColumnId::kPid].push_back(7);
        integers[ColumnId::kTid].push_back(7);
        integers[ColumnId::kWeight].push_back(1);
    }
    integers[ColumnId::kStack] = stacks;
    batch.add(kSamples, integers);
    batch.entry(kSamples, CountName::kProduced, seq * stacks.size());
    return batch;
}

std::unique_ptr<Store> store_of_good() {
    auto store = make_memory_store();
    SampleBatch batch = rows(kGood, 1, {1, 2, 2, 2});
    batch.add_images({{0, 0, std::string(20, 'g'), "/bin/good"}}).add_stacks({{1, 0, 0, 0x10}, {2, 1, 0, 0x20}});
    put(*store, kGood, {batch.build()}, 4);
    return store;
}

// A chain of 1,500 nodes over two batches, a node that calls itself, callers without a definition or with a later one,
// images, strings and nodes that were something else before.
void put_odd(Store& store) {
    std::vector<SampleBatch::Stack> deep;
    for (std::uint32_t number = 1; number <= 1'500; ++number) {
        deep.push_back({number, number - 1, number % 2, number});
    }
    const auto middle = deep.begin() + 700;
    SampleBatch first = rows(kOdd, 1, {1, 700, 700, 1'024});
    first.add_strings({{1, "one"}})
        .add_images({{0, 0, std::string(20, 'a'), "/bin/a"}, {1, 0, std::string(20, 'b'), "/bin/b"}})
        .add_stacks({deep.begin(), middle});
    SampleBatch second = rows(kOdd, 2, {1'025, 1'500, 2'000, 2'001, 2'002, 2'003, 5'000});
    std::vector<SampleBatch::Stack> rest{middle, deep.end()};
    rest.insert(rest.end(), {{1, 0, 1, 99}, {2'000, 2'000, 0, 1}, {2'001, 2'002, 0, 2}, {2'002, 1, 0, 3}});
    rest.push_back({2'003, 1'900, 9'000, 4});
    second.add_strings({{1, "other"}}).add_images({{1, 0, std::string(20, 'c'), "/bin/c"}}).add_stacks(rest);
    put(store, kOdd, {first.build(), second.build()}, 11);
}

Result<Answer> ask(const QueryCommand& command, const Store& store) {
    return run_query(command.name, {}, store, {}, UtcNs{kNsPerSecond});
}

TEST(OddDefinitions, FailNoQueryCommand) {
    const auto good = store_of_good();
    const auto both = store_of_good();
    put_odd(*both);
    std::size_t answered = 0;
    for (const QueryCommand& command : query_commands()) {
        const Result<Answer> alone = ask(command, *good);
        const Result<Answer> together = ask(command, *both);
        EXPECT_EQ(together.ok(), alone.ok())
            << command.name << ": " << (together.ok() ? alone.error() : together.error()).message;
        answered += together.ok() ? 1 : 0;
    }
    EXPECT_GT(answered, 5U);
}

TEST(OddDefinitions, AreMarkedCountedAndNamedAndAllRowsAreThere) {
    const auto both = store_of_good();
    put_odd(*both);
    const Result<Answer> top = run_query("top", {}, *both, {}, UtcNs{kNsPerSecond});
    ASSERT_TRUE(top.ok()) << top.error().message;
    EXPECT_EQ(top->ledger.stored, 15U);
    const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::find_if(top->columns.begin(), top->columns.end(),
                                                     [&](const AnswerColumn& one) { return one.name == name; }) -
                                        top->columns.begin());
    };
    std::uint64_t self = 0;
    std::uint64_t cut = 0;
    std::uint64_t good = 0;
    for (const auto& row : top->rows) {
        self += std::get<std::uint64_t>(row[column("self_samples")]);
        const std::string image = std::get<std::string>(row[column("image")]);
        const std::uint64_t children = std::get<std::uint64_t>(row[column("children_samples")]);
        cut += image.find("[truncated: depth]") != std::string::npos ? children : 0;
        good += image == "good" ? std::get<std::uint64_t>(row[column("self_samples")]) : 0;
    }
    EXPECT_EQ(self, 15U);
    EXPECT_EQ(cut, 4U) << "1,025 and 1,500 deep, a node that calls itself, one whose caller comes later";
    EXPECT_EQ(good, 4U);
    const auto says = [&](const std::string& text) {
        return std::any_of(top->warnings.begin(), top->warnings.end(),
                           [&](const std::string& warning) { return warning.find(text) != std::string::npos; });
    };
    EXPECT_TRUE(says("the callers of 3 frames, more than 1024 in a call chain"));
    EXPECT_TRUE(says("3 definitions of a stack, image or string"));
    EXPECT_TRUE(says(session_hex(kOdd)));
    EXPECT_FALSE(says(session_hex(kGood)));
}

TEST(OddDefinitions, FailNoExport) {
    const auto good = store_of_good();
    const auto both = store_of_good();
    put_odd(*both);
    for (const ExportFormat& format : export_formats()) {
        for (const bool is_alone : {true, false}) {
            const Result<Scan> scan = Scan::open(is_alone ? *good : *both, {});
            ASSERT_TRUE(scan.ok());
            NoSink sink;
            const Result<QueryEnd> outcome = format.write({*scan, {}, {}, UtcNs{0}}, sink);
            // Those of one program name it or its debug information; the relay's are of one session.
            const bool is_refused = !outcome.ok() && (outcome.error().code == ErrorCode::kUsage ||
                                                      outcome.error().code == ErrorCode::kNotFound);
            const bool is_of_program = format.name == "go-pgo" || format.name == "bolt" || format.name == "llvm-sample";
            const bool is_of_one = is_of_program || (format.name == "otlp-requests" && !is_alone);
            EXPECT_TRUE(outcome.ok() || (is_of_one && is_refused)) << format.name << ": " << outcome.error().message;
        }
    }
}

}  // namespace
}  // namespace perfleet::odd_definitions_test
