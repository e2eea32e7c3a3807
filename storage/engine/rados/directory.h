// Which segments each domain of a shard has: one object for each shard. README.md of this folder.
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

// Later ones replace what earlier ones have of a key: by order, then part.
struct Segment {
    std::string object;
    std::uint32_t order = 0;
    std::uint32_t part = 0;  // of those that compaction has made together
    bool is_sealed = false;  // nobody writes there any more

    friend auto operator<=>(const Segment&, const Segment&) = default;
};
using SegmentList = std::vector<std::shared_ptr<const Segment>>;  // ascending

// A shard has one.
[[nodiscard]] inline std::size_t directory_of(const Domain& domain) { return domain.partition.shard; }
[[nodiscard]] std::string directory_object(std::size_t directory);

// Keys of a directory's index. The value of a segment's is encode_segment(); of an unused object, which is still to be
// removed, the second since 1970 from when on no reader is expected there.
[[nodiscard]] std::string segment_key(const Domain& domain, const Segment& segment);
[[nodiscard]] std::string encode_segment(const Segment& segment);
[[nodiscard]] std::string unused_key(const std::string& object);

struct Directory {
    RadosHead head;
    std::string head_bytes;
    std::map<Domain, SegmentList, DomainOrder> domains;
    std::map<std::string, std::uint64_t> unused;  // by object
};

// Nothing where it was never written. Errors: those of the pool; kUnsupported (written by a newer perfleet).
[[nodiscard]] Result<std::optional<Directory>> read_directory(RadosPool& pool, std::size_t directory);

}  // namespace perfleet
