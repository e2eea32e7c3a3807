#include "query-engine/scan/watched_store.h"

#include <gtest/gtest.h>

#include "query-engine/scan/row_cursor.h"
#include "query-engine/scan/scan.h"
#include "query-engine/statistic/testing/profile_scenario.h"
#include "storage/store/memory_store.h"

namespace perfleet {
namespace {

std::uint64_t count_samples(const StoreReader& store) {
    const Result<Scan> scan = Scan::open(store, {});
    EXPECT_TRUE(scan.ok());
    std::uint64_t row_count = 0;
    for (std::size_t i = 0; i < scan->sessions().size(); ++i) {
        for (const Series series : scan->sessions()[i].series) {
            RowCursor rows{*scan, i, series, {}};
            while (const RowBlock* const block = series.kind == Kind::kSample ? rows.next() : nullptr) {
                row_count += block->row_count;
            }
            EXPECT_TRUE(rows.status().ok());
        }
    }
    return row_count;
}

TEST(WatchedStore, ReportsTheRowsOfTheKindsThatAreRead) {
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(make_scenario(9), DeliveryOrder{}, *store);
    const std::uint64_t all = count_samples(*store);
    std::vector<std::uint64_t> done;
    const WatchedStore watched{*store, [&](std::uint64_t rows, std::uint64_t total) {
                                   EXPECT_EQ(total, all);
                                   done.push_back(rows);
                               }};
    EXPECT_EQ(count_samples(watched), all);
    ASSERT_GT(done.size(), 3U);
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
    EXPECT_LT(done.front(), all);
    EXPECT_EQ(done.back(), all);
    // What is read again isn't done twice.
    EXPECT_EQ(count_samples(watched), all);
    EXPECT_EQ(done.back(), all);
}

TEST(WatchedStore, IsTheStoreWhereNobodyWatches) {
    const std::unique_ptr<Store> store = make_memory_store();
    deliver(make_scenario(9), DeliveryOrder{}, *store);
    EXPECT_EQ(count_samples(WatchedStore{*store, {}}), count_samples(*store));
}

}  // namespace
}  // namespace perfleet
