// What a process has mapped where: turns a frame (image, offset) back into the address that perf expects.
//
// Mirrors what perf makes of the same MMAP2 records: a newer mapping covers older ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "exporters/perf-data/exported_images.h"

namespace perfleet {

struct ExportedMapping {
    std::uint64_t start = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t file_offset = 0;
    ExportedImage image = 0;

    [[nodiscard]] std::uint64_t end() const { return start + size_bytes; }
    friend bool operator==(const ExportedMapping&, const ExportedMapping&) = default;
};

class AddressSpace {
public:
    [[nodiscard]] bool contains(const ExportedMapping& mapping) const;

    // False when exactly this mapping is there already. Empty mappings, and those that wrap around, are not taken.
    bool add(const ExportedMapping& mapping);

    // The address of a byte of the image, if it is mapped; the lowest one if several times.
    [[nodiscard]] std::optional<std::uint64_t> find(ExportedImage image, std::uint64_t offset);

    // Room for an image that frames lie in though its mapping isn't known: addresses that no process uses, different
    // ones each time. None when all are taken.
    [[nodiscard]] std::optional<ExportedMapping> place(ExportedImage image, std::uint64_t offset);

    void clear();

private:
    std::vector<ExportedMapping> by_start_;  // without overlaps
    std::vector<ExportedMapping> by_image_;  // the same, by (image, file_offset); made when asked for
    bool is_indexed_ = true;
    std::uint32_t placed_count_ = 0;
};

}  // namespace perfleet
