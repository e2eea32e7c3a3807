// A store over an engine in memory that fails on demand.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/engine/memory_engine.h"
#include "storage/engine/testing/engine_over.h"
#include "storage/store/keyed_store.h"
#include "storage/store/testing/store_writer.h"

namespace perfleet::keyed_store_test {
using test_writer::kBucket;
using test_writer::kSeries;
using test_writer::kSession;
using test_writer::kTarget;

inline constexpr UtcNs kMuchLater{(std::int64_t{kBucket.value} + 100) * kBucketDurationS * kNsPerSecond};

// An engine in memory that fails on demand.
class FragileEngine final : public EngineOver {
public:
    struct Shared {
        MemoryEngine engine;
        bool fails_write = false;
        bool fails_erase = false;
        bool has_reopened = false;  // once: it went on from what is on disk
        std::string damaged_begin;  // of cursors, which can't read there
        std::string damaged_key;    // that get() can't read, and a cursor can: another file holds it
        std::vector<std::string> calls;
        std::atomic<std::uint64_t> reads_until_failure{~0ULL};  // of get() and cursor(); that one and no other fails
        std::function<void(const KeyRange&)> on_visit;          // once, when the next cursor ends
        std::function<void()> after_visit;                      // each
        std::function<void()> after_write;                      // likewise
    };
    explicit FragileEngine(std::shared_ptr<Shared> shared) : EngineOver{shared->engine}, shared_{std::move(shared)} {}

    Result<std::optional<std::string>> get(std::string_view key) const override {
        if (shared_->reads_until_failure-- == 0) {
            return Error{ErrorCode::kUnavailable, "no read"};
        }
        if (!key.empty() && key == shared_->damaged_key) {
            return Error{ErrorCode::kCorrupt, "a damaged file"};
        }
        return shared_->engine.get(key);
    }
    std::unique_ptr<EngineCursor> cursor(const KeyRange& range, const std::set<EngineFile>&) const override {
        return std::make_unique<Cursor>(shared_, range);
    }
    Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) override {
        shared_->calls.emplace_back("write");
        auto written = shared_->fails_write ? Result<Done>{Error{ErrorCode::kFull, "no space"}}
                                            : shared_->engine.write(domain, guard, changes);
        if (shared_->after_write) {
            shared_->after_write();
        }
        return written;
    }
    Result<bool> recover(GoOn) override { return std::exchange(shared_->has_reopened, false); }
    Result<Done> sync() override {
        shared_->calls.emplace_back("sync");
        return Done{};
    }
    Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) override {
        shared_->calls.emplace_back("erase");
        return shared_->fails_erase ? Result<Done>{Error{ErrorCode::kIo, "no erase"}}
                                    : shared_->engine.erase(range, is_stopping);
    }

private:
    class Cursor final : public EngineCursor {
    public:
        Cursor(std::shared_ptr<Shared> shared, KeyRange range)
            : shared_{std::move(shared)}, range_{std::move(range)}, cursor_{shared_->engine.cursor(range_, {})} {
            if (shared_->reads_until_failure-- == 0) {
                error_ = Error{ErrorCode::kUnavailable, "no read"};
            } else if (!range_.begin.empty() && range_.begin == shared_->damaged_begin) {
                error_ = Error{ErrorCode::kCorrupt, "a damaged file"};
            }
        }
        ~Cursor() override {
            cursor_.reset();
            if (error_) {
                return;
            }
            if (const auto hook = std::exchange(shared_->on_visit, nullptr)) {
                hook(range_);
            }
            if (shared_->after_visit) {
                shared_->after_visit();
            }
        }
        void seek(std::string_view first) override {
            key_ = {};
            cursor_->seek(first);
        }
        Result<bool> next() override {
            if (error_) {
                return Error{*error_};
            }
            auto is_any = cursor_->next();
            key_ = cursor_->key();
            value_ = cursor_->value();
            return is_any;
        }

    private:
        std::shared_ptr<Shared> shared_;
        KeyRange range_;
        std::unique_ptr<EngineCursor> cursor_;
        std::optional<Error> error_;
    };

    std::shared_ptr<Shared> shared_;
};

class KeyedStore : public testing::Test {
protected:
    void SetUp() override {
        open();
        ASSERT_TRUE(store_->define(test_writer::partition(), test_writer::session()).ok());
    }

    // Forgets the store's cache.
    void open() { store_ = make_keyed_store(std::make_unique<FragileEngine>(shared_)); }

    Result<std::vector<PutOutcome>> put(std::uint64_t seq) {
        const std::vector batches{test_writer::batch(Seq{seq})};
        return store_->put(test_writer::partition(), batches);
    }

    // Of the watermark's batches; `now` far ahead of all buckets unless it is given.
    void compact(UtcNs now = kMuchLater) {
        auto compacted = store_->compact(now, [](const CompactionStep&) { return Visit::kContinue; });
        ASSERT_TRUE(compacted.ok()) << compacted.error().message;
    }

    std::vector<Partition> partitions() {
        auto found = store_->partitions();
        EXPECT_TRUE(found.ok());
        return *found;
    }

    std::uint64_t expired_rows() {
        auto rows = store_->expired(kTarget, kSession);
        EXPECT_TRUE(rows.ok());
        return rows->empty() ? 0 : rows->at(0).second;
    }

    // Puts another value under a key.
    void damage(const std::string& key, const std::string& value) {
        Changes changes;
        changes.puts.push_back({key, value});
        ASSERT_TRUE(shared_->engine.write({}, 0, changes).ok());
    }

    std::string value_of(const std::string& key) {
        auto value = shared_->engine.get(key);
        EXPECT_TRUE(value.ok() && value->has_value());
        return **value;
    }

    bool has_key(const std::string& key) {
        auto value = shared_->engine.get(key);
        EXPECT_TRUE(value.ok());
        return value->has_value();
    }

    std::shared_ptr<FragileEngine::Shared> shared_ = std::make_shared<FragileEngine::Shared>();
    std::unique_ptr<Store> store_;
};

}  // namespace perfleet::keyed_store_test
