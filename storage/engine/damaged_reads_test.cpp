#include "storage/engine/damaged_reads.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "storage/engine/file_name.h"
#include "storage/engine/memory_engine.h"
#include "storage/engine/testing/engine_over.h"

namespace perfleet::damaged_reads_test {
namespace {

constexpr EngineFile kFile = 7;

// What is put lies in one file, of which some keys can't be read; another file holds older values.
class TornEngine final : public EngineOver {
public:
    explicit TornEngine(std::set<std::string> torn)
        : EngineOver{std::make_unique<MemoryEngine>()}, torn_{std::move(torn)} {}

    MemoryEngine older;

    std::unique_ptr<EngineCursor> cursor(const KeyRange& range, const std::set<EngineFile>& without) const override {
        return without.contains(kFile) ? older.cursor(range, {})
                                       : std::make_unique<Cursor>(EngineOver::cursor(range, {}), torn_, torn_reads_);
    }
    // How often a key that can't be read was.
    [[nodiscard]] std::uint64_t torn_reads() const { return torn_reads_; }

private:
    class Cursor final : public EngineCursor {
    public:
        Cursor(std::unique_ptr<EngineCursor> at, const std::set<std::string>& torn, std::uint64_t& torn_reads)
            : at_{std::move(at)}, torn_{torn}, torn_reads_{torn_reads} {}
        void seek(std::string_view first) override {
            at_->seek(first);
            key_.clear();
        }
        Result<bool> next() override {
            auto is_any = at_->next();
            if (is_any.ok() && *is_any) {
                if (torn_.contains(std::string{at_->key()})) {
                    ++torn_reads_;
                    return Error{ErrorCode::kCorrupt, "torn: " + table_file_name(kFile)};
                }
                key_ = at_->key();
                value_ = at_->value();
            }
            return is_any;
        }

    private:
        std::unique_ptr<EngineCursor> at_;
        const std::set<std::string>& torn_;
        std::uint64_t& torn_reads_;
    };

    std::set<std::string> torn_;
    mutable std::uint64_t torn_reads_ = 0;
};

std::vector<std::string> steps_of(ReadableCursor& cursor, std::size_t count_max = ~std::size_t{0}) {
    std::vector<std::string> steps;
    while (steps.size() < count_max) {
        const auto step = cursor.next();
        EXPECT_TRUE(step.ok());
        if (!step.ok() || *step == CursorStep::kEnd) {
            break;
        }
        if (*step == CursorStep::kItem) {
            steps.push_back(std::string{cursor.key()} + "=" + std::string{cursor.value()});
        } else {
            EXPECT_EQ(cursor.gap().error.message, "torn: " + table_file_name(kFile));
            const bool names_file = cursor.gap().file == table_file_name(kFile);
            steps.emplace_back(names_file ? "gap of 7" : "gap");
        }
    }
    return steps;
}

std::vector<std::string> steps_of(const Engine& engine, ReadableCursor::InGaps in_gaps) {
    ReadableCursor cursor{engine, {"a", "z"}, in_gaps};
    return steps_of(cursor);
}

TEST(ReadableCursor, NamesEachGapAndGoesOnBehindItWithWhatOtherFilesHold) {
    TornEngine engine{{"c", "u"}};
    for (const char* key : {"b", "c", "d", "t", "u", "y"}) {
        ASSERT_TRUE(engine.write({}, 0, {{{key, "new"}}, {}}).ok());
    }
    ASSERT_TRUE(engine.older.write({}, 0, {{{"a", "old"}, {"c", "old"}, {"u", "old"}}, {}}).ok());
    EXPECT_EQ(steps_of(engine, ReadableCursor::InGaps::kOtherFiles),
              (std::vector<std::string>{"b=new", "gap of 7", "c=old", "d=new", "t=new", "gap of 7", "u=old", "y=new"}));
    EXPECT_EQ(steps_of(engine, ReadableCursor::InGaps::kNothing),
              (std::vector<std::string>{"b=new", "gap", "d=new", "t=new", "gap", "y=new"}));
}

// Each look at a damaged block reads all of it, which may be an image of megabytes.
TEST(ReadableCursor, FindsTheEndOfAGapInFewReads) {
    const std::string torn = "table\x7f";  // the end of a block in its file's index is as short
    TornEngine engine{{torn}};
    ASSERT_TRUE(engine.write({}, 0, {{{torn, "new"}, {torn + "\x01", "new"}, {"tablf", "new"}}, {}}).ok());
    const std::string begin = "table" + std::string(20, '\x12');
    for (const auto& [end, is_all] : std::map<std::string, bool>{{"u", true}, {"table\x7f\x01", false}}) {
        const std::uint64_t before = engine.torn_reads();
        ReadableCursor cursor{engine, {begin, end}, ReadableCursor::InGaps::kNothing};
        EXPECT_EQ(steps_of(cursor), is_all ? (std::vector<std::string>{"gap", torn + "\x01=new", "tablf=new"})
                                           : std::vector<std::string>{"gap"});
        EXPECT_LE(engine.torn_reads() - before, 40U) << end;
    }
}

TEST(ReadableCursor, KeysBetweenDamagesAreRead) {
    TornEngine engine{{"b5", "j5", "n5"}};
    for (const char* key : {"b5", "c5", "d5", "j5", "k5", "n5", "o5"}) {
        ASSERT_TRUE(engine.write({}, 0, {{{key, "new"}}, {}}).ok());
    }
    EXPECT_EQ(steps_of(engine, ReadableCursor::InGaps::kNothing),
              (std::vector<std::string>{"gap", "c5=new", "d5=new", "gap", "k5=new", "gap", "o5=new"}));
}

// However far it has read, on either side of a gap or in it.
TEST(ReadableCursor, SeeksOverGapsAndGoesOnAsOneThatBeganThere) {
    TornEngine engine{{"c", "u"}};
    for (const char* key : {"b", "c", "d", "t", "u", "y"}) {
        ASSERT_TRUE(engine.write({}, 0, {{{key, "new"}}, {}}).ok());
    }
    ASSERT_TRUE(engine.older.write({}, 0, {{{"a", "old"}, {"c", "old"}, {"u", "old"}}, {}}).ok());
    const auto all = steps_of(engine, ReadableCursor::InGaps::kOtherFiles);
    const auto key_of = [&](std::size_t step) {
        return all[step].substr(0, 3) == "gap" ? all[step + 1][0] : all[step][0];
    };
    for (std::size_t begun = 0; begun <= all.size(); ++begun) {
        for (char key = 'a'; key <= 'z'; ++key) {
            ReadableCursor cursor{engine, {"a", "z"}};
            EXPECT_EQ(steps_of(cursor, begun).size(), begun);
            cursor.seek(std::string{key});
            std::vector<std::string> expected;
            for (std::size_t step = begun; step < all.size(); ++step) {
                if (key_of(step) >= key) {
                    expected.push_back(all[step]);
                }
            }
            EXPECT_EQ(steps_of(cursor), expected) << begun << key;
        }
    }
}

}  // namespace
}  // namespace perfleet::damaged_reads_test
