// The frames that stand for the locations of an imported profile: its import makes rows of them, its export finds the
// locations again. Both build them from the profile without its samples, which the store keeps.
//
//   a line of a location     an offset in an image that is made for the location's mapping: number N of the mapping's
//                            lines, those of one function side by side, has offset N * kKeptPlaceSizeBytes
//   a location without lines an offset in the mapping's file, so that symbols of its build can name it; an address in
//                            `[unknown]` where it lies in no file. A location that would have the frame of another one
//                            has an offset in the made image, as a line
//
// The ids of made images derive from the profile's id; number 0 is the image whose content is the profile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "schemas/pprof/pprof_profile.h"
#include "schemas/vocabulary/ids.h"

namespace perfleet {

// The image whose content is the profile without its samples; every epoch defines it.
inline constexpr const char* kProfileImage = "[profile]";
// Precedes the profile in that content, because gateways refuse symbols that don't begin with a hexadecimal digit.
inline constexpr char kProfileMark = 'a';

// 20 bytes, in place of a build-id. `number`: 0, or 1 + a mapping's index.
[[nodiscard]] std::string made_image_id(SessionId profile, std::uint64_t number);

[[nodiscard]] SessionId profile_of_image(std::string_view id);  // of number 0

class ProfileFrames {
public:
    enum class In : std::uint8_t { kMade, kFile, kUnknown };
    struct Frame {
        In in{};
        std::uint64_t offset = 0;  // in the image for the location's mapping
    };
    static constexpr std::uint32_t kNoLine = 0xffff'ffff;
    // A line of a location, or a location without lines.
    struct Place {
        std::uint32_t location = 0;
        std::uint32_t line = kNoLine;
    };

    // Borrows the profile.
    explicit ProfileFrames(const PprofProfile& profile);

    // The frames of a location, innermost first.
    [[nodiscard]] std::span<const Frame> frames(std::uint32_t location) const { return frames_[location]; }
    // By number, of the image made for a mapping.
    [[nodiscard]] std::span<const Place> places(std::uint32_t mapping) const { return places_[mapping]; }
    // As `top` shows it.
    [[nodiscard]] std::string name_of(std::uint32_t mapping) const;
    [[nodiscard]] std::string build_id_of(std::uint32_t mapping) const;  // bytes; empty: not known

    // The place of an offset in a made image, or in one with this name and build-id; nothing if the profile has none.
    [[nodiscard]] std::optional<Place> find(std::uint32_t mapping, std::uint64_t offset) const;
    [[nodiscard]] std::optional<Place> find(const std::string& image_name, const std::string& build_id,
                                            std::uint64_t offset) const;

private:
    using FileOffset = std::tuple<std::string, std::string, std::uint64_t>;  // name, build-id, offset

    [[nodiscard]] bool take_in_file(std::uint32_t number);

    const PprofProfile& profile_;
    std::vector<std::vector<Frame>> frames_;  // by location
    std::vector<std::vector<Place>> places_;  // by mapping
    std::map<FileOffset, std::uint32_t> in_files_;
};

}  // namespace perfleet
