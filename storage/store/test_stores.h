// Stores of every engine, for tests.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "storage/store/store.h"

namespace perfleet {

enum class TestEngine { kMemory };
inline constexpr std::array kTestEngines{TestEngine::kMemory};

[[nodiscard]] constexpr std::string_view engine_name(TestEngine) { return "Memory"; }

// Opens an empty store; what it needs is removed at the end.
class TestStores {
public:
    explicit TestStores(TestEngine engine) : engine_{engine} {}

    [[nodiscard]] std::unique_ptr<Store> open() { return make_memory_store(); }

    // Closes it and opens it again, where the engine can.
    [[nodiscard]] std::unique_ptr<Store> reopen(std::unique_ptr<Store> store) { return store; }

private:
    [[maybe_unused]] TestEngine engine_;
};

}  // namespace perfleet
