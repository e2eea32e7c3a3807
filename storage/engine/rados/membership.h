// This process's membership among the writers of a store: writes its entry every two seconds, reads the others' each
// second, and takes its share of the shards, on threads of its own.
//
// Threads: take_news(), let_go(), take_requests() and answer() by one thread at a time; the rest by any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "storage/engine/rados/directory.h"
#include "storage/engine/rados/gateway_table.h"
#include "storage/engine/rados/shard_plan.h"

namespace perfleet {

class Membership : NonCopyable {
public:
    // Takes all shards at once if no other process lives. `is_alone`: takes and keeps all, or fails (kBusy) while
    // another process lives. Waits only for processes that may be dead. `pool` is borrowed. Errors: kBusy, those of the
    // pool.
    [[nodiscard]] static Result<std::unique_ptr<Membership>> join(RadosPool& pool, ShardCount shards,
                                                                  const GatewayAddress& own, bool is_alone);
    // Frees its shards.
    ~Membership();

    struct News {
        std::vector<std::pair<std::uint16_t, Directory>> taken;
        std::vector<std::uint16_t> lost;     // taken by another process
        std::vector<std::uint16_t> surplus;  // another process has too few
    };
    [[nodiscard]] News take_news();
    void let_go(std::uint16_t shard);

    [[nodiscard]] std::optional<GatewayAddress> holder_of(std::uint16_t shard) const;

    // As ShardLeases says.
    [[nodiscard]] std::vector<ShardLeases::Message> take_requests();
    void answer(ShardLeases::Message answer);
    void publish_sizes(const ShardLeases::ClassSizes& held, std::size_t shard_count);  // of `shard_count` shards
    [[nodiscard]] std::optional<ShardLeases::ClassSizes> sizes_of_others() const;

private:
    Membership(RadosPool& pool, ShardCount shards, const GatewayAddress& own, bool is_alone);
    [[nodiscard]] Result<Done> begin();
    [[nodiscard]] Result<Done> await_end(std::vector<GatewayEntry> others);
    [[nodiscard]] Result<Done> take(std::uint16_t shard);
    [[nodiscard]] Result<Done> beat();
    [[nodiscard]] Result<Done> remove(const std::string& name);  // from the table
    void look();
    void collect_requests(const GatewayTable& table);  // the lock is held
    void run_beats();
    void run_takes();

    RadosPool& pool_;
    const ShardCount shards_;
    const bool is_alone_;
    mutable std::mutex mutex_;  // protects everything below
    std::condition_variable changed_;
    bool is_stopping_ = false;
    bool is_beat_due_ = false;
    GatewayEntry own_;  // with the shards that it holds
    GatewayBeats beats_;
    std::vector<GatewayEntry> others_;  // that live
    std::vector<std::uint16_t> to_take_;
    News news_;
    std::vector<ShardLeases::Message> requests_;  // for take_requests()
    std::set<std::string> taken_requests_;        // that may still be in the table
    GatewayTableChange due_;                      // written with the next beat
    std::uint64_t counted_look_ns_ = 0;
    std::thread beating_;
    std::thread taking_;
};

}  // namespace perfleet
