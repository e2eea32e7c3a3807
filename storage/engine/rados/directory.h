// Lists the segments of each domain of a shard, in one object per shard. Layout: README.md of this folder.
//
// Plain values; read_directory() as the pool.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "storage/engine/rados/pool.h"
#include "storage/engine/rados/segment_bytes.h"
#include "storage/key/domain.h"

namespace perfleet {

struct DomainOrder {
    bool operator()(const Domain& a, const Domain& b) const {
        return a.type != b.type ? a.type < b.type : a.partition < b.partition;
    }
};

// Later segments replace the values of earlier ones for the same key: ordered by `order`, then `part`.
struct Segment {
    std::string object;
    std::uint32_t order = 0;
    std::uint32_t part = 0;  // among segments that one compaction has made
    bool is_sealed = false;  // no process writes to it any more

    friend auto operator<=>(const Segment&, const Segment&) = default;
};
using SegmentList = std::vector<std::shared_ptr<const Segment>>;  // ascending

// The directory of a domain's shard.
[[nodiscard]] inline std::size_t directory_of(const Domain& domain) { return domain.partition.shard; }
[[nodiscard]] std::string directory_object(std::size_t directory);

// Keys of a directory's index. The value for a segment is encode_segment(). The value for an unused object, which must
// still be removed, is the time from which no reader is expected there, in s since 1970.
[[nodiscard]] std::string segment_key(const Domain& domain, const Segment& segment);
[[nodiscard]] std::string encode_segment(const Segment& segment);
[[nodiscard]] std::string unused_key(const std::string& object);

struct Directory {
    RadosHead head;
    std::string head_bytes;
    std::map<Domain, SegmentList, DomainOrder> domains;
    std::map<std::string, std::uint64_t> unused;  // from object to that time
};

// Nothing if it was never written. Errors: those of the pool; kUnsupported (written by a newer perfleet).
[[nodiscard]] Result<std::optional<Directory>> read_directory(RadosPool& pool, std::size_t directory);

}  // namespace perfleet
