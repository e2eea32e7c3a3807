// Where the values of keys are: an index after it was read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "storage/engine/rados/directory.h"

namespace perfleet {

struct IndexValue {
    std::shared_ptr<const std::string> value;  // the value itself, if it is short or in no segment yet
    std::shared_ptr<const Segment> segment;    // else the segment whose body has it; null also if the entry is damaged
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;

    friend bool operator==(const IndexValue&, const IndexValue&) = default;
};
using DomainIndex = std::map<std::string, IndexValue, std::less<>>;

}  // namespace perfleet
