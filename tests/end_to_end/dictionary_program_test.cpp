// Gateways that are killed while they make dictionaries of partitions: afterwards profiles are those of each session's
// own definitions, counted by the dictionary.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "daemon/metrics/testing/scrape.h"
#include "storage/dictionary/partition_dictionary.h"
#include "storage/limits/store_limits.h"
#include "storage/store/open_store.h"
#include "storage/store/testing/sample_batches.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/pipeline.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::dictionary_program_test {
namespace {

constexpr std::uint32_t kFirstBucket = 472'223;  // long over
constexpr std::uint32_t kHours = 10;
constexpr std::uint64_t kSessions = 6;
constexpr std::uint32_t kBatchesAnHour = 2;  // of each session, which are compacted
constexpr std::uint32_t kStacks = 200;
constexpr std::uint32_t kOwnStacks = 5;  // of each session
constexpr Series kSamples{Kind::kSample, EventNumber{0}};

TargetId target_of(std::uint64_t number) { return TargetId{3 + number * limits::kShardsDefault}; }
SessionId session_of(std::uint64_t number) { return {number, 2}; }
Partition partition_in(std::uint32_t hour) { return partition_of(target_of(0), BucketNumber{kFirstBucket + hour}); }

// The first of an hour defines what the others of it use.
AdmittedBatch batch_of(std::uint64_t number, std::uint32_t hour, std::uint32_t batch_of_hour) {
    const BucketNumber bucket{kFirstBucket + hour};
    const std::uint64_t start =
        std::uint64_t{bucket.value} * kBucketDurationS * kNsPerSecond - 1'700'000'000'000'000'000;
    const std::uint64_t seq = std::uint64_t{hour} * kBatchesAnHour + batch_of_hour + 1;
    SampleBatch batch{target_of(number), session_of(number), Seq{seq}, EpochNumber{hour}, bucket};
    std::vector<SampleBatch::Stack> stacks;
    SampleIntegers rows;
    for (std::uint32_t stack = 1; stack <= kStacks; ++stack) {
        // The same chains under other numbers: every session begins with another one.
        const std::uint64_t offset = stack <= kOwnStacks ? number << 32U | stack : 0x1000 + (stack + number) % 100;
        stacks.push_back({stack, stack <= 100 ? 0 : stack - 100, 0, offset});
        rows[ColumnId::kTime].push_back(start + batch_of_hour * kStacks + stack);
        rows[ColumnId::kTid].push_back(40);
        rows[ColumnId::kStack].push_back(stack);
    }
    if (batch_of_hour == 0) {
        batch.add_images({{0, 0, std::string(20, 'b'), "/nowhere/service"}}).add_stacks(stacks);
    }
    return batch.add(kSamples, rows).entry(kSamples, CountName::kProduced, kStacks * seq).build();
}

void make_store(const std::string& data) {
    auto store = open_store(data);
    ASSERT_TRUE(store.ok()) << store.error().message;
    for (std::uint64_t number = 0; number < kSessions; ++number) {
        for (std::uint32_t hour = 0; hour < kHours; ++hour) {
            const SessionRecord session = sample_session(target_of(number), session_of(number));
            ASSERT_TRUE((*store)->define(partition_in(hour), session).ok());
            for (std::uint32_t i = 0; i < kBatchesAnHour; ++i) {
                ASSERT_TRUE((*store)->put(partition_in(hour), std::vector{batch_of(number, hour, i)}).ok());
            }
        }
        ASSERT_TRUE(
            (*store)->advance_watermark(target_of(number), session_of(number), Seq{kHours * kBatchesAnHour}).ok());
    }
    ASSERT_TRUE((*store)->sync().ok());
}

// Whether every epoch has a map into the dictionary of its partition, as a reader sees it.
bool is_mapped(const std::string& data) {
    const auto reader = open_store_reader(data);
    if (!reader.ok()) {
        ADD_FAILURE() << reader.error().message;
        return true;
    }
    for (std::uint32_t hour = 0; hour < kHours; ++hour) {
        const auto dictionary = (*reader)->dictionary(partition_in(hour));
        EXPECT_TRUE(dictionary.ok());
        for (std::uint64_t number = 0; number < kSessions; ++number) {
            const auto bytes =
                (*reader)->stack_map({partition_in(hour), target_of(number), session_of(number), EpochNumber{hour}});
            EXPECT_TRUE(bytes.ok());
            if (!dictionary->has_value() || !bytes->has_value()) {
                return false;
            }
            const auto map = decode_stack_map_untrusted(**bytes);
            EXPECT_TRUE(map.ok());
            EXPECT_EQ(map->dictionary_checksum, dictionary_checksum(**dictionary));
        }
    }
    return true;
}

class CompactionGateway : public GatewayProgram {
public:
    explicit CompactionGateway(const std::string& data, const std::vector<std::string>& options = {})
        : GatewayProgram{data, "tcp://127.0.0.1:*",  "none", program_path("perfleet-gateway"),
                         {},   with_metrics(options)},
          data_{data} {}

    // Until it has made so many dictionaries, or none is left to make.
    void wait_for_dictionaries(double count) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (scrape(metrics()).value("perfleet_gateway_dictionaries_total").value_or(0) < count &&
               !is_mapped(data_)) {
            if (std::chrono::steady_clock::now() > end) {
                ADD_FAILURE() << "no dictionaries";
                return;
            }
        }
    }

    // Until it has visited all hours but the last: an hour's dictionary is made before the next one is compacted.
    void wait_until_compacted() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (scrape(metrics()).value("perfleet_gateway_compaction_batches_total").value_or(0) <
               kSessions * kHours * kBatchesAnHour) {
            ASSERT_LT(std::chrono::steady_clock::now(), end);
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
    }

private:
    static std::vector<std::string> with_metrics(std::vector<std::string> options) {
        options.insert(options.end(), {"--metrics", "127.0.0.1:*"});
        return options;
    }

    std::string data_;
};

TEST(DictionaryProgram, MakesNoneWhenAskedNotTo) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    make_store(data);
    CompactionGateway gateway{data, {"--no-dictionaries"}};
    gateway.wait_until_compacted();
    EXPECT_EQ(scrape(gateway.metrics()).value("perfleet_gateway_dictionaries_total"), 0);
    EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    const auto reader = open_store_reader(data);
    ASSERT_TRUE(reader.ok()) << reader.error().message;
    for (std::uint32_t hour = 0; hour < kHours; ++hour) {
        const auto dictionary = (*reader)->dictionary(partition_in(hour));
        ASSERT_TRUE(dictionary.ok());
        EXPECT_FALSE(dictionary->has_value()) << hour;
    }
}

TEST(DictionaryProgram, KilledWhileItMakesThemChangesNoProfile) {
    const TemporaryFolder folder;
    const std::string data = folder / "data";
    make_store(data);
    const auto before = perfleet_json({"top", "--data", data});
    for (const double count : {1.0, 4.0, 8.0}) {
        CompactionGateway gateway{data};
        gateway.wait_for_dictionaries(count);
        EXPECT_EQ(gateway.end(SIGKILL).signal, SIGKILL);
    }
    {
        CompactionGateway gateway{data};
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (!is_mapped(data) && std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
        EXPECT_EQ(gateway.end(SIGTERM).status, 0);
    }
    ASSERT_TRUE(is_mapped(data));
    for (const std::string command : {"top", "tree"}) {
        const auto quick = perfleet_json({command, "--data", data});
        const auto exact = perfleet_json({command, "--exact", "--data", data});
        EXPECT_EQ(quick["rows"], exact["rows"]);
        EXPECT_EQ(quick["ledger"], exact["ledger"]);
        EXPECT_EQ(quick["warnings"], exact["warnings"]);
    }
    EXPECT_EQ(perfleet_json({"top", "--data", data})["rows"], before["rows"]);
    const Finished verified = run({program_path("perfleet"), "inspect", "--verify", "--data", data});
    EXPECT_EQ(verified.ending.status, 0) << verified.output << verified.error_output;
    const Finished sizes = run({program_path("perfleet"), "inspect", "--sizes", "--data", data});
    EXPECT_NE(sizes.error_output.find("stack nodes of 60 epochs for each of the"), std::string::npos)
        << sizes.error_output;
}

}  // namespace
}  // namespace perfleet::end_to_end::dictionary_program_test
