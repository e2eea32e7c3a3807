#include "storage/engine/rados/rados_writer.h"

#include "storage/engine/rados/rados_limits.h"

namespace perfleet {

// Keeps changes in memory until the flush, which writes the whole domain to new segments.
Result<Done> RadosWriter::write_unlogged(const Domain& domain, Guard guard, const Changes& changes) {
    bool must_flush = false;
    {
        const std::lock_guard lock{writing_};
        PERFLEET_TRY(check(domain, guard));
        // If a crash undoes one unlogged write, it must undo all later ones, too.
        must_flush = pending_size_bytes_ > limits::kRadosPendingSizeBytesMax ||
                     (!pending_.empty() && pending_.back() != domain &&
                      std::find(pending_.begin(), pending_.end(), domain) != pending_.end());
    }
    if (must_flush) {
        PERFLEET_TRY(flush_unlogged());
    }
    const std::lock_guard lock{writing_};
    PERFLEET_TRY(check(domain, guard));
    auto index = index_of(domain);  // loads it if necessary
    if (!index.ok()) {
        return index.error();
    }
    index->reset();
    const std::lock_guard state_lock{mutex_};
    DomainState& state = domains_[domain];
    if (state.index == nullptr) {
        state.index = std::make_shared<DomainIndex>();
    }
    DomainIndex& own = own_index(state);
    for (const std::string& key : changes.deletes) {
        own.erase(key);
    }
    for (const Changes::Put& put : changes.puts) {
        own.insert_or_assign(put.key, IndexValue{std::make_shared<const std::string>(put.value), nullptr, 0, 0});
        pending_size_bytes_ += put.value.size();
    }
    ++state.generation;
    state.is_pending = true;
    if (std::find(pending_.begin(), pending_.end(), domain) == pending_.end()) {
        pending_.push_back(domain);
    }
    return Done{};
}

Result<Done> RadosWriter::flush_unlogged() {
    for (;;) {
        Domain domain;
        {
            const std::lock_guard lock{writing_};
            if (failure_) {
                return *failure_;
            }
            if (pending_.empty()) {
                break;
            }
            domain = pending_.front();
        }
        PERFLEET_TRY(compact(domain));
    }
    return remove_old();
}

Result<Done> RadosWriter::reclaim(const KeyRange& range, std::atomic<bool>* is_stopping) {
    for (const Domain& domain : domains_in(range)) {
        if (is_stopping != nullptr && *is_stopping) {
            break;
        }
        if (auto compacted = compact(domain); !compacted.ok() && compacted.error().code != ErrorCode::kFull) {
            return compacted;  // a full cluster: the space is given back later
        }
    }
    return Done{};
}

// Writes the domain's present contents to new segments, while the writer continues in a segment after them.
Result<Done> RadosWriter::compact(const Domain& domain) {
    const std::lock_guard one{compacting_one_};
    std::shared_ptr<const DomainIndex> snapshot;
    SegmentList before;
    std::uint64_t era = 0;
    {
        const std::lock_guard lock{writing_};
        if (failure_) {
            return *failure_;
        }
        PERFLEET_TRY(await_write(directory_of(domain)));
        snapshot = PERFLEET_TRY(index_of(domain));
        era = era_;
        const std::lock_guard state_lock{mutex_};
        const auto known = domains_.find(domain);
        std::erase(pending_, domain);
        pending_size_bytes_ = pending_.empty() ? 0 : pending_size_bytes_;
        if (known == domains_.end()) {
            return Done{};
        }
        before = known->second.segments;
        compacting_ = domain;
        compacting_order_ = before.empty() ? 0 : before.back()->order;
    }
    auto rewritten = rewrite(domain, before, era, snapshot);
    const std::lock_guard lock{writing_};
    compacting_.reset();
    const std::lock_guard state_lock{mutex_};
    if (const auto known = domains_.find(domain);
        !rewritten.ok() && era == era_ && known != domains_.end() && known->second.is_pending) {
        pending_.insert(pending_.begin(), domain);
    }
    return rewritten;
}

Result<Done> RadosWriter::rewrite(const Domain& domain, const SegmentList& before, std::uint64_t era,
                                  const std::shared_ptr<const DomainIndex>& snapshot) {
    const std::size_t directory = directory_of(domain);
    std::uint64_t lease = 0;
    {
        const std::lock_guard lock{writing_};
        auto known = PERFLEET_TRY(held(directory));
        lease = known->head.lease;
    }
    SegmentMaker maker{
        pool(), lease, before.empty() ? 0 : before.back()->order, [&]() -> Result<std::string> {
            const std::lock_guard lock{writing_};
            auto known = PERFLEET_TRY(held(directory));
            std::string object = new_object(domain);
            const std::uint64_t since_s = utc_now_s();
            auto entered = change_directory(directory, {{unused_key(object), std::to_string(since_s)}}, {});
            known->unused.emplace(object, since_s);
            return entered.ok() ? Result<std::string>{std::move(object)} : entered.error();
        }};
    const auto at = index_cursor({snapshot}, everything());
    auto is_any = at->next();
    for (; is_any.ok() && *is_any; is_any = at->next()) {
        PERFLEET_TRY(maker.add(at->key(), at->value()));
    }
    if (!is_any.ok()) {
        return is_any.error();
    }
    auto finished = maker.finish();
    return finished.ok() ? switch_over(domain, before, era, snapshot, maker) : std::move(finished);
}

Result<Done> RadosWriter::switch_over(const Domain& domain, const SegmentList& before, std::uint64_t era,
                                      const std::shared_ptr<const DomainIndex>& snapshot, const SegmentMaker& made) {
    const std::lock_guard lock{writing_};
    const std::size_t directory = directory_of(domain);
    {
        const std::lock_guard state_lock{mutex_};
        const auto known = domains_.find(domain);
        if (era != era_ || known == domains_.end() || known->second.segments.size() < before.size() ||
            !std::equal(before.begin(), before.end(), known->second.segments.begin())) {
            return Done{};  // the domain was dropped or read again meanwhile; the new segments stay unused
        }
    }
    std::map<std::string, std::string> entries;
    std::vector<std::string> removed;
    const std::uint64_t since_s = utc_now_s();
    for (const auto& segment : before) {
        removed.push_back(segment_key(domain, *segment));
        entries.emplace(unused_key(segment->object), std::to_string(since_s));
    }
    for (const auto& segment : made.segments()) {
        removed.push_back(unused_key(segment->object));
        entries.emplace(segment_key(domain, *segment), encode_segment(*segment));
    }
    PERFLEET_TRY(change_directory(directory, std::move(entries), std::move(removed)));
    for (const auto& segment : before) {
        directories_[directory]->unused.emplace(segment->object, since_s);
        heads_.erase(segment->object);
    }
    for (const auto& segment : made.segments()) {
        directories_[directory]->unused.erase(segment->object);
    }
    const std::lock_guard state_lock{mutex_};
    DomainState& state = domains_[domain];
    SegmentList segments = made.segments();
    segments.insert(segments.end(), state.segments.begin() + static_cast<std::ptrdiff_t>(before.size()),
                    state.segments.end());
    state.segments = std::move(segments);
    ++state.generation;
    state.is_pending = std::find(pending_.begin(), pending_.end(), domain) != pending_.end();
    if (state.segments.empty()) {
        domains_.erase(domain);
    } else if (state.index == snapshot) {
        state.index = std::make_shared<DomainIndex>(made.values());
    } else if (state.index != nullptr) {
        DomainIndex& index = own_index(state);
        for (const auto& [key, value] : *snapshot) {
            if (const auto at = index.find(key); at != index.end() && at->second == value) {
                at->second = made.values().at(key);
            }
        }
    }
    return Done{};
}

Result<Done> RadosWriter::erase(const KeyRange& range, std::atomic<bool>* is_stopping) {
    std::map<std::size_t, std::vector<Domain>> by_directory;
    for (const Domain& domain : domains_in(range)) {
        by_directory[directory_of(domain)].push_back(domain);
    }
    for (const auto& [directory, domains] : by_directory) {
        {
            const std::lock_guard lock{writing_};
            if (failure_) {
                return *failure_;
            }
            std::map<std::string, std::string> entries;
            std::vector<std::string> removed;
            std::vector<std::string> objects;
            {
                const std::lock_guard state_lock{mutex_};
                for (const Domain& domain : domains) {
                    for (const auto& segment : domains_[domain].segments) {
                        removed.push_back(segment_key(domain, *segment));
                        entries.emplace(unused_key(segment->object), "0");
                        objects.push_back(segment->object);
                    }
                }
            }
            PERFLEET_TRY(change_directory(directory, std::move(entries), std::move(removed)));
            for (const std::string& object : objects) {
                directories_[directory]->unused.emplace(object, 0);
                heads_.erase(object);
            }
            const std::lock_guard state_lock{mutex_};
            for (const Domain& domain : domains) {
                domains_.erase(domain);
                std::erase(pending_, domain);
            }
        }
        PERFLEET_TRY(remove_unused(directory, 0, is_stopping));
    }
    return Done{};
}

Result<Done> RadosWriter::remove_old() {
    const std::uint64_t now = utc_now_s();
    for (std::size_t directory = 0; directory < shards().value; ++directory) {
        PERFLEET_TRY(remove_unused(directory, now - limits::kRadosUnusedLifetimeS, nullptr));
    }
    return Done{};
}

Result<Done> RadosWriter::remove_unused(std::size_t directory, std::uint64_t until_s, std::atomic<bool>* is_stopping) {
    std::vector<std::string> objects;
    {
        const std::lock_guard lock{writing_};
        auto known = held(directory);
        if (!known.ok()) {
            return Done{};
        }
        for (const auto& [object, since_s] : (*known)->unused) {
            if (since_s <= until_s) {
                objects.push_back(object);
            }
        }
    }
    std::vector<std::string> removed;
    for (const std::string& object : objects) {
        if (is_stopping != nullptr && *is_stopping) {
            break;
        }
        PERFLEET_TRY(pool().remove(object));
        removed.push_back(object);
    }
    if (removed.empty()) {
        return Done{};
    }
    const std::lock_guard lock{writing_};
    auto known = held(directory);
    if (failure_ || !known.ok()) {
        return Done{};  // still listed as unused: tried again later
    }
    std::vector<std::string> keys;
    for (const std::string& object : removed) {
        keys.push_back(unused_key(object));
        (*known)->unused.erase(object);
    }
    return change_directory(directory, {}, std::move(keys));
}

}  // namespace perfleet
