#include "storage/engine/rados/rados_writer.h"

#include "storage/engine/rados/lease.h"
#include "storage/engine/rados/segment_bytes.h"

namespace perfleet {

ShardLeases::News RadosWriter::take_news() {
    News news;
    const std::lock_guard lock{writing_};
    Membership::News theirs = membership_ != nullptr ? membership_->take_news() : Membership::News{};
    news.lost = std::exchange(lost_, {});
    for (const std::uint16_t shard : theirs.lost) {
        if (directories_[shard]) {
            let_go(shard);
            news.lost.push_back(shard);
        }
        membership_->let_go(shard);
    }
    for (auto& [shard, directory] : theirs.taken) {
        if (std::find(theirs.lost.begin(), theirs.lost.end(), shard) == theirs.lost.end()) {
            let_go(shard);
            adopt(shard, std::move(directory));
            news.taken.push_back(shard);
        }
    }
    news.surplus = std::move(theirs.surplus);
    return news;
}

// Forgets the shard; unflushed compaction is undone.
void RadosWriter::let_go(std::size_t number) {
    under_way_[number].reset();
    const std::lock_guard lock{mutex_};
    std::erase_if(domains_, [&](const auto& one) {
        if (directory_of(one.first) != number) {
            return false;
        }
        for (const auto& segment : one.second.segments) {
            heads_.erase(segment->object);
        }
        return true;
    });
    std::erase_if(pending_, [&](const Domain& domain) { return directory_of(domain) == number; });
    pending_size_bytes_ = pending_.empty() ? 0 : pending_size_bytes_;
    directories_[number].reset();
    ++shard_changes_;
    doubtful_.erase(number);
}

// After a refused change or an unknown outcome, only the state in RADOS counts.
Error RadosWriter::fail(std::size_t directory, Error error) {
    if (error.code == ErrorCode::kConflict || error.code == ErrorCode::kNotFound) {
        error.code = ErrorCode::kUnavailable;
        const auto bytes = pool().head(directory_object(directory));
        const auto now = bytes.ok() && bytes->has_value() ? decode_head_untrusted(**bytes) : std::nullopt;
        if (now && now->lease > directories_[directory]->head.lease) {
            is_over_ = !is_shared_;
            error = is_over_
                        ? Error{ErrorCode::kConflict, pool().where() + ": another gateway has taken the store over"}
                        : Error{ErrorCode::kUnavailable, pool().where() + ": another gateway has taken shard " +
                                                             std::to_string(directory) + " over"};
        }
    }
    doubtful_.insert(directory);
    failure_ = error;
    return error;
}

Result<bool> RadosWriter::recover(GoOn) {
    const std::lock_guard lock{writing_};
    if (!failure_ || is_over_) {
        return failure_ ? Result<bool>{*failure_} : false;
    }
    for (std::size_t directory = 0; directory < under_way_.size(); ++directory) {
        (void)await_write(directory);
    }
    const std::set<std::size_t> doubtful = doubtful_;
    for (const std::size_t number : doubtful) {
        auto fenced = fence_directory(pool(), number, directories_[number]->head.lease);
        if (!fenced.ok() && fenced.error().code != ErrorCode::kBusy) {
            failure_ = fenced.error();
            return *failure_;
        }
        if (!fenced.ok() && !is_shared_) {
            is_over_ = true;
            failure_ = Error{ErrorCode::kConflict, pool().where() + ": another gateway has taken the store over"};
            return *failure_;
        }
        let_go(number);
        if (fenced.ok()) {
            adopt(number, std::move(*fenced));
        } else {
            lost_.push_back(static_cast<std::uint16_t>(number));
            membership_->let_go(static_cast<std::uint16_t>(number));
        }
    }
    {
        const std::lock_guard state_lock{mutex_};
        for (const Domain& domain : pending_) {
            DomainState& state = domains_[domain];
            state.index = nullptr;
            state.is_pending = false;
            ++state.generation;
        }
    }
    pending_.clear();
    pending_size_bytes_ = 0;
    ++era_;
    failure_.reset();
    return true;
}

Result<Done> RadosWriter::change_directory(std::size_t directory, std::map<std::string, std::string> entries,
                                           std::vector<std::string> removed) {
    PERFLEET_TRY(await_write(directory));
    auto known = PERFLEET_TRY(held(directory));
    RadosHead head = known->head;
    ++head.write_count;
    RadosChange change{known->head_bytes, encode_head(head), 0, {}, std::move(entries), std::move(removed)};
    if (auto changed = pool().change(directory_object(directory), change); !changed.ok()) {
        return fail(directory, changed.error());
    }
    known->head = head;
    known->head_bytes = std::move(change.head);
    return Done{};
}

}  // namespace perfleet
