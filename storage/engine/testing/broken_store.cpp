#include "storage/engine/testing/broken_store.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "schemas/columns/crc32c.h"
#include "storage/engine/testing/engine_over.h"
#include "storage/key/key_bytes.h"
#include "storage/store/testing/store_over.h"

namespace perfleet {
namespace {

class AckBeforeSync final : public EngineOver {
public:
    using EngineOver::EngineOver;

    Result<Done> sync() override {
        if (std::exchange(is_owed_, true)) {
            return engine().sync();
        }
        return Done{};
    }
    Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) override {
        if (std::exchange(is_owed_, false)) {
            PERFLEET_TRY(engine().sync());
        }
        return engine().write(domain, guard, changes);
    }

private:
    bool is_owed_ = false;
};

class WatermarkBeforeRows final : public EngineOver {
public:
    using EngineOver::EngineOver;

    Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) override {
        const auto is_of = [&](Table table) {
            return !changes.puts.empty() && changes.puts.front().key.front() == static_cast<char>(table);
        };
        if (is_of(Table::kPartition)) {
            Held held;
            held.domain = domain;
            held.guard = guard;
            held.deletes = changes.deletes;
            for (const Changes::Put& put : changes.puts) {
                held.puts.emplace_back(put.key, put.value);
            }
            held_.push_back(std::move(held));
            return Done{};
        }
        auto written = engine().write(domain, guard, changes);
        if (written.ok() && is_of(Table::kWatermark)) {
            written = engine().sync();
        }
        if (!written.ok()) {
            return written;
        }
        return release();
    }
    Result<Done> sync() override {
        PERFLEET_TRY(release());
        return engine().sync();
    }

private:
    struct Held {
        Domain domain;
        Guard guard = 0;
        std::vector<std::pair<std::string, std::string>> puts;
        std::vector<std::string> deletes;
    };

    Result<Done> release() {
        for (; !held_.empty(); held_.pop_front()) {
            Changes changes;
            changes.deletes = held_.front().deletes;
            for (const auto& [key, value] : held_.front().puts) {
                changes.puts.push_back({key, value});
            }
            PERFLEET_TRY(engine().write(held_.front().domain, held_.front().guard, changes));
        }
        return Done{};
    }

    std::deque<Held> held_;
};

// Loses the compacted block of which one part is one in a thousand: its parts are taken away all the same.
class CompactDropsBlock final : public EngineOver {
public:
    using EngineOver::EngineOver;

    Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) override {
        const bool is_compact = changes.puts.size() == 1 && !changes.deletes.empty() &&
                                decode_block_key(changes.puts.front().key).ok() &&
                                decode_block_key(changes.deletes.front()).ok();
        if (!is_compact || !(is_chosen(changes.puts.front().key) ||
                             std::any_of(changes.deletes.begin(), changes.deletes.end(), is_chosen))) {
            return engine().write(domain, guard, changes);
        }
        Changes lossy;
        lossy.deletes = changes.deletes;
        lossy.deletes.emplace_back(changes.puts.front().key);
        return engine().write(domain, guard, lossy);
    }

private:
    static bool is_chosen(std::string_view key) { return crc32c(0, std::as_bytes(std::span{key})) % 1'000 == 0; }
};

class KeyWithoutSeq final : public StoreOver {
public:
    using StoreOver::StoreOver;

    // The gateway finds no seq in it.
    Result<Done> visit_batches(const Partition&, TargetId, SessionId,
                               const std::function<Visit(const BatchRecord&)>&) const override {
        return Done{};
    }
    Result<Seq> watermark(TargetId, SessionId) const override { return Seq{0}; }
    Result<std::vector<PutOutcome>> put(const Partition& partition, std::span<const AdmittedBatch> batches) override {
        std::vector<AdmittedBatch> arrived{batches.begin(), batches.end()};
        for (AdmittedBatch& batch : arrived) {
            auto number = PERFLEET_TRY(next_arrival(batch.key.target, batch.key.session));
            batch.key.seq = number;
            batch.record.seq = number;
        }
        return store().put(partition, arrived);
    }
    Result<Done> advance_watermarks(std::span<const SessionPrefix>) override { return Done{}; }

private:
    Result<Seq> next_arrival(TargetId target, SessionId session) {
        const auto [at, is_new] = arrivals_.try_emplace({target, session});
        if (is_new) {
            auto partitions = PERFLEET_TRY(store().partitions());
            for (const Partition& partition : partitions) {
                auto visited = store().visit_batches(partition, target, session,
                                                     [&, &last = at->second](const BatchRecord& record) {
                                                         last = std::max(last, record.seq);
                                                         return Visit::kContinue;
                                                     });
                if (!visited.ok()) {
                    return visited.error();
                }
            }
        }
        return at->second = Seq{at->second.value + 1};
    }

    std::map<std::pair<TargetId, SessionId>, Seq> arrivals_;
};

class RepeatAtWatermark final : public StoreOver {
public:
    using StoreOver::StoreOver;

    Result<std::vector<PutOutcome>> put(const Partition& partition, std::span<const AdmittedBatch> batches) override {
        std::vector<AdmittedBatch> arrived{batches.begin(), batches.end()};
        for (AdmittedBatch& batch : arrived) {
            const auto watermark = store().watermark(batch.key.target, batch.key.session);
            if (watermark.ok() && batch.key.seq == *watermark) {
                batch.key.seq.value += kOtherSeq;
                batch.record.seq = batch.key.seq;
            }
        }
        return store().put(partition, arrived);
    }

private:
    static constexpr std::uint64_t kOtherSeq = 1U << 20U;
};

}  // namespace

std::unique_ptr<Engine> break_engine(std::unique_ptr<Engine> engine, FaultPlan::Breakage breakage) {
    switch (breakage) {
        case FaultPlan::Breakage::kAckBeforeSync: return std::make_unique<AckBeforeSync>(std::move(engine));
        case FaultPlan::Breakage::kWatermarkBeforeRows: return std::make_unique<WatermarkBeforeRows>(std::move(engine));
        case FaultPlan::Breakage::kCompactDropsBlock: return std::make_unique<CompactDropsBlock>(std::move(engine));
        case FaultPlan::Breakage::kKeyWithoutSeq:
        case FaultPlan::Breakage::kRepeatAtWatermark:
        case FaultPlan::Breakage::kNone: break;
    }
    return engine;
}

std::unique_ptr<Store> break_store(std::unique_ptr<Store> store, FaultPlan::Breakage breakage) {
    switch (breakage) {
        case FaultPlan::Breakage::kKeyWithoutSeq: return std::make_unique<KeyWithoutSeq>(std::move(store));
        case FaultPlan::Breakage::kRepeatAtWatermark: return std::make_unique<RepeatAtWatermark>(std::move(store));
        default: return store;
    }
}

}  // namespace perfleet
