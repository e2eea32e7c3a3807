// What a process has mapped where: turns a frame (image, offset) back into the address that perf expects.
//
// As in perf, a newer mapping covers older ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exporters/rows/exported_images.h"

namespace perfleet {

struct ExportedMapping {
    std::uint64_t start = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t file_offset = 0;
    ExportedImage image = 0;
    std::uint64_t protection = 0;  // as task rows have it
    std::uint32_t order = 0;       // of an AddressSpace: greater than that of earlier ones

    [[nodiscard]] std::uint64_t end() const { return start + size_bytes; }
    // Whether it has the same bytes as the other at all addresses of that one.
    [[nodiscard]] bool covers(const ExportedMapping& other) const {
        return image == other.image && file_offset - start == other.file_offset - other.start && start <= other.start &&
               end() >= other.end();
    }
    // But for their order.
    friend bool operator==(const ExportedMapping& a, const ExportedMapping& b) {
        return a.start == b.start && a.size_bytes == b.size_bytes && a.file_offset == b.file_offset &&
               a.image == b.image && a.protection == b.protection;
    }
};

class AddressSpace {
public:
    [[nodiscard]] bool contains(const ExportedMapping& mapping) const;

    // False when exactly this mapping is there already. Empty mappings, and those that wrap around, are not taken.
    bool add(const ExportedMapping& mapping);

    // Whether a mapping has one of these addresses.
    [[nodiscard]] bool overlaps(std::uint64_t start, std::uint64_t size_bytes) const;

    // Nothing of these addresses is mapped any more, as where data was mapped since.
    void remove(std::uint64_t start, std::uint64_t size_bytes);

    // A mapping of this byte of the image, by its index; the newest one if there are several, as of processes whose
    // exec wasn't told. Indices are valid until the space changes.
    [[nodiscard]] std::optional<std::size_t> find(ExportedImage image, std::uint64_t offset);
    [[nodiscard]] const ExportedMapping& mapping(std::size_t index) const { return by_image_[index]; }

    // The mapping of this address; nullptr if there is none.
    [[nodiscard]] const ExportedMapping* find_address(std::uint64_t address) const;

    [[nodiscard]] std::span<const ExportedMapping> mappings() const { return by_start_; }

    // Adds a mapping for an image that frames lie in though its mapping isn't known: at addresses that no process uses,
    // different ones each time. False when all are taken.
    bool place(ExportedImage image, std::uint64_t offset);

private:
    // Cuts the mappings at these addresses; where the next mapping behind `start` stands.
    std::vector<ExportedMapping>::iterator clear(std::uint64_t start, std::uint64_t end);

    std::vector<ExportedMapping> by_start_;  // without overlaps
    std::vector<ExportedMapping> by_image_;  // the same, by (image, file_offset); made when asked for
    bool is_indexed_ = true;
    std::uint32_t placed_count_ = 0;
    std::uint32_t order_ = 0;  // of the newest mapping
};

}  // namespace perfleet
