#include "storage/engine/testing/memory_engine.h"

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

}  // namespace
}  // namespace perfleet::memory_engine_test
