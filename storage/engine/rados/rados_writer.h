// The writer of a store on RADOS: one class with one lock, in three files. rados_writer.cpp makes changes;
// rados_shards.cpp has the held shards, their directories and recovery from failed changes; rados_compaction.cpp
// rewrites domains to new segments and removes old ones.
//
// Threads: any. Errors as those of Engine.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/engine/rados/common.h"
#include "storage/engine/rados/membership.h"
#include "storage/engine/rados/rados_reads.h"
#include "storage/engine/rados/segment_writer.h"

namespace perfleet {

class RadosWriter final : public RadosReads, private ShardLeases {
public:
    RadosWriter(std::unique_ptr<RadosPool> pool, bool is_shared) : RadosReads{std::move(pool)}, is_shared_{is_shared} {}

    // Call it first. A writer that shares the store has no shard before join().
    [[nodiscard]] Result<Done> begin(ShardCount of_new_store) {
        if (!PERFLEET_TRY(take_over_common())) {
            PERFLEET_TRY(begin_common(pool(), of_new_store));
            PERFLEET_TRY(take_over_common());
        }
        directories_.resize(shards().value);
        under_way_.resize(shards().value);
        if (is_shared_) {
            return Done{};
        }
        PERFLEET_TRY(RadosWriter::join({}));
        (void)take_news();
        return remove_old();
    }

    [[nodiscard]] ShardLeases* leases() override { return is_shared_ ? this : nullptr; }
    [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override;
    [[nodiscard]] Result<Done> refresh() override { return Done{}; }
    [[nodiscard]] Result<bool> recover(GoOn purpose) override;
    [[nodiscard]] Result<Done> write(const Domain& domain, Guard guard, const Changes& changes) override;
    [[nodiscard]] Result<Done> write_unlogged(const Domain& domain, Guard guard, const Changes& changes) override;
    [[nodiscard]] Result<Done> flush_unlogged() override;
    [[nodiscard]] Result<Done> reclaim(const KeyRange& range, std::atomic<bool>* is_stopping) override;
    // Waits until each write is on the disks of all copies.
    [[nodiscard]] Result<Done> sync() override {
        const std::lock_guard lock{writing_};
        for (std::size_t directory = 0; !failure_ && directory < under_way_.size(); ++directory) {
            PERFLEET_TRY(await_write(directory));
        }
        return failure_ ? Result<Done>{*failure_} : Done{};
    }
    [[nodiscard]] Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) override;
    // Removes objects that compaction has replaced and no reader is expected to visit any more.
    [[nodiscard]] Result<Done> remove_old();

private:
    // No other process changes the segments that this writer has listed.
    [[nodiscard]] Result<bool> reload(const Domain&) const override { return false; }

    // -- shards
    [[nodiscard]] Result<Done> join(const GatewayAddress& own) override {
        membership_ = PERFLEET_TRY(Membership::join(pool(), shards(), own, !is_shared_));
        return Done{};
    }
    [[nodiscard]] News take_news() override;
    void give_up(std::uint16_t shard) override {
        const std::lock_guard lock{writing_};
        let_go(shard);
        membership_->let_go(shard);
    }
    [[nodiscard]] bool is_held(std::uint16_t shard) const override {
        const std::lock_guard lock{writing_};
        return shard < directories_.size() && directories_[shard].has_value();
    }
    [[nodiscard]] std::uint16_t held_count() const override {
        const std::lock_guard lock{writing_};
        return static_cast<std::uint16_t>(
            std::count_if(directories_.begin(), directories_.end(), [](const auto& one) { return one.has_value(); }));
    }
    [[nodiscard]] std::optional<GatewayAddress> holder_of(std::uint16_t shard) const override {
        return membership_ != nullptr ? membership_->holder_of(shard) : std::nullopt;
    }
    [[nodiscard]] std::vector<Message> take_requests() override {
        return membership_ != nullptr ? membership_->take_requests() : std::vector<Message>{};
    }
    void answer(Message answer) override { membership_->answer(std::move(answer)); }
    [[nodiscard]] std::uint64_t change_count() const override {
        const std::lock_guard lock{writing_};
        return shard_changes_;
    }
    void publish_sizes(const ClassSizes& held, std::uint64_t as_of) override {
        const std::lock_guard lock{writing_};
        if (membership_ != nullptr && as_of == shard_changes_) {
            const auto count = std::count_if(directories_.begin(), directories_.end(),
                                             [](const auto& one) { return one.has_value(); });
            membership_->publish_sizes(held, static_cast<std::size_t>(count));
        }
    }
    [[nodiscard]] std::optional<ClassSizes> sizes_of_others() const override {
        return membership_ != nullptr ? membership_->sizes_of_others() : std::nullopt;
    }

    // The lock is held for all of these.
    void adopt(std::size_t number, Directory directory) {
        take_over(number, std::exchange(directory.domains, {}), true);
        directories_[number] = std::move(directory);
        ++shard_changes_;
    }
    void let_go(std::size_t number);
    [[nodiscard]] Result<Directory*> held(std::size_t number) {
        if (number < directories_.size() && directories_[number]) {
            return &*directories_[number];
        }
        return Error{ErrorCode::kUnavailable,
                     pool().where() + ": shard " + std::to_string(number) + " isn't this gateway's"};
    }
    [[nodiscard]] Result<Done> check(const Domain& domain, Guard guard) {
        if (failure_) {
            return *failure_;
        }
        auto directory = PERFLEET_TRY(held(directory_of(domain)));
        const std::uint64_t lease = directory->head.lease;
        return guard == 0 || guard == lease
                   ? Result<Done>{Done{}}
                   : Error{ErrorCode::kConflict, pool().where() + ": is held under lease " + std::to_string(lease) +
                                                     ", not " + std::to_string(guard)};
    }
    [[nodiscard]] Result<Done> write_common(const Changes& changes);
    Error fail(std::size_t directory, Error error);
    [[nodiscard]] Result<Done> await_write(std::size_t directory) {
        const auto write = std::move(under_way_[directory]);
        auto written = write != nullptr ? write->await() : Done{};
        return written.ok() ? Result<Done>{Done{}} : fail(directory, written.error());
    }
    [[nodiscard]] Result<Done> change_directory(std::size_t directory, std::map<std::string, std::string> entries,
                                                std::vector<std::string> removed);
    [[nodiscard]] Result<std::shared_ptr<const Segment>> open_segment(const Domain& domain, std::uint64_t body_size);
    [[nodiscard]] std::string new_object(const Domain& domain) {
        const std::size_t directory = directory_of(domain);
        return fmt::format("segment.{:02x}.{:08x}.{:08x}", directory, directories_[directory]->head.lease, ++objects_);
    }
    [[nodiscard]] DomainIndex& own_index(DomainState& state);
    [[nodiscard]] std::set<std::string> present(const Domain& domain, const Changes& changes) const;

    // -- compaction and removal: without the lock
    [[nodiscard]] Result<Done> compact(const Domain& domain);
    [[nodiscard]] Result<Done> rewrite(const Domain& domain, const SegmentList& before, std::uint64_t era,
                                       const std::shared_ptr<const DomainIndex>& snapshot);
    [[nodiscard]] Result<Done> switch_over(const Domain& domain, const SegmentList& before, std::uint64_t era,
                                           const std::shared_ptr<const DomainIndex>& snapshot,
                                           const SegmentMaker& made);
    [[nodiscard]] Result<Done> remove_unused(std::size_t directory, std::uint64_t until_s,
                                             std::atomic<bool>* is_stopping);

    std::mutex compacting_one_;  // taken before the lock
    mutable std::mutex writing_;
    const bool is_shared_;
    bool is_over_ = false;  // another process has taken a shard, though this one doesn't share the store
    std::optional<Error> failure_;
    std::set<std::size_t> doubtful_;  // directories that may have changed when something failed
    // Heads and unused objects of the held directories; their domains are in RadosReads.
    std::vector<std::optional<Directory>> directories_;   // of each shard
    std::vector<std::unique_ptr<RadosWrite>> under_way_;  // of each shard: one at a time, to keep their order
    std::vector<std::uint16_t> lost_;                     // since the last take_news()
    std::map<std::string, RadosHead> heads_;              // of last segments that this has read or written
    std::uint64_t objects_ = 0;
    std::uint64_t shard_changes_ = 0;
    std::uint64_t era_ = 0;        // changes with each recover()
    std::vector<Domain> pending_;  // in the order of their first write
    std::optional<Domain> compacting_;
    std::uint32_t compacting_order_ = 0;  // nothing more goes into its segments up to this one
    std::uint64_t pending_size_bytes_ = 0;
    std::unique_ptr<Membership> membership_;  // last: it ends first
};

}  // namespace perfleet
