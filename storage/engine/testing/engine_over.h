// An engine over another one, which it borrows or owns: what a double for tests doesn't change.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/engine/engine.h"

namespace perfleet {

class EngineOver : public Engine {
public:
    explicit EngineOver(Engine& engine) : engine_{engine} {}
    explicit EngineOver(std::unique_ptr<Engine> engine) : owned_{std::move(engine)}, engine_{*owned_} {}

    ShardLeases* leases() override { return engine_.leases(); }
    std::optional<std::vector<Partition>> listed_partitions() const override { return engine_.listed_partitions(); }
    Result<std::optional<std::string>> get(std::string_view key) const override { return engine_.get(key); }
    std::unique_ptr<EngineCursor> cursor(const KeyRange& range, const std::set<EngineFile>& without) const override {
        return engine_.cursor(range, without);
    }
    std::shared_ptr<const KnownDamage> damage() const override { return engine_.damage(); }
    Result<Done> refresh() override { return engine_.refresh(); }
    Result<bool> recover(GoOn purpose) override { return engine_.recover(purpose); }
    Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) override {
        return engine_.write(domain, guard, changes);
    }
    // As write(), so that a double needs to change only that one.
    Result<Done> write_unlogged(const Domain& domain, Guard guard, const Changes& changes) override {
        return write(domain, guard, changes);
    }
    Result<Done> reclaim(const KeyRange& range, std::atomic<bool>* is_stopping) override {
        return engine_.reclaim(range, is_stopping);
    }
    Result<Done> flush_unlogged() override { return engine_.flush_unlogged(); }
    Result<Done> sync() override { return engine_.sync(); }
    Result<std::uint64_t> size_bytes(const KeyRange& range) const override { return engine_.size_bytes(range); }
    Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) override {
        return engine_.erase(range, is_stopping);
    }

protected:
    [[nodiscard]] Engine& engine() { return engine_; }

private:
    std::unique_ptr<Engine> owned_;
    Engine& engine_;
};

}  // namespace perfleet
