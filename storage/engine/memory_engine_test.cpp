#include "storage/engine/memory_engine.h"

#include <gtest/gtest.h>

#include <vector>

namespace perfleet::memory_engine_test {
namespace {

TEST(MemoryEngine, AVisitSeesOneMomentWhateverItsVisitorChanges) {
    MemoryEngine engine;
    const auto write = [&](const std::string& key, const std::string& value) {
        Changes changes;
        changes.puts.push_back({key, value});
        ASSERT_TRUE(engine.write({}, 0, changes).ok());
    };
    for (const std::string key : {"a", "b", "c", "d"}) {
        write(key, "before");
    }
    const KeyRange all{"a", "z"};
    std::vector<std::string> seen;
    ASSERT_TRUE(engine
                    .visit(all,
                           [&](std::string_view key, std::string_view value) {
                               seen.push_back(std::string{key} + " " + std::string{value});
                               write("c", "after");
                               write("e", "after");
                               EXPECT_TRUE(engine.erase({"d", "e"}, nullptr).ok());
                               return Visit::kContinue;
                           })
                    .ok());
    EXPECT_EQ(seen, (std::vector<std::string>{"a before", "b before", "c before", "d before"}));
    seen.clear();
    ASSERT_TRUE(engine
                    .visit(all,
                           [&](std::string_view key, std::string_view) {
                               seen.emplace_back(key);
                               return Visit::kContinue;
                           })
                    .ok());
    EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c", "e"}));
}

TEST(MemoryEngine, BeyondItsSizeNothingIsWritten) {
    MemoryEngine engine{10};
    const auto write = [&](const std::string& key, const std::string& value) {
        Changes changes;
        changes.puts.push_back({key, value});
        return engine.write({}, 0, changes);
    };
    EXPECT_TRUE(write("a", "1234").ok());
    EXPECT_TRUE(write("a", "5678").ok());  // in the place of the one before
    EXPECT_TRUE(write("b", "1234").ok());
    const auto refused = write("c", "");
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
    const auto nothing = engine.get("c");
    ASSERT_TRUE(nothing.ok());
    EXPECT_FALSE(nothing->has_value());
    ASSERT_TRUE(engine.erase({"a", "b"}, nullptr).ok());
    EXPECT_TRUE(write("c", "1234").ok());
    Changes changes;
    changes.deletes.emplace_back("b");
    ASSERT_TRUE(engine.write({}, 0, changes).ok());
    EXPECT_TRUE(write("d", "1234").ok());
}

}  // namespace
}  // namespace perfleet::memory_engine_test
