// What reader and writer of a store on RADOS share: the segments of each domain, their merged indexes, and reading.
//
// Threads: as Engine says of its reads. Indexes are read when they are needed and kept up to a limit; who visits one
// keeps it as it is.
#pragma once

#include <atomic>
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
#include "storage/engine/rados/common.h"
#include "storage/engine/rados/directory.h"
#include "storage/engine/rados/domain_index.h"
#include "storage/engine/rados/pool.h"

namespace perfleet {

class RadosReads : public Engine {
public:
    explicit RadosReads(std::unique_ptr<RadosPool> pool) : pool_{std::move(pool)} {}

    [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override;
    // RADOS keeps and repairs copies by itself: no object that is gone or damaged can be left out.
    [[nodiscard]] std::unique_ptr<EngineCursor> cursor(const KeyRange& range,
                                                       const std::set<EngineFile>&) const override;
    [[nodiscard]] Result<std::uint64_t> size_bytes(const KeyRange& range) const override;
    [[nodiscard]] std::optional<std::vector<Partition>> listed_partitions() const override;

protected:
    struct DomainState {
        SegmentList segments;
        std::shared_ptr<DomainIndex> index;  // null: not read
        std::string last_head;               // of the last segment, when the index was read
        bool is_checked = true;              // nobody has written since
        std::uint64_t generation = 0;        // another with each change
        std::uint64_t last_use = 0;
        bool is_pending = false;                     // the index has what is in no segment yet
        std::map<std::string, std::uint64_t> sizes;  // in bytes, of segments that nobody writes any more
    };
    using Domains = std::map<Domain, DomainState, DomainOrder>;

    using Indexes = std::vector<std::shared_ptr<const DomainIndex>>;
    [[nodiscard]] std::unique_ptr<EngineCursor> index_cursor(Indexes indexes, const KeyRange& range) const;
    // An empty one where the domain has nothing.
    [[nodiscard]] Result<std::shared_ptr<const DomainIndex>> index_of(const Domain& domain) const;

    // Forgets the indexes that weren't used for longest, where there are too many keys. The lock is held.
    void make_room(const Domain* kept = nullptr) const;
    [[nodiscard]] std::uint64_t next_use() const { return ++uses_; }  // likewise

    [[nodiscard]] RadosPool& pool() const { return *pool_; }
    [[nodiscard]] std::vector<Domain> domains_in(const KeyRange& range) const;
    // Those of the directory, with its segments; nothing of them may be pending. What was read of the others stays.
    void take_over(std::size_t directory, std::map<Domain, SegmentList, DomainOrder> listed, bool is_all_checked);
    // What belongs to no shard, anew; false where there is no store yet.
    [[nodiscard]] Result<bool> take_over_common();
    [[nodiscard]] ShardCount shards() const { return shards_; }

    mutable std::mutex mutex_;  // of both
    mutable Domains domains_;   // of shards
    std::shared_ptr<const DomainIndex> common_ = std::make_shared<const DomainIndex>();

private:
    class Cursor;
    ShardCount shards_;  // that it has since the first take_over_common() that found a store
    // Whether the segments of a domain aren't what the store lists, and are now. A writer knows its own.
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
