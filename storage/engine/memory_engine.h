// An engine that keeps everything in an ordered map in memory, for one process; its contents end with it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "storage/engine/engine.h"

namespace perfleet {

class MemoryEngine final : public Engine {
public:
    // Limit of keys and values together.
    explicit MemoryEngine(std::uint64_t size_bytes_max = std::numeric_limits<std::uint64_t>::max())
        : size_bytes_max_{size_bytes_max} {}

    [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override;
    // It has no files, and so no damage.
    [[nodiscard]] std::unique_ptr<EngineCursor> cursor(const KeyRange& range,
                                                       const std::set<EngineFile>& without) const override;
    [[nodiscard]] Result<Done> refresh() override { return Done{}; }
    [[nodiscard]] Result<bool> recover(GoOn) override { return false; }
    // Errors: kTooLarge; nothing is written then.
    [[nodiscard]] Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) override;
    [[nodiscard]] Result<Done> write_unlogged(const Domain& domain, Guard guard, const Changes& changes) override {
        return write(domain, guard, changes);
    }
    [[nodiscard]] Result<Done> flush_unlogged() override { return Done{}; }
    [[nodiscard]] Result<Done> reclaim(const KeyRange&, std::atomic<bool>*) override { return Done{}; }
    [[nodiscard]] Result<Done> sync() override { return Done{}; }
    [[nodiscard]] Result<std::uint64_t> size_bytes(const KeyRange& range) const override;
    [[nodiscard]] Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) override;

private:
    class Cursor;
    using Values = std::map<std::string, std::shared_ptr<const std::string>, std::less<>>;

    // The map, copied if a cursor uses it, so that it may be changed.
    [[nodiscard]] Values& own_values();

    const std::uint64_t size_bytes_max_;
    mutable std::mutex mutex_;
    std::uint64_t size_bytes_ = 0;
    std::shared_ptr<Values> values_ = std::make_shared<Values>();
};

}  // namespace perfleet
