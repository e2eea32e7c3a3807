// Memory that exports really take, as operator new sees it, against their limit.
#include <gtest/gtest.h>

#include "exporters/format/export_format.h"
#include "query-engine/statistic/testing/memory_peak.h"
#include "query-engine/statistic/testing/threads_scenario.h"
#include "storage/store/memory_store.h"

namespace perfleet::export_memory_limit_test {
namespace {

constexpr std::size_t kThreads = 30'000;
// Blocks that are read, and the overhead beside everything that grows.
constexpr std::size_t kOnTopBytes = 6U << 20;

class NoSink final : public ExportSink {
public:
    Result<Done> write_at(std::uint64_t /*offset*/, std::span<const std::byte> /*bytes*/) override { return Done{}; }
};

class ExportMemoryLimit : public testing::TestWithParam<ExportFormat> {
protected:
    static void SetUpTestSuite() {
        store_ = make_memory_store();
        deliver(make_threads_scenario(kThreads), {.rows_per_batch = 4'000}, *store_);
    }
    static void TearDownTestSuite() { store_.reset(); }

    static inline std::unique_ptr<Store> store_;
};

TEST_P(ExportMemoryLimit, ThreadsWithoutNamesStayWithinIt) {
    // These need debug information or the program's file, which no image here has.
    const bool needs_program =
        GetParam().name == "go-pgo" || GetParam().name == "bolt" || GetParam().name == "llvm-sample";
    bool has_answered = false;
    for (const std::size_t limit_bytes : {2U << 20, 8U << 20, 32U << 20, 256U << 20}) {
        Selection selection;
        selection.thread_count = 2;
        selection.memory_size_bytes_max = limit_bytes;
        if (needs_program) {
            selection.filter.images = {"*"};
        }
        const MemoryPeak peak;
        {
            Result<Scan> scan = Scan::open(*store_, selection);
            ASSERT_TRUE(scan.ok());
            scan->set_frame_filter(
                [](const EpochDictionary& dictionary) { return std::vector<bool>(dictionary.stack_count(), true); });
            NoSink sink;
            const Result<QueryEnd> outcome = GetParam().write({*scan, {}, {}, UtcNs{0}}, sink);
            has_answered = outcome.ok() || (needs_program && outcome.error().code == ErrorCode::kNotFound);
            if (!has_answered) {
                EXPECT_EQ(outcome.error().code, ErrorCode::kTooLarge) << outcome.error().message;
                EXPECT_NE(outcome.error().message.find("--memory"), std::string::npos) << outcome.error().message;
            }
        }
        EXPECT_LE(peak.taken_bytes(), limit_bytes + kOnTopBytes) << "of " << limit_bytes;
    }
    EXPECT_TRUE(has_answered) << "with the largest limit";
}

INSTANTIATE_TEST_SUITE_P(Formats, ExportMemoryLimit,
                         testing::ValuesIn(export_formats().begin(), export_formats().end()), [](const auto& each) {
                             std::string name = each.param.name;
                             std::erase_if(name, [](char letter) { return std::isalnum(letter) == 0; });
                             return name;
                         });

}  // namespace
}  // namespace perfleet::export_memory_limit_test
