// Stores of every engine, for tests.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "storage/engine/folder.h"
#include "storage/store/open_store.h"

namespace perfleet {

enum class TestEngine { kMemory, kRocksdb };
inline constexpr std::array kTestEngines{TestEngine::kMemory, TestEngine::kRocksdb};

[[nodiscard]] constexpr std::string_view engine_name(TestEngine engine) {
    return engine == TestEngine::kMemory ? "Memory" : "Rocksdb";
}

// Opens an empty store; what it needs is removed at the end, after the store is closed.
class TestStores {
public:
    explicit TestStores(TestEngine engine, const StoreOptions& options = {}) : engine_{engine}, options_{options} {}

    [[nodiscard]] std::unique_ptr<Store> open() {
        if (engine_ == TestEngine::kMemory) {
            return make_memory_store(options_);
        }
        if (folder_ == nullptr) {
            auto folder = TemporaryFolder::make("perfleet-test-");
            EXPECT_TRUE(folder.ok());
            folder_ = std::move(*folder);
        }
        auto store = open_rocksdb_store(folder_->path(), options_);
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
};

}  // namespace perfleet
