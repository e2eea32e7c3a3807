// Source lines and inlined functions of a profile's locations.
//
// Functions are those of the tables, told apart by their file of source, and inlined ones behind them. A location that
// called another one is looked up before the address it returns to.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "exporters/profile/profile_tables.h"
#include "query-engine/symbol/kept_sources.h"

namespace perfleet {

struct SourceFunction {
    std::string name;
    std::string file;             // empty: not known
    std::int64_t first_line = 0;  // 0: not known
};

struct SourceLine {
    std::uint32_t function = 0;  // of functions()
    std::int64_t line = 0;       // 0: not known
    std::int64_t column = 0;     // likewise
};

class ProfileSources {
public:
    // Of all images, or of those alone whose lines an import kept.
    enum class Images : std::uint8_t { kAll, kKept };

    ProfileSources(const ProfileTables& tables, Symbolizer& symbolizer, QueryMemory& memory, Images images);

    // What an import kept of the image; null: nothing.
    [[nodiscard]] const KeptSources* kept(std::uint32_t image) const { return kept_[image].get(); }
    [[nodiscard]] bool has_kept() const { return has_kept_; }  // of any

    [[nodiscard]] const std::vector<SourceFunction>& functions() const { return functions_; }
    // Of a location: the innermost first, its own function last.
    [[nodiscard]] std::span<const SourceLine> lines(std::uint32_t location) const {
        return std::span{lines_}.subspan(begins_[location], begins_[location + 1] - begins_[location]);
    }

private:
    std::vector<std::shared_ptr<const KeptSources>> kept_;  // by image
    bool has_kept_ = false;
    std::vector<SourceFunction> functions_;
    std::vector<SourceLine> lines_;
    std::vector<std::size_t> begins_;  // in lines_, by location, and the end
    MemoryShare share_;
};

}  // namespace perfleet
