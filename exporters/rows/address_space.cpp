#include "exporters/rows/address_space.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace perfleet {
namespace {

// On 64-bit Linux programs lie at the bottom or near 0x55…, libraries and stacks near 0x7f….
constexpr std::uint64_t kPlacedFirst = 0x1000'0000'0000;
constexpr std::uint64_t kPlacedSizeBytes = 1ULL << 30;
constexpr std::uint32_t kPlacedMax = 65'536;

constexpr std::uint64_t kExecutablePrivate = kProtectionExec | 2ULL << 32U;  // MAP_PRIVATE

bool before(const ExportedMapping& a, const ExportedMapping& b) {
    return std::tie(a.image, a.file_offset, a.start) < std::tie(b.image, b.file_offset, b.start);
}

// The first mapping that ends after this address.
template <class Mappings>
auto first_behind(Mappings& by_start, std::uint64_t address) {
    return std::lower_bound(by_start.begin(), by_start.end(), address,
                            [](const ExportedMapping& some, std::uint64_t wanted) { return some.end() <= wanted; });
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
    if (contains(mapping)) {
        return false;
    }
    by_start_.insert(clear(mapping.start, mapping.end()), mapping)->order = ++order_;
    is_indexed_ = false;
    return true;
}

std::vector<ExportedMapping>::iterator AddressSpace::clear(std::uint64_t start, std::uint64_t end) {
    auto first = first_behind(by_start_, start);
    auto last = first;
    std::vector<ExportedMapping> rest;
    for (; last != by_start_.end() && last->start < end; ++last) {
        if (last->start < start) {
            rest.push_back(*last);
            rest.back().size_bytes = start - last->start;
        }
    }
    const auto left_count = static_cast<std::ptrdiff_t>(rest.size());
    if (last != first && std::prev(last)->end() > end) {
        ExportedMapping cut = *std::prev(last);
        const std::uint64_t by = end - cut.start;
        cut.start += by;
        cut.size_bytes -= by;
        cut.file_offset += by;
        rest.push_back(cut);
    }
    first = by_start_.erase(first, last);
    return by_start_.insert(first, rest.begin(), rest.end()) + left_count;
}

std::optional<std::size_t> AddressSpace::find(ExportedImage image, std::uint64_t offset) {
    if (!is_indexed_) {
        by_image_ = by_start_;
        std::sort(by_image_.begin(), by_image_.end(), before);
        is_indexed_ = true;
    }
    std::optional<std::size_t> newest;
    for (auto it = std::lower_bound(by_image_.begin(), by_image_.end(), ExportedMapping{0, 0, 0, image}, before);
         it != by_image_.end() && it->image == image && it->file_offset <= offset; ++it) {
        const auto rank = [](const ExportedMapping& one) { return std::pair{!one.is_data(), one.order}; };
        if (offset - it->file_offset < it->size_bytes && (!newest || rank(by_image_[*newest]) < rank(*it))) {
            newest = static_cast<std::size_t>(it - by_image_.begin());
        }
    }
    return newest;
}

const ExportedMapping* AddressSpace::find_address(std::uint64_t address) const {
    const auto after =
        std::upper_bound(by_start_.begin(), by_start_.end(), address,
                         [](std::uint64_t wanted, const ExportedMapping& some) { return wanted < some.start; });
    if (after == by_start_.begin() || address >= std::prev(after)->end()) {
        return nullptr;
    }
    return &*std::prev(after);
}

bool AddressSpace::place(ExportedImage image, std::uint64_t offset) {
    if (placed_count_ == kPlacedMax) {
        return false;
    }
    return add({kPlacedFirst + placed_count_++ * kPlacedSizeBytes, kPlacedSizeBytes,
                offset / kPlacedSizeBytes * kPlacedSizeBytes, image, kExecutablePrivate});
}

}  // namespace perfleet
