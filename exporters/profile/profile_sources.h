// Source lines and inlined functions of a profile's locations.
//
// Functions are those of the tables, told apart by their file of source, and inlined ones behind them. A location that
// called another one is looked up before the address it returns to.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exporters/profile/profile_tables.h"

namespace perfleet {

struct SourceFunction {
    std::string name;
    std::string file;  // empty: not known
};

struct SourceLine {
    std::uint32_t function = 0;  // of functions()
    std::uint32_t line = 0;      // 0: not known
};

class ProfileSources {
public:
    ProfileSources(const ProfileTables& tables, Symbolizer& symbolizer, QueryMemory& memory);

    [[nodiscard]] const std::vector<SourceFunction>& functions() const { return functions_; }
    // Of a location: the innermost first, its own function last.
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
