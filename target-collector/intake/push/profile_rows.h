// Makes rows of a pushed profile, in parts: a part is one batch and an epoch of its own, and names itself by its hash
// (TaskOp::kPushed). So it is stored whole or not at all, and a repeated profile has the same parts: those that are
// stored already are left out.
//
//   a sample       a row of each type's event, with its value as weight; with labels of kind `detailed_sample`
//   a location     with functions: images that are one function each (schemas/session/named_function.h), so that a name
//                  stands for itself; without: an offset in its mapping's file, which symbols of its build name
//
// A part has samples of one hour.
#pragma once

#include <cstdint>
#include <functional>

#include "schemas/vocabulary/error.h"
#include "target-collector/intake/push/pushed_profile.h"
#include "target-collector/intake/session/sealed_rows.h"

namespace perfleet {

// A hash that names a part of a profile, or the content of a request.
struct PushHash {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend auto operator<=>(const PushHash&, const PushHash&) = default;
};

[[nodiscard]] PushHash hash_of_push(std::string_view client, std::string_view path, std::string_view body);
// Of part `number` of a profile, or of profile `number` of a request.
[[nodiscard]] PushHash hash_of_part(PushHash of, std::uint64_t number);

struct WrittenProfile {
    std::vector<PushHash> parts;  // that were written
    std::uint64_t parts_there = 0;
    std::uint64_t rows = 0;            // of samples that were written
    std::uint64_t labels_dropped = 0;  // samples whose labels are longer than limits::kRawBytesMax
};

// Appends the parts of which `is_stored` isn't true. The session's events are the profile's types. Errors: those of
// `rows`.
[[nodiscard]] Result<WrittenProfile> append_profile(const PushedProfile& profile, PushHash hash,
                                                    const std::function<bool(PushHash)>& is_stored, SealedRows& rows);

// Size of SealedRows' ring with which any part is one batch.
inline constexpr std::size_t kPushRingSizeBytes = 8U << 20;

}  // namespace perfleet
