#include "schemas/pprof/profile_frames.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "schemas/pprof/kept_sources.h"
#include "schemas/text/hex.h"
#include "schemas/text/utf8.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"

namespace perfleet {
namespace {

constexpr const char* kUnknownImage = "[unknown]";

}  // namespace

std::string made_image_id(SessionId profile, std::uint64_t number) {
    std::string id(limits::kBuildIdSizeBytesMax, '\0');
    const std::array<std::uint64_t, 2> words{profile.high, profile.low ^ number};
    std::memcpy(id.data(), words.data(), sizeof words);
    return id;
}

SessionId profile_of_image(std::string_view id) {
    SessionId profile;
    std::memcpy(&profile.high, id.data(), sizeof profile.high);
    std::memcpy(&profile.low, id.data() + sizeof profile.high, sizeof profile.low);
    return profile;
}

ProfileFrames::ProfileFrames(const PprofProfile& profile)
    : profile_{profile}, frames_(profile.locations.size()), places_(profile.mappings.size()) {
    for (std::uint32_t i = 0; i < profile.locations.size(); ++i) {
        const PprofProfile::Location& location = profile.locations[i];
        if (location.lines.empty() && !take_in_file(i)) {
            places_[location.mapping].push_back({i, kNoLine});
        }
        for (std::uint32_t line = 0; line < location.lines.size(); ++line) {
            places_[location.mapping].push_back({i, line});
        }
    }
    const auto function_of = [&](Place place) {
        return place.line == kNoLine ? PprofProfile::kNoFunction
                                     : profile_.locations[place.location].lines[place.line].function;
    };
    for (std::vector<Place>& places : places_) {
        std::stable_sort(places.begin(), places.end(),
                         [&](Place a, Place b) { return function_of(a) < function_of(b); });
        std::uint64_t offset = 0;
        for (const Place place : places) {
            std::vector<Frame>& frames = frames_[place.location];
            frames.resize(std::max<std::size_t>(1, profile_.locations[place.location].lines.size()));
            frames[place.line == kNoLine ? 0 : place.line] = {In::kMade, offset};
            offset += kKeptPlaceSizeBytes;
        }
    }
}

// False: another location has its frame.
bool ProfileFrames::take_in_file(std::uint32_t number) {
    const PprofProfile::Location& location = profile_.locations[number];
    const PprofProfile::Mapping& mapping = profile_.mappings[location.mapping];
    const bool is_in_file = location.mapping != 0 && !mapping.file_name.empty() && location.address >= mapping.start;
    const std::uint64_t offset = is_in_file ? location.address - mapping.start + mapping.file_offset : location.address;
    FileOffset key{is_in_file ? name_of(location.mapping) : kUnknownImage,
                   is_in_file ? build_id_of(location.mapping) : std::string{}, offset};
    const auto [taken, is_new] = in_files_.try_emplace(std::move(key), number);
    frames_[number] = {{is_in_file ? In::kFile : In::kUnknown, offset}};
    return is_new;
}

std::string ProfileFrames::name_of(std::uint32_t mapping) const {
    const std::string name = printable(profile_.mappings[mapping].file_name).substr(0, limits::kStringSizeBytesMax);
    return name.empty() ? kUnknownImage : name;
}

std::string ProfileFrames::build_id_of(std::uint32_t mapping) const {
    std::string bytes = bytes_of_hex(profile_.mappings[mapping].build_id).value_or("");
    return bytes.size() <= limits::kBuildIdSizeBytesMax ? bytes : std::string{};
}

std::optional<ProfileFrames::Place> ProfileFrames::find(std::uint32_t mapping, std::uint64_t offset) const {
    const std::uint64_t number = offset / kKeptPlaceSizeBytes;
    return mapping < places_.size() && number < places_[mapping].size() ? std::optional{places_[mapping][number]}
                                                                        : std::nullopt;
}

std::optional<ProfileFrames::Place> ProfileFrames::find(const std::string& image_name, const std::string& build_id,
                                                        std::uint64_t offset) const {
    const auto found = in_files_.find({image_name, build_id, offset});
    return found == in_files_.end() ? std::nullopt : std::optional{Place{found->second, kNoLine}};
}

}  // namespace perfleet
