#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "storage/engine/rados/common.h"
#include "storage/engine/rados/lease.h"
#include "storage/engine/rados/membership.h"
#include "storage/engine/rados/rados_engine.h"
#include "storage/engine/rados/rados_limits.h"
#include "storage/engine/rados/rados_reads.h"
#include "storage/engine/rados/segment_bytes.h"
#include "storage/engine/rados/segment_writer.h"
#include "storage/key/key_bytes.h"

namespace perfleet {
namespace {

class RadosWriter final : public RadosReads, private ShardLeases {
public:
    RadosWriter(std::unique_ptr<RadosPool> pool, bool is_shared) : RadosReads{std::move(pool)}, is_shared_{is_shared} {}

    // Before all others. Whoever shares the store has no shard before join().
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
    // Then each write is on all copies' disks.
    [[nodiscard]] Result<Done> sync() override {
        const std::lock_guard lock{writing_};
        for (std::size_t directory = 0; !failure_ && directory < under_way_.size(); ++directory) {
            PERFLEET_TRY(await_write(directory));
        }
        return failure_ ? Result<Done>{*failure_} : Done{};
    }
    [[nodiscard]] Result<Done> erase(const KeyRange& range, std::atomic<bool>* is_stopping) override;
    // What compaction has left and no reader is expected to visit any more.
    [[nodiscard]] Result<Done> remove_old();

private:
    // Nobody but this writer changes what is listed.
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
    bool is_over_ = false;  // it doesn't share the store, and somebody has taken a shard
    std::optional<Error> failure_;
    std::set<std::size_t> doubtful_;  // directories in which something may be otherwise since it failed
    // Heads and unused objects of those that are held; domains are in the table.
    std::vector<std::optional<Directory>> directories_;   // of each shard
    std::vector<std::unique_ptr<RadosWrite>> under_way_;  // of each shard: one at a time, so that each is there after
                                                          // all before it
    std::vector<std::uint16_t> lost_;                     // since the last news
    std::map<std::string, RadosHead> heads_;              // of last segments that this has read or written
    std::uint64_t objects_ = 0;
    std::uint64_t shard_changes_ = 0;
    std::uint64_t era_ = 0;        // another after each recover()
    std::vector<Domain> pending_;  // in the order of their first write
    std::optional<Domain> compacting_;
    std::uint32_t compacting_order_ = 0;  // nothing more goes into its segments up to this one
    std::uint64_t pending_size_bytes_ = 0;
    std::unique_ptr<Membership> membership_;  // last: it ends first
};

Result<std::optional<std::string>> RadosWriter::get(std::string_view key) const {
    auto value = RadosReads::get(key);
    const auto domain = domain_of_key(key, shards());
    if (!value.ok() || value->has_value() || !domain.ok() || domain->type != Domain::Type::kImage) {
        return value;
    }
    auto image = find_image(pool(), key);  // another gateway may have put it
    if (!image.ok() || !image->has_value()) {
        return image.ok() ? std::move(value) : image.error();
    }
    const auto at =
        index_cursor({std::make_shared<const DomainIndex>(DomainIndex{{std::string{key}, **image}})}, everything());
    auto is_there = at->next();
    return is_there.ok() ? Result<std::optional<std::string>>{std::optional{std::string{at->value()}}}
                         : is_there.error();
}

Result<Done> RadosWriter::write_common(const Changes& changes) {
    DomainIndex put;
    for (const Changes::Put& one : changes.puts) {
        auto value = PERFLEET_TRY(put_common(pool(), one.key, one.value));
        put.emplace(one.key, std::move(value));
    }
    for (const std::string& key : changes.deletes) {
        PERFLEET_TRY(remove_common(pool(), key));
    }
    const std::lock_guard lock{mutex_};
    auto common = std::make_shared<DomainIndex>(*common_);
    for (const std::string& key : changes.deletes) {
        common->erase(key);
    }
    common->merge(put);
    common_ = std::move(common);
    return Done{};
}

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

// What was compacted there and isn't flushed is undone.
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

// Once a change was refused or its outcome isn't known, only what RADOS has counts.
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

Result<std::shared_ptr<const Segment>> RadosWriter::open_segment(const Domain& domain, std::uint64_t body_size) {
    std::shared_ptr<const Segment> last;
    {
        const std::lock_guard lock{mutex_};
        const auto known = domains_.find(domain);
        last = known != domains_.end() && !known->second.segments.empty() ? known->second.segments.back() : nullptr;
    }
    const bool is_compacting = compacting_ == domain && last != nullptr && last->order <= compacting_order_;
    if (last != nullptr && !last->is_sealed && !is_compacting) {
        auto head = heads_.find(last->object);
        if (head == heads_.end()) {
            auto read = pool().head(last->object);
            const auto found = read.ok() && read->has_value() ? decode_head_untrusted(**read) : std::nullopt;
            if (!read.ok() || (read->has_value() && !found)) {
                return fail(directory_of(domain),
                            read.ok() ? Error{ErrorCode::kCorrupt, "the head of " + last->object + " is damaged"}
                                      : read.error());
            }
            head = heads_.emplace(last->object, found.value_or(RadosHead{})).first;
        }
        if (head->second.key_count < limits::kRadosSegmentKeysMax &&
            (head->second.size_bytes == 0 ||
             head->second.size_bytes + body_size <= limits::kRadosSegmentSizeBytesMax)) {
            return last;
        }
        heads_.erase(head);
    }
    auto segment =
        std::make_shared<const Segment>(Segment{new_object(domain), last != nullptr ? last->order + 1 : 1, 0, false});
    if (auto listed =
            change_directory(directory_of(domain), {{segment_key(domain, *segment), encode_segment(*segment)}}, {});
        !listed.ok()) {
        return listed.error();
    }
    heads_.emplace(segment->object, RadosHead{});
    const std::lock_guard lock{mutex_};
    DomainState& state = domains_[domain];
    if (state.segments.empty()) {
        state.index = std::make_shared<DomainIndex>();
    }
    state.segments.push_back(segment);
    ++state.generation;
    return std::shared_ptr<const Segment>{std::move(segment)};
}

// A cursor keeps the one that it began with.
DomainIndex& RadosWriter::own_index(DomainState& state) {
    if (state.index.use_count() != 1) {
        state.index = std::make_shared<DomainIndex>(*state.index);
    }
    return *state.index;
}

// Of the keys that are put, those that the index has already.
std::set<std::string> RadosWriter::present(const Domain& domain, const Changes& changes) const {
    std::set<std::string> keys;
    const std::lock_guard lock{mutex_};
    const auto known = domains_.find(domain);
    for (const Changes::Put& put : changes.puts) {
        if (known != domains_.end() && known->second.index != nullptr && known->second.index->contains(put.key)) {
            keys.insert(put.key);
        }
    }
    return keys;
}

Result<Done> RadosWriter::write(const Domain& domain, Guard guard, const Changes& changes) {
    const std::uint64_t body_size = body_size_of(changes);
    if (body_size > limits::kRadosChangeSizeBytesMax) {
        return Error{ErrorCode::kTooLarge, pool().where() + ": " + std::to_string(body_size) +
                                               " bytes in one change; an object takes " +
                                               std::to_string(limits::kRadosChangeSizeBytesMax)};
    }
    if (is_common(domain)) {
        return write_common(changes);
    }
    const std::lock_guard lock{writing_};
    PERFLEET_TRY(check(domain, guard));
    PERFLEET_TRY(await_write(directory_of(domain)));
    auto segment = PERFLEET_TRY(open_segment(domain, body_size));
    bool is_only = false;
    {
        const std::lock_guard state_lock{mutex_};
        is_only = domains_[domain].segments.size() == 1 && compacting_ != domain;
    }
    RadosHead& head = heads_[segment->object];
    SegmentChange change{segment, head, directories_[directory_of(domain)]->head.lease};
    for (const std::string& key : changes.deletes) {
        change.remove(key, is_only);
    }
    const std::set<std::string> known = present(domain, changes);
    for (const Changes::Put& put : changes.puts) {
        change.put(put.key, put.value, !known.contains(put.key));
    }
    under_way_[directory_of(domain)] = change.begin_commit(pool(), changes.is_for_drop);
    head = change.head();
    const std::lock_guard state_lock{mutex_};
    DomainState& state = domains_[domain];
    ++state.generation;
    if (state.index != nullptr) {
        DomainIndex& index = own_index(state);
        for (const std::string& key : changes.deletes) {
            index.erase(key);
        }
        for (const auto& [key, value] : change.values()) {
            index.insert_or_assign(key, value);
        }
        state.last_use = next_use();
        make_room();
    }
    return Done{};
}

// Kept here until it is flushed: then the whole domain is written to new segments.
Result<Done> RadosWriter::write_unlogged(const Domain& domain, Guard guard, const Changes& changes) {
    bool must_flush = false;
    {
        const std::lock_guard lock{writing_};
        PERFLEET_TRY(check(domain, guard));
        // Whatever is undone by a crash, everything since is undone, too.
        must_flush = pending_size_bytes_ > limits::kRadosPendingSizeBytesMax ||
                     (!pending_.empty() && pending_.back() != domain &&
                      std::find(pending_.begin(), pending_.end(), domain) != pending_.end());
    }
    if (must_flush) {
        PERFLEET_TRY(flush_unlogged());
    }
    const std::lock_guard lock{writing_};
    PERFLEET_TRY(check(domain, guard));
    auto index = index_of(domain);  // read, if it wasn't
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
            return compacted;  // on a full cluster that space comes later
        }
    }
    return Done{};
}

// Writes what the domain has now to new segments, beside the writer, who goes on in one behind them.
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
            return Done{};  // dropped, or read again, meanwhile: what was made stays unused
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
        return Done{};  // entered as unused still: it is tried again
    }
    std::vector<std::string> keys;
    for (const std::string& object : removed) {
        keys.push_back(unused_key(object));
        (*known)->unused.erase(object);
    }
    return change_directory(directory, {}, std::move(keys));
}

}  // namespace

Result<std::unique_ptr<Engine>> open_rados_writer_engine(const RadosPlace& place, bool is_shared,
                                                         std::optional<ShardCount> shards,
                                                         const std::atomic<bool>* is_stopping) {
    auto pool = PERFLEET_TRY(RadosPool::connect(place, is_stopping));
    auto writer = std::make_unique<RadosWriter>(std::move(pool), is_shared);
    PERFLEET_TRY(writer->begin(shards.value_or(ShardCount{})));
    return Result<std::unique_ptr<Engine>>{std::move(writer)};
}

}  // namespace perfleet
