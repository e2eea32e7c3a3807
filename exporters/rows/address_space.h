// The mappings of a process; converts a frame (image, offset) into the address that perf expects.
//
// As in perf, a newer mapping replaces what it overlaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exporters/rows/exported_images.h"

namespace perfleet {

inline constexpr std::uint64_t kProtectionExec = 4;

struct ExportedMapping {
    std::uint64_t start = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t file_offset = 0;
    ExportedImage image = 0;
    std::uint64_t protection = 0;  // as in task rows
    std::uint32_t order = 0;       // within an AddressSpace; later mappings have higher numbers

    [[nodiscard]] std::uint64_t end() const { return start + size_bytes; }
    [[nodiscard]] bool is_data() const { return (protection & kProtectionExec) == 0; }
    // Whether it maps the same bytes as `other` at all addresses of `other`.
    [[nodiscard]] bool covers(const ExportedMapping& other) const {
        return image == other.image && file_offset - start == other.file_offset - other.start && start <= other.start &&
               end() >= other.end();
    }
    // Ignores their order.
    friend bool operator==(const ExportedMapping& a, const ExportedMapping& b) {
        return a.start == b.start && a.size_bytes == b.size_bytes && a.file_offset == b.file_offset &&
               a.image == b.image && a.protection == b.protection;
    }
};

class AddressSpace {
public:
    [[nodiscard]] bool contains(const ExportedMapping& mapping) const;

    // False if the same mapping exists already. Ignores empty mappings and those that wrap around.
    bool add(const ExportedMapping& mapping);

    // Index of a mapping of this byte of the image, of code if there is one; the newest if there are several, as in
    // processes whose exec wasn't recorded. Indices are valid until the space changes.
    [[nodiscard]] std::optional<std::size_t> find(ExportedImage image, std::uint64_t offset);
    [[nodiscard]] const ExportedMapping& mapping(std::size_t index) const { return by_image_[index]; }

    // The mapping of this address; nullptr if there is none.
    [[nodiscard]] const ExportedMapping* find_address(std::uint64_t address) const;

    [[nodiscard]] std::span<const ExportedMapping> mappings() const { return by_start_; }

    // Adds a mapping for an image whose mapping is unknown, at addresses that no process uses, different ones each
    // time. False if none are free.
    bool place(ExportedImage image, std::uint64_t offset);

private:
    // Unmaps these addresses; returns the next mapping after `start`.
    std::vector<ExportedMapping>::iterator clear(std::uint64_t start, std::uint64_t end);

    std::vector<ExportedMapping> by_start_;  // without overlaps
    std::vector<ExportedMapping> by_image_;  // the same, by (image, file_offset); built on demand
    bool is_indexed_ = true;
    std::uint32_t placed_count_ = 0;
    std::uint32_t order_ = 0;  // of the newest mapping
};

}  // namespace perfleet
