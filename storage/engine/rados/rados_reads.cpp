#include "storage/engine/rados/rados_reads.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "storage/engine/damaged_reads.h"
#include "storage/engine/rados/rados_limits.h"
#include "storage/engine/store_format.h"
#include "storage/key/key_bytes.h"

namespace perfleet {
namespace {

// Size of one fetch: small at first, since many visits stop at their first key.
constexpr std::uint64_t kFetchSizeBytesFirst = 64U << 10;
constexpr std::uint64_t kFetchSizeBytesMax = 4U << 20;
constexpr std::size_t kFetchValuesMax = 4'096;
constexpr std::uint64_t kGapSizeBytesMax = 16U << 10;  // a gap up to this is read with its neighbours, not skipped
constexpr int kLoadsMax = 4;  // of an index that is written meanwhile, before later writes are filtered out
constexpr int kReloadsMax = 8;
constexpr std::size_t kLookupSegmentsMax = 4;  // segments that are searched for one key before the index is loaded
constexpr std::size_t kTargetPrefixSize = 1 + sizeof(std::uint64_t);

KeyRange clip(const KeyRange& range, const KeyRange& to) {
    return {std::max(range.begin, to.begin), std::min(range.end, to.end)};
}

KeyRange tables(Table first, int end) {
    return {std::string(1, static_cast<char>(first)), std::string(1, static_cast<char>(end))};
}

const KeyRange& shard_tables() {
    static const KeyRange range = tables(Table::kSession, static_cast<int>(Table::kDropped) + 1);
    return range;
}
const KeyRange& note_table() {
    static const KeyRange range = tables(Table::kSessionNote, static_cast<int>(Table::kSessionNote) + 1);
    return range;
}

bool is_one_target(const KeyRange& range) {
    const std::string_view begin = range.begin;
    return begin.size() >= kTargetPrefixSize && begin.front() != static_cast<char>(Table::kDropped) &&
           range.end.starts_with(begin.substr(0, kTargetPrefixSize));
}

// The index value for an entry of this segment; nothing if the key was deleted.
std::optional<IndexValue> index_value_of(const std::optional<RadosEntry>& entry,
                                         const std::shared_ptr<const Segment>& segment) {
    if (entry && entry->type == RadosEntry::Type::kDeleted) {
        return std::nullopt;
    }
    if (entry && entry->type == RadosEntry::Type::kBody) {
        return IndexValue{nullptr, segment, entry->offset, entry->size_bytes};
    }
    return IndexValue{entry ? std::make_shared<const std::string>(entry->value) : nullptr, nullptr, 0, 0};
}

}  // namespace

Result<std::optional<std::string>> RadosReads::get(std::string_view key) const {
    auto domain = domain_of_key(key, shards_);
    if (!domain.ok()) {
        return std::optional<std::string>{};  // no such key was ever written
    }
    auto index = PERFLEET_TRY(index_with(*domain, key));
    std::string end{key};
    end.push_back('\0');
    const auto at = index_cursor({index}, {std::string{key}, std::move(end)});
    auto is_there = PERFLEET_TRY(at->next());
    return is_there ? std::optional{std::string{at->value()}} : std::nullopt;
}

// The index, or only its entry for this key. For an hour that is otherwise unread (is it compacted?) one entry costs an
// operation or two; the whole index may have a hundred thousand keys.
Result<std::shared_ptr<const DomainIndex>> RadosReads::index_with(const Domain& domain, std::string_view key) const {
    SegmentList segments;
    {
        const std::lock_guard lock{mutex_};
        const auto found = domains_.find(domain);
        if (domain.type == Domain::Type::kPartition && found != domains_.end() && found->second.index == nullptr) {
            segments = found->second.segments;
        }
    }
    if (segments.empty() || segments.size() > kLookupSegmentsMax) {
        return index_of(domain);
    }
    auto only = std::make_shared<DomainIndex>();
    for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
        auto bytes = pool_->index_value((*segment)->object, key);
        if (!bytes.ok()) {
            // The segment isn't written yet, or was compacted meanwhile.
            return bytes.error().code == ErrorCode::kNotFound
                       ? index_of(domain)
                       : Result<std::shared_ptr<const DomainIndex>>{bytes.error()};
        }
        if (bytes->has_value()) {
            if (auto value = index_value_of(decode_entry_untrusted(**bytes), *segment)) {
                only->emplace(key, std::move(*value));
            }
            break;
        }
    }
    return std::shared_ptr<const DomainIndex>{std::move(only)};
}

std::vector<Domain> RadosReads::domains_in(const KeyRange& range) const {
    std::vector<Domain> domains;
    const std::lock_guard lock{mutex_};
    for (const auto& [domain, state] : domains_) {
        const KeyRange keys =
            domain.type == Domain::Type::kPartition ? partition_range(domain.partition) : shard_tables();
        if (std::max(keys.begin, range.begin) < std::min(keys.end, range.end)) {
            domains.push_back(domain);
        }
    }
    return domains;
}

// Domains with interleaved keys are read together, each in its state when the cursor reached the group.
class RadosReads::Cursor final : public EngineCursor {
public:
    struct Group {
        KeyRange keys;
        std::vector<Domain> domains;
        Indexes indexes;  // already loaded
    };

    Cursor(const RadosReads& reads, std::vector<Group> groups) : reads_{reads}, groups_{std::move(groups)} {}

    [[nodiscard]] Result<bool> next() override {
        while (at_ == values_.size()) {
            if (!parts_.empty()) {
                fetch_more();
            } else if (auto is_any = next_group(); !is_any.ok() || !*is_any) {
                return is_any;
            }
        }
        const std::string& key = *keys_[at_];
        const IndexValue& value = *values_[at_];
        if (value.value != nullptr) {
            value_ = *value.value;
        } else if (fetched_.ok()) {
            value_ = (*fetched_)[at_];
        } else {  // alone, so that an unreadable value doesn't hide others
            alone_ = reads_.fetch({&value});
            if (!alone_.ok()) {
                return Error{alone_.error().code, alone_.error().message + ": " + describe_key(key)};
            }
            value_ = alone_->front();
        }
        key_ = key;
        ++at_;
        return true;
    }

    void seek(std::string_view first) override {
        key_.clear();
        const auto fetched = std::find_if(keys_.begin() + static_cast<std::ptrdiff_t>(at_), keys_.end(),
                                          [&](const std::string* key) { return *key >= first; });
        at_ = static_cast<std::size_t>(fetched - keys_.begin());
        for (Group& group : groups_) {
            group.keys.begin = std::min(std::max(group.keys.begin, std::string{first}), group.keys.end);
        }
        if (at_ == keys_.size()) {
            begin_parts();
            fetch_size_bytes_ = kFetchSizeBytesFirst;
        }
    }

private:
    using At = DomainIndex::const_iterator;

    [[nodiscard]] Result<bool> next_group() {
        if (next_group_ == groups_.size()) {
            return false;
        }
        Group& group = groups_[next_group_++];
        for (const Domain& domain : group.domains) {
            auto index = PERFLEET_TRY(reads_.index_of(domain));
            group.indexes.push_back(std::move(index));
        }
        keys_.clear();
        values_.clear();
        at_ = 0;
        indexes_ = std::move(group.indexes);
        begin_parts();
        return true;
    }

    // Begins the current group, if there is one.
    void begin_parts() {
        parts_.clear();
        for (const auto& index : indexes_) {
            const KeyRange& keys = groups_[next_group_ - 1].keys;
            const At begin = index->lower_bound(keys.begin);
            const At end = index->lower_bound(keys.end);
            if (begin != end) {
                parts_.emplace_back(begin, end);
            }
        }
    }

    void fetch_more() {
        keys_.clear();
        values_.clear();
        at_ = 0;
        for (std::uint64_t size_bytes = 0;
             !parts_.empty() && size_bytes < fetch_size_bytes_ && values_.size() < kFetchValuesMax;) {
            const auto least = std::min_element(parts_.begin(), parts_.end(), [](const auto& a, const auto& b) {
                return a.first->first < b.first->first;
            });
            keys_.push_back(&least->first->first);
            values_.push_back(&least->first->second);
            size_bytes += values_.back()->value != nullptr ? 0 : values_.back()->size_bytes;
            if (++least->first == least->second) {
                parts_.erase(least);
            }
        }
        fetch_size_bytes_ = std::min(fetch_size_bytes_ * 4, kFetchSizeBytesMax);
        fetched_ = reads_.fetch(values_);
    }

    const RadosReads& reads_;
    std::vector<Group> groups_;
    std::size_t next_group_ = 0;
    Indexes indexes_;                       // of the current group, as are the members below
    std::vector<std::pair<At, At>> parts_;  // not fetched yet
    std::vector<const std::string*> keys_;  // fetched
    std::vector<const IndexValue*> values_;
    std::size_t at_ = 0;
    std::uint64_t fetch_size_bytes_ = kFetchSizeBytesFirst;
    Result<std::vector<std::string>> fetched_ = std::vector<std::string>{};
    Result<std::vector<std::string>> alone_ = std::vector<std::string>{};
};

std::unique_ptr<EngineCursor> RadosReads::index_cursor(Indexes indexes, const KeyRange& range) const {
    return std::make_unique<Cursor>(*this, std::vector<Cursor::Group>{{range, {}, std::move(indexes)}});
}

std::unique_ptr<EngineCursor> RadosReads::cursor(const KeyRange& range, const std::set<EngineFile>&) const {
    std::vector<Cursor::Group> groups;
    const auto add = [&](const KeyRange& table, std::vector<Domain> domains) {
        KeyRange keys = clip(range, table);
        if (keys.begin < keys.end) {
            groups.push_back({std::move(keys), std::move(domains), {}});
        }
    };
    const auto add_shards = [&](const KeyRange& table) {
        const KeyRange keys = clip(range, table);
        const auto only = keys.begin < keys.end && is_one_target(keys) ? domain_of_key(keys.begin, shards_) : Error{};
        std::vector<Domain> domains;
        for (std::uint16_t shard = 0; shard < shards_.value; ++shard) {
            if (!only.ok() || *only == shard_domain(shard)) {
                domains.push_back(shard_domain(shard));
            }
        }
        add(table, std::move(domains));
    };
    add(tables(Table::kFormat, 1), {Domain{Domain::Type::kStore}});
    for (const Domain& domain : domains_in(clip(range, all_partitions_range()))) {
        add(partition_range(domain.partition), {domain});
    }
    add_shards(shard_tables());
    add(all_images_range(), {Domain{Domain::Type::kImage}});
    add_shards(note_table());
    return std::make_unique<Cursor>(*this, std::move(groups));
}

// Fetches values that aren't in memory, by object: neighbours in one extent, all objects at once.
Result<std::vector<std::string>> RadosReads::fetch(const std::vector<const IndexValue*>& values) const {
    std::vector<std::string> bytes(values.size());
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i]->value != nullptr) {
            continue;
        }
        if (values[i]->segment == nullptr) {
            return Error{ErrorCode::kCorrupt, pool_->where() + ": an entry of the index is damaged"};
        }
        order.push_back(i);
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::tie(values[a]->segment->object, values[a]->offset) <
               std::tie(values[b]->segment->object, values[b]->offset);
    });
    struct Place {
        std::size_t read;
        std::size_t extent;
    };
    std::vector<Place> places;
    std::vector<RadosRead> reads;
    for (const std::size_t i : order) {
        const IndexValue& value = *values[i];
        if (reads.empty() || reads.back().object != value.segment->object) {
            reads.push_back({value.segment->object, {}, {}});
        }
        std::vector<RadosExtent>& extents = reads.back().extents;
        if (!extents.empty() && value.offset <= extents.back().offset + extents.back().size_bytes + kGapSizeBytesMax) {
            RadosExtent& last = extents.back();
            last.size_bytes = std::max(last.size_bytes, value.offset + value.size_bytes - last.offset);
        } else {
            extents.push_back({value.offset, value.size_bytes});
        }
        places.push_back({reads.size() - 1, extents.size() - 1});
    }
    if (auto read = reads.empty() ? Result<Done>{Done{}} : pool_->read(reads); !read.ok()) {
        return read.error().code == ErrorCode::kNotFound
                   ? Error{ErrorCode::kUnavailable, read.error().message +
                                                        " any more: it was compacted or dropped while "
                                                        "it was read; run the command again"}
                   : read.error();
    }
    for (std::size_t n = 0; n < order.size(); ++n) {
        const IndexValue& value = *values[order[n]];
        const RadosRead& read = reads[places[n].read];
        const std::size_t at = value.offset - read.extents[places[n].extent].offset;
        bytes[order[n]] = read.bytes[places[n].extent].substr(at, value.size_bytes);
    }
    return bytes;
}

Result<std::shared_ptr<const DomainIndex>> RadosReads::index_of(const Domain& domain) const {
    static const auto nothing = std::make_shared<const DomainIndex>();
    if (is_common(domain)) {
        const std::lock_guard lock{mutex_};
        return common_;
    }
    for (int reloads = 0;; ++reloads) {
        SegmentList segments;
        std::uint64_t generation = 0;
        std::string head_to_check;
        {
            const std::lock_guard lock{mutex_};
            const auto found = domains_.find(domain);
            if (found == domains_.end()) {
                return nothing;
            }
            DomainState& state = found->second;
            state.last_use = next_use();
            if (state.index != nullptr && (state.is_checked || state.is_pending)) {
                return std::shared_ptr<const DomainIndex>{state.index};
            }
            segments = state.segments;
            generation = state.generation;
            head_to_check = state.index != nullptr ? state.last_head : "";
        }
        if (!head_to_check.empty()) {
            auto head = PERFLEET_TRY(pool_->head(segments.back()->object));
            const std::lock_guard lock{mutex_};
            const auto found = domains_.find(domain);
            if (found != domains_.end() && found->second.index != nullptr && found->second.generation == generation &&
                head == head_to_check) {
                found->second.is_checked = true;
                return std::shared_ptr<const DomainIndex>{found->second.index};
            }
        }
        auto loaded = PERFLEET_TRY(load(domain, segments));
        if (loaded.is_segment_missing && reloads < kReloadsMax) {
            auto is_changed = PERFLEET_TRY(reload(domain));
            if (is_changed) {
                continue;
            }
        }
        const std::lock_guard lock{mutex_};
        const auto found = domains_.find(domain);
        if (found != domains_.end() && found->second.generation == generation) {
            DomainState& state = found->second;
            state.index = loaded.index;
            state.last_head = std::move(loaded.last_head);
            state.is_checked = true;
            make_room(&domain);
        }
        return std::shared_ptr<const DomainIndex>{std::move(loaded.index)};
    }
}

Result<RadosReads::LoadedIndex> RadosReads::load(const Domain& domain, const SegmentList& segments) const {
    LoadedIndex loaded;
    loaded.index = std::make_shared<DomainIndex>();
    for (const auto& segment : segments) {
        auto is_there = PERFLEET_TRY(load_segment(domain, segment, loaded));
        loaded.is_segment_missing = loaded.is_segment_missing || !is_there;
    }
    return loaded;
}

// A writer may change the segment meanwhile. In a partition it mostly adds keys, so entries later than the head are
// filtered out to get one consistent state; in other domains each key is independent.
Result<bool> RadosReads::load_segment(const Domain& domain, const std::shared_ptr<const Segment>& segment,
                                      LoadedIndex& loaded) const {
    for (int loads = 1;; ++loads) {
        struct Found {
            std::string key;
            std::uint64_t write_number;
            std::optional<IndexValue> value;
        };
        std::vector<Found> entries;
        auto read = pool_->read_index(segment->object, [&](std::string_view key, std::string_view bytes) {
            const auto entry = decode_entry_untrusted(bytes);
            entries.push_back({std::string{key}, entry ? entry->write_number : 0, index_value_of(entry, segment)});
        });
        if (!read.ok()) {
            return read.error();
        }
        if (!read->has_value()) {
            loaded.last_head.clear();
            return false;
        }
        const auto head = decode_head_untrusted((*read)->head);
        if (!head) {
            return Error{ErrorCode::kCorrupt, pool_->where() + ": the head of " + segment->object + " is damaged"};
        }
        if (!(*read)->is_one_moment && loads < kLoadsMax) {
            continue;
        }
        const bool is_cut = !(*read)->is_one_moment && domain.type == Domain::Type::kPartition;
        for (Found& found : entries) {
            if (is_cut && found.write_number > head->write_count) {
                continue;
            }
            if (found.value) {
                loaded.index->insert_or_assign(std::move(found.key), std::move(*found.value));
            } else {
                loaded.index->erase(found.key);
            }
        }
        loaded.last_head = (*read)->head;
        return true;
    }
}

void RadosReads::make_room(const Domain* kept) const {
    std::size_t keys = 0;
    for (const auto& [domain, state] : domains_) {
        keys += state.index != nullptr ? state.index->size() : 0;
    }
    while (keys > limits::kRadosIndexKeysMax) {
        DomainState* oldest = nullptr;
        for (auto& [domain, state] : domains_) {
            if (state.index != nullptr && !state.is_pending && (kept == nullptr || domain != *kept) &&
                (oldest == nullptr || state.last_use < oldest->last_use)) {
                oldest = &state;
            }
        }
        if (oldest == nullptr) {
            return;
        }
        keys -= oldest->index->size();
        oldest->index = nullptr;
    }
}

bool RadosReads::replace_segments(DomainState& state, SegmentList listed) {
    if (std::equal(listed.begin(), listed.end(), state.segments.begin(), state.segments.end(),
                   [](const auto& a, const auto& b) { return *a == *b; })) {
        return false;
    }
    state.segments = std::move(listed);
    state.index = nullptr;
    ++state.generation;
    return true;
}

void RadosReads::take_over(std::size_t directory, std::map<Domain, SegmentList, DomainOrder> listed,
                           bool is_all_checked) {
    const std::lock_guard lock{mutex_};
    std::erase_if(domains_,
                  [&](const auto& one) { return directory_of(one.first) == directory && !listed.contains(one.first); });
    for (auto& [domain, segments] : listed) {
        DomainState& state = domains_[domain];
        (void)replace_segments(state, std::move(segments));
        state.is_checked = is_all_checked;
    }
}

Result<bool> RadosReads::take_over_common() {
    auto found = PERFLEET_TRY(read_common(*pool_));
    const bool is_store = found.contains(format_key());
    if (const auto shards = found.find(shards_key()); shards != found.end() && shards->second.value != nullptr) {
        const auto count = decode_shards_untrusted(*shards->second.value);
        if (!count.ok()) {
            return at_key(shards_key(), count.error());
        }
        shards_ = *count;
    }
    const std::lock_guard lock{mutex_};
    common_ = std::make_shared<const DomainIndex>(std::move(found));
    return is_store;
}

Result<std::uint64_t> RadosReads::size_bytes(const KeyRange& range) const {
    std::uint64_t sum = 0;
    {
        const std::lock_guard lock{mutex_};
        for (auto at = common_->lower_bound(range.begin); at != common_->end() && at->first < range.end; ++at) {
            sum += at->first.size() + at->second.size_bytes;
        }
    }
    for (const Domain& domain : domains_in(range)) {
        sum += PERFLEET_TRY(segment_size_bytes(domain));
    }
    return sum;
}

std::optional<std::vector<Partition>> RadosReads::listed_partitions() const {
    std::vector<Partition> partitions;
    const std::lock_guard lock{mutex_};
    for (const auto& [domain, state] : domains_) {
        const bool is_empty = state.index != nullptr ? state.index->empty() : state.segments.empty();
        if (domain.type == Domain::Type::kPartition && !is_empty) {
            partitions.push_back(domain.partition);
        }
    }
    return partitions;
}

Result<std::uint64_t> RadosReads::segment_size_bytes(const Domain& domain) const {
    SegmentList segments;
    std::map<std::string, std::uint64_t> known;
    {
        const std::lock_guard lock{mutex_};
        const auto found = domains_.find(domain);
        if (found == domains_.end()) {
            return std::uint64_t{0};
        }
        segments = found->second.segments;
        known = found->second.sizes;
    }
    std::uint64_t sum = 0;
    std::map<std::string, std::uint64_t> sizes;  // without replaced segments
    for (const auto& segment : segments) {
        const auto before = known.find(segment->object);
        std::uint64_t size_bytes = before != known.end() ? before->second : 0;
        if (before == known.end()) {
            const auto bytes = PERFLEET_TRY(pool_->head(segment->object));
            const auto head = bytes.has_value() ? decode_head_untrusted(*bytes) : std::nullopt;
            size_bytes = head ? head->size_bytes + head->index_size_bytes : 0;
        }
        sum += size_bytes;
        if (segment->is_sealed || segment != segments.back()) {
            sizes.emplace(segment->object, size_bytes);
        }
    }
    const std::lock_guard lock{mutex_};
    if (const auto found = domains_.find(domain); found != domains_.end()) {
        found->second.sizes = std::move(sizes);
    }
    return sum;
}

}  // namespace perfleet
