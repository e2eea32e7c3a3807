// An engine of domains, in memory: a write that spans two is torn between them, one under another guard than the
// lease's is refused, and it can be killed before any write. What it held outlives it.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "storage/engine/memory_engine.h"
#include "storage/engine/store_format.h"
#include "storage/engine/testing/engine_over.h"
#include "storage/key/domain.h"

namespace perfleet {

class TearingEngine final : public EngineOver {
public:
    // Shared by all engines that are opened on it, one after the other.
    struct Disk {
        MemoryEngine engine;
        Guard lease = 0;
        std::uint64_t writes_left = std::numeric_limits<std::uint64_t>::max();  // then it is dead
        std::uint64_t write_count = 0;
    };

    explicit TearingEngine(std::shared_ptr<Disk> disk) : EngineOver{disk->engine}, disk_{std::move(disk)} {}

    Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) override {
        if (guard != disk_->lease) {
            return Error{ErrorCode::kConflict, "another process holds the lease"};
        }
        if (disk_->writes_left == 0) {
            return dead();
        }
        --disk_->writes_left;
        ++disk_->write_count;
        Changes its;
        std::string other;
        for (const Changes::Put& put : changes.puts) {
            if (is_of(domain, put.key)) {
                its.puts.push_back(put);
            } else {
                other = put.key;
            }
        }
        for (const std::string& key : changes.deletes) {
            if (is_of(domain, key)) {
                its.deletes.push_back(key);
            } else {
                other = key;
            }
        }
        auto written = EngineOver::write(domain, guard, its);
        if (written.ok() && !other.empty()) {
            return Error{ErrorCode::kIo, describe_key(other) + " is of another domain than what was written with it"};
        }
        return written;
    }
    Result<Done> sync() override { return disk_->writes_left == 0 ? dead() : EngineOver::sync(); }
    Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) override {
        return disk_->writes_left == 0 ? dead() : EngineOver::erase(range, is_stopping);
    }

private:
    [[nodiscard]] bool is_of(const Domain& domain, std::string_view key) const {
        const auto shards = shards_of(*this, ShardCount{});
        const auto its = domain_of_key(key, shards.ok() ? *shards : ShardCount{});
        return its.ok() && *its == domain;
    }
    [[nodiscard]] static Result<Done> dead() { return Error{ErrorCode::kIo, "killed"}; }

    std::shared_ptr<Disk> disk_;
};

}  // namespace perfleet
