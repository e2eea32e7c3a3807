// Where the values of keys are: what an index says once it is read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "storage/engine/rados/directory.h"

namespace perfleet {

struct IndexValue {
    std::shared_ptr<const std::string> value;  // here: a short one, or one that is in no segment yet
    std::shared_ptr<const Segment> segment;    // otherwise in its body; null, too, when the entry is damaged
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;

    friend bool operator==(const IndexValue&, const IndexValue&) = default;
};
using DomainIndex = std::map<std::string, IndexValue, std::less<>>;

}  // namespace perfleet
