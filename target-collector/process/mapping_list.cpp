#include "target-collector/process/mapping_list.h"

#include <algorithm>

#include "target-collector/process/generation.h"

namespace perfleet {

bool MappingList::add(const Mapping& mapping) {
    if (mapping.start >= mapping.end) {
        return true;
    }
    const auto first = std::partition_point(mappings_.begin(), mappings_.end(),
                                            [&](const Mapping& other) { return other.end <= mapping.start; });
    const auto last =
        std::partition_point(first, mappings_.end(), [&](const Mapping& other) { return other.start < mapping.end; });
    // The new mapping, and the remains of the first and last mapping that it overlaps.
    Mapping kept[3];
    std::size_t kept_count = 0;
    if (first != last && first->start < mapping.start) {
        kept[kept_count] = *first;
        kept[kept_count++].end = mapping.start;
    }
    kept[kept_count++] = mapping;
    if (first != last && std::prev(last)->end > mapping.end) {
        Mapping& tail = kept[kept_count++];
        tail = *std::prev(last);
        tail.file_offset += mapping.end - tail.start;
        tail.start = mapping.end;
    }
    const auto covered = static_cast<std::size_t>(last - first);
    if (mappings_.size() - covered + kept_count > kMappingsMax) {
        return false;
    }
    const auto at = mappings_.erase(first, last);
    mappings_.insert(at, kept, kept + kept_count);
    generation_ = next_generation();
    return true;
}

const Mapping* MappingList::find(std::uint64_t address) const {
    const auto found = std::partition_point(mappings_.begin(), mappings_.end(),
                                            [&](const Mapping& mapping) { return mapping.end <= address; });
    const bool is_code = found != mappings_.end() && found->start <= address && !found->is_data;
    return is_code ? &*found : nullptr;
}

}  // namespace perfleet
