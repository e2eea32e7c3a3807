// Source lines and inlined functions of the locations of a profile.
//
// Functions are those of the profile's tables, split by source file, followed by inlined functions. A location that
// calls another one is looked up at the address before its return address.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exporters/profile/profile_tables.h"

namespace perfleet {

struct SourceFunction {
    std::string name;
    std::string file;              // empty: unknown
    std::uint32_t first_line = 0;  // 0: unknown
};

struct SourceLine {
    std::uint32_t function = 0;  // of functions()
    std::int64_t line = 0;       // 0: unknown
};

class ProfileSources {
public:
    ProfileSources(const ProfileTables& tables, Symbolizer& symbolizer, QueryMemory& memory);

    [[nodiscard]] const std::vector<SourceFunction>& functions() const { return functions_; }
    // Lines of a location: the innermost function first, its own function last, unless it has no symbol.
    [[nodiscard]] std::span<const SourceLine> lines(std::uint32_t location) const {
        return std::span{lines_}.subspan(begins_[location], begins_[location + 1] - begins_[location]);
    }

private:
    std::vector<SourceFunction> functions_;
    std::vector<SourceLine> lines_;
    std::vector<std::size_t> begins_;  // in lines_, by location, and the end
    MemoryShare share_;
};

}  // namespace perfleet
