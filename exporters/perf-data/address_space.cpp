#include "exporters/perf-data/address_space.h"

#include <algorithm>
#include <tuple>

namespace perfleet {
namespace {

// On 64-bit Linux programs lie at the bottom or near 0x55…, libraries and stacks near 0x7f….
constexpr std::uint64_t kPlacedFirst = 0x1000'0000'0000;
constexpr std::uint64_t kPlacedSizeBytes = 1ULL << 30;
constexpr std::uint32_t kPlacedMax = 65'536;

bool before(const ExportedMapping& a, const ExportedMapping& b) {
    return std::tie(a.image, a.file_offset, a.start) < std::tie(b.image, b.file_offset, b.start);
}

}  // namespace

bool AddressSpace::contains(const ExportedMapping& mapping) const {
    const auto place =
        std::lower_bound(by_start_.begin(), by_start_.end(), mapping.start,
                         [](const ExportedMapping& some, std::uint64_t start) { return some.start < start; });
    return place != by_start_.end() && *place == mapping;
}

bool AddressSpace::add(const ExportedMapping& mapping) {
    if (mapping.size_bytes == 0 || mapping.end() < mapping.start) {
        return false;
    }
    auto first = std::lower_bound(by_start_.begin(), by_start_.end(), mapping.start,
                                  [](const ExportedMapping& some, std::uint64_t start) { return some.end() <= start; });
    if (contains(mapping)) {
        return false;
    }
    auto last = first;
    std::vector<ExportedMapping> rest;
    for (; last != by_start_.end() && last->start < mapping.end(); ++last) {
        if (last->start < mapping.start) {
            rest.push_back({last->start, mapping.start - last->start, last->file_offset, last->image});
        }
    }
    const std::size_t left_count = rest.size();
    if (last != first && std::prev(last)->end() > mapping.end()) {
        const ExportedMapping& cut = *std::prev(last);
        const std::uint64_t by = mapping.end() - cut.start;
        rest.push_back({mapping.end(), cut.size_bytes - by, cut.file_offset + by, cut.image});
    }
    rest.insert(rest.begin() + static_cast<std::ptrdiff_t>(left_count), mapping);
    first = by_start_.erase(first, last);
    by_start_.insert(first, rest.begin(), rest.end());
    is_indexed_ = false;
    return true;
}

std::optional<std::uint64_t> AddressSpace::find(ExportedImage image, std::uint64_t offset) {
    if (!is_indexed_) {
        by_image_ = by_start_;
        std::sort(by_image_.begin(), by_image_.end(), before);
        is_indexed_ = true;
    }
    for (auto it = std::lower_bound(by_image_.begin(), by_image_.end(), ExportedMapping{0, 0, 0, image}, before);
         it != by_image_.end() && it->image == image && it->file_offset <= offset; ++it) {
        if (offset - it->file_offset < it->size_bytes) {
            return it->start + (offset - it->file_offset);
        }
    }
    return std::nullopt;
}

std::optional<ExportedMapping> AddressSpace::place(ExportedImage image, std::uint64_t offset) {
    if (placed_count_ == kPlacedMax) {
        return std::nullopt;
    }
    const ExportedMapping mapping{kPlacedFirst + placed_count_ * kPlacedSizeBytes, kPlacedSizeBytes,
                                  offset / kPlacedSizeBytes * kPlacedSizeBytes, image};
    ++placed_count_;
    add(mapping);
    return mapping;
}

void AddressSpace::clear() { *this = {}; }

}  // namespace perfleet
