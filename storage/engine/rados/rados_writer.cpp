#include "storage/engine/rados/rados_writer.h"

#include "storage/engine/rados/rados_engine.h"
#include "storage/engine/rados/rados_limits.h"
#include "storage/engine/rados/segment_bytes.h"
#include "storage/key/key_bytes.h"

namespace perfleet {

Result<std::optional<std::string>> RadosWriter::get(std::string_view key) const {
    auto value = RadosReads::get(key);
    const auto domain = domain_of_key(key, shards());
    if (!value.ok() || value->has_value() || !domain.ok() || domain->type != Domain::Type::kImage) {
        return value;
    }
    auto image = find_image(pool(), key);  // another gateway may have stored it
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

// The index to be changed; copied first if a cursor still uses it.
DomainIndex& RadosWriter::own_index(DomainState& state) {
    if (state.index.use_count() != 1) {
        state.index = std::make_shared<DomainIndex>(*state.index);
    }
    return *state.index;
}

// The keys to be put that the index already has.
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

Result<std::unique_ptr<Engine>> open_rados_writer_engine(const RadosPlace& place, bool is_shared,
                                                         std::optional<ShardCount> shards,
                                                         const std::atomic<bool>* is_stopping) {
    auto pool = PERFLEET_TRY(RadosPool::connect(place, is_stopping));
    auto writer = std::make_unique<RadosWriter>(std::move(pool), is_shared);
    PERFLEET_TRY(writer->begin(shards.value_or(ShardCount{})));
    return Result<std::unique_ptr<Engine>>{std::move(writer)};
}

}  // namespace perfleet
