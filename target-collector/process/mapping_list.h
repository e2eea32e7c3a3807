// Where the executable parts of images are mapped in one address space, and since which change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "target-collector/process/image_table.h"

namespace perfleet {

struct Mapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;          // the first address behind it
    std::uint64_t file_offset = 0;  // of its start
    ImageIndex image = 0;
    std::uint32_t protection = 0;
    std::uint32_t flags = 0;
};

// Where the code of a process's program begins: within [start, end). Empty: not known.
struct CodeStart {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

// Ordered by address, never overlapping. A change gives it a new generation that no list has had before.
class MappingList {
public:
    static constexpr std::size_t kMappingsMax = 65'536;  // Linux' own default bound of a process (max_map_count)

    // Puts a mapping in the place of what was there. False: the list is full, nothing was changed.
    bool add(const Mapping& mapping);

    // Null when no mapping holds `address`.
    [[nodiscard]] const Mapping* find(std::uint64_t address) const;

    [[nodiscard]] std::span<const Mapping> mappings() const { return mappings_; }
    [[nodiscard]] std::uint64_t generation() const { return generation_; }

private:
    std::vector<Mapping> mappings_;
    std::uint64_t generation_ = 0;  // 0: empty
};

}  // namespace perfleet
