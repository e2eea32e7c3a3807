// What reader and writer of a store on RADOS share: the segments of each domain, their merged indexes, and reads.
//
// Threads: as Engine's reads. Indexes are read when they are needed and kept up to a limit; a visit keeps its index
// unchanged.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "storage/engine/engine.h"
#include "storage/engine/rados/directory.h"
#include "storage/engine/rados/domain_index.h"
#include "storage/engine/rados/pool.h"

namespace perfleet {

class RadosReads : public Engine {
public:
    explicit RadosReads(std::unique_ptr<RadosPool> pool) : pool_{std::move(pool)} {}

    [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override;
    // RADOS keeps and repairs copies itself, so no lost or damaged object can be left out.
    [[nodiscard]] std::unique_ptr<EngineCursor> cursor(const KeyRange& range,
                                                       const std::set<EngineFile>&) const override;
    [[nodiscard]] Result<std::uint64_t> size_bytes(const KeyRange& range) const override;
    [[nodiscard]] std::optional<std::vector<Partition>> listed_partitions() const override;

protected:
    struct DomainState {
        SegmentList segments;
        std::shared_ptr<DomainIndex> index;  // null: not read
        std::string last_head;               // of the last segment, when the index was read
        bool is_checked = true;              // false: other processes may have written since
        std::uint64_t generation = 0;        // changes with each change
        std::uint64_t last_use = 0;
        bool is_pending = false;                     // the index has values that are in no segment yet
        std::map<std::string, std::uint64_t> sizes;  // in bytes, of sealed segments
    };
    using Domains = std::map<Domain, DomainState, DomainOrder>;

    using Indexes = std::vector<std::shared_ptr<const DomainIndex>>;
    [[nodiscard]] std::unique_ptr<EngineCursor> index_cursor(Indexes indexes, const KeyRange& range) const;
    // Empty if the domain has no keys.
    [[nodiscard]] Result<std::shared_ptr<const DomainIndex>> index_of(const Domain& domain) const;

    // Forgets the least recently used indexes if there are too many keys. The lock is held.
    void make_room(const Domain* kept = nullptr) const;
    [[nodiscard]] std::uint64_t next_use() const { return ++uses_; }  // likewise

    [[nodiscard]] RadosPool& pool() const { return *pool_; }
    [[nodiscard]] std::vector<Domain> domains_in(const KeyRange& range) const;
    // Replaces the domains of the directory by `listed`, of which nothing may be pending. Indexes of unchanged domains
    // stay.
    void take_over(std::size_t directory, std::map<Domain, SegmentList, DomainOrder> listed, bool is_all_checked);
    // Replaces the segments of a domain, and forgets the index of others. False: they are the same.
    static bool replace_segments(DomainState& state, SegmentList listed);
    // Reads what belongs to no shard again; false if there is no store yet.
    [[nodiscard]] Result<bool> take_over_common();
    [[nodiscard]] ShardCount shards() const { return shards_; }

    mutable std::mutex mutex_;  // of domains_ and common_
    mutable Domains domains_;   // of shards
    std::shared_ptr<const DomainIndex> common_ = std::make_shared<const DomainIndex>();

private:
    class Cursor;
    ShardCount shards_;  // since the first take_over_common() that found a store
    // Updates the segments of a domain to those that the store lists; true if they changed. A writer knows its own.
    [[nodiscard]] virtual Result<bool> reload(const Domain& domain) const = 0;
    struct LoadedIndex {
        std::shared_ptr<DomainIndex> index;
        std::string last_head;
        bool is_segment_missing = false;
    };
    [[nodiscard]] Result<std::shared_ptr<const DomainIndex>> index_with(const Domain& domain,
                                                                        std::string_view key) const;
    [[nodiscard]] Result<std::uint64_t> segment_size_bytes(const Domain& domain) const;
    [[nodiscard]] Result<LoadedIndex> load(const Domain& domain, const SegmentList& segments) const;
    [[nodiscard]] Result<bool> load_segment(const Domain& domain, const std::shared_ptr<const Segment>& segment,
                                            LoadedIndex& loaded) const;
    [[nodiscard]] Result<std::vector<std::string>> fetch(const std::vector<const IndexValue*>& values) const;

    std::unique_ptr<RadosPool> pool_;
    mutable std::uint64_t uses_ = 0;
};

}  // namespace perfleet
