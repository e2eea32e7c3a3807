#include "query-engine/scan/query_context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "storage/store/memory_store.h"

namespace perfleet {
namespace {

std::uint64_t count_samples(const Scan& scan) {
    std::uint64_t row_count = 0;
    for (std::size_t i = 0; i < scan.sessions().size(); ++i) {
        for (const Series series : scan.sessions()[i].series) {
            RowCursor rows{scan, i, series, {}};
            while (const RowBlock* const block = series.kind == Kind::kSample ? rows.next() : nullptr) {
                row_count += block->row_count;
            }
            EXPECT_TRUE(rows.status().ok());
        }
    }
    return row_count;
}

TEST(QueryContext, TellsTheRowsOfTheKindsThatAreRead) {
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(make_scenario(9), DeliveryOrder{}, *store);
    const std::uint64_t all = count_samples(*Scan::open(*store, {}));
    std::vector<std::uint64_t> done;
    QueryContext context{[&](std::uint64_t rows, std::uint64_t total) {
        EXPECT_EQ(total, all);
        done.push_back(rows);
    }};
    const Result<Scan> scan = Scan::open(*store, {}, &context);
    EXPECT_EQ(count_samples(*scan), all);
    ASSERT_GT(done.size(), 3U);
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
    EXPECT_LT(done.front(), all);
    EXPECT_EQ(done.back(), all);
    // What is read again isn't done twice.
    EXPECT_EQ(count_samples(*scan), all);
    EXPECT_EQ(done.back(), all);
}

TEST(QueryContext, EndsAScanBetweenBlocks) {
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(make_scenario(9), DeliveryOrder{}, *store);
    MemoryPool pool{limits::kQueryMemorySizeBytes};
    std::atomic<bool> cancelled = false;
    QueryContext context{&pool, cancelled, {}};
    const Result<Scan> scan = Scan::open(*store, {}, &context);
    ASSERT_TRUE(scan.ok());
    const std::span<const Series> series = scan->sessions()[0].series;
    const auto samples = std::ranges::find(series, Kind::kSample, &Series::kind);
    ASSERT_NE(samples, series.end());
    RowCursor rows{*scan, 0, *samples, {}};
    EXPECT_NE(rows.next(), nullptr);
    cancelled = true;
    EXPECT_EQ(rows.next(), nullptr);
    ASSERT_FALSE(rows.status().ok());
    EXPECT_EQ(rows.status().error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace perfleet
