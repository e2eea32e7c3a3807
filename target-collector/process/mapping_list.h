// The mappings of one address space, with a generation number: those of code, and in imports those of data, which
// replace code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "target-collector/process/image_table.h"

namespace perfleet {

struct Mapping {
    std::uint64_t start = 0;
    std::uint64_t end = 0;          // first address after it
    std::uint64_t file_offset = 0;  // of its start
    ImageIndex image = 0;
    std::uint32_t protection = 0;
    std::uint32_t flags = 0;
    bool is_data = false;  // no frame lies in it
};

// Start of the code of a process's program: within [start, end). Empty: unknown.
struct CodeStart {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
};

// Ordered by address, disjoint. Each change sets a new, globally unique generation.
class MappingList {
public:
    static constexpr std::size_t kMappingsMax = 65'536;  // Linux's default limit of a process (max_map_count)

    // Adds a mapping and replaces what it overlaps. False: the list is full, nothing was changed.
    bool add(const Mapping& mapping);

    // Null if no mapping of code contains `address`.
    [[nodiscard]] const Mapping* find(std::uint64_t address) const;

    [[nodiscard]] std::span<const Mapping> mappings() const { return mappings_; }
    [[nodiscard]] std::uint64_t generation() const { return generation_; }

private:
    std::vector<Mapping> mappings_;
    std::uint64_t generation_ = 0;  // 0: empty
};

}  // namespace perfleet
