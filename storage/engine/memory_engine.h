// An engine that keeps everything in an ordered map in memory; for tests.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "storage/engine/engine.h"
#include "storage/model/visit.h"

namespace perfleet {

class MemoryEngine final : public Engine {
public:
    [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override;
    [[nodiscard]] Result<Done> visit(
        const KeyRange& range,
        const std::function<Visit(std::string_view key, std::string_view value)>& visitor) const override;
    [[nodiscard]] Result<Done> refresh() override { return Done{}; }
    [[nodiscard]] Result<Done> write(const Changes& changes) override;
    [[nodiscard]] Result<Done> sync() override { return Done{}; }
    [[nodiscard]] Result<std::uint64_t> size_bytes(const KeyRange& range) const override;
    [[nodiscard]] Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) override;

private:
    using Values = std::map<std::string, std::shared_ptr<const std::string>, std::less<>>;

    // To be changed: what a visit looks at stays as it is.
    [[nodiscard]] Values& own_values();

    mutable std::mutex mutex_;
    std::shared_ptr<Values> values_ = std::make_shared<Values>();
};

}  // namespace perfleet
