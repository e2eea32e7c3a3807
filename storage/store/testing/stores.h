// Stores of every engine, for tests.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/engine/rados/rados_engine.h"
#include "storage/engine/rocksdb/folder.h"
#include "storage/engine/testing/tearing_engine.h"
#include "storage/store/keyed_store.h"
#include "storage/store/memory_store.h"
#include "storage/store/open_store.h"

namespace perfleet {

enum class TestEngine { kMemory, kTearing, kRocksdb, kRados };

// The pool of a cluster that was started for tests (engine/testing/with_ceph_cluster); null: there is none.
inline const char* test_rados_pool() { return std::getenv("PERFLEET_TEST_RADOS"); }

inline std::vector<TestEngine> test_engines() {
    std::vector<TestEngine> engines{TestEngine::kMemory, TestEngine::kTearing, TestEngine::kRocksdb};
    if (test_rados_pool() != nullptr) {
        engines.push_back(TestEngine::kRados);
    }
    return engines;
}

// A part of that pool that holds nothing yet.
inline RadosPlace new_rados_place() {
    static int places = 0;
    auto place = rados_place(test_rados_pool());
    place->name_space = "test." + std::to_string(getpid()) + "." + std::to_string(++places);
    return *place;
}

[[nodiscard]] constexpr std::string_view engine_name(TestEngine engine) {
    switch (engine) {
        case TestEngine::kMemory: return "Memory";
        case TestEngine::kTearing: return "Tearing";
        case TestEngine::kRocksdb: return "Rocksdb";
        case TestEngine::kRados: return "Rados";
    }
    return "";
}

// Opens an empty store; what it needs is removed at the end, after the store is closed.
class TestStores {
public:
    explicit TestStores(TestEngine engine, const StoreOptions& options = {}) : engine_{engine}, options_{options} {}

    [[nodiscard]] std::unique_ptr<Store> open() {
        if (engine_ == TestEngine::kMemory) {
            return make_memory_store(options_);
        }
        if (engine_ == TestEngine::kTearing) {
            auto store = open_keyed_store(std::make_unique<TearingEngine>(disk_), "a test's", options_);
            EXPECT_TRUE(store.ok()) << store.error().message;
            return std::move(*store);
        }
        if (engine_ == TestEngine::kRados) {
            place_ = place_ ? place_ : new_rados_place();
            auto engine = open_rados_writer_engine(*place_, false, options_.shards);
            EXPECT_TRUE(engine.ok()) << engine.error().message;
            auto store = open_keyed_store(std::move(*engine), place_->text(), options_);
            EXPECT_TRUE(store.ok()) << store.error().message;
            return std::move(*store);
        }
        if (folder_ == nullptr) {
            auto folder = TemporaryFolder::make("perfleet-test-");
            EXPECT_TRUE(folder.ok());
            folder_ = std::move(*folder);
        }
        auto store = open_store(folder_->path(), options_);
        EXPECT_TRUE(store.ok()) << store.error().message;
        return std::move(*store);
    }

    // Closes it and opens it again, where the engine can.
    [[nodiscard]] std::unique_ptr<Store> reopen(std::unique_ptr<Store> store) {
        if (engine_ == TestEngine::kMemory) {
            return store;
        }
        store.reset();
        return open();
    }

private:
    TestEngine engine_;
    StoreOptions options_;
    std::unique_ptr<TemporaryFolder> folder_;
    std::optional<RadosPlace> place_;
    std::shared_ptr<TearingEngine::Disk> disk_ = std::make_shared<TearingEngine::Disk>();
};

}  // namespace perfleet
