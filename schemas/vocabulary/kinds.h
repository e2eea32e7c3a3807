// What gateways and readers ask of a kind of rows: one line each.
//
// Freestanding.
#pragma once

#include <array>
#include <cstddef>

#include "schemas/vocabulary/kind.h"

namespace perfleet {

struct KindTraits {
    Kind kind{};
    bool is_measured = false;     // its rows are of an event, or may be; the others give meaning to these
    bool needs_event = false;     // no row of it is of kNoEvent
    bool has_call_chain = false;  // counted by `top`; the rows of scripts, timelines and flame graphs
};

inline constexpr std::array kKinds{
    KindTraits{.kind = Kind::kSample, .is_measured = true, .needs_event = true, .has_call_chain = true},
    KindTraits{.kind = Kind::kTracepoint, .is_measured = true, .needs_event = true, .has_call_chain = true},
    KindTraits{.kind = Kind::kKernelEntry, .is_measured = true},
    KindTraits{.kind = Kind::kUtilisation, .is_measured = true},
    KindTraits{.kind = Kind::kLatency, .is_measured = true},
    KindTraits{.kind = Kind::kCounter, .is_measured = true, .needs_event = true},
    KindTraits{.kind = Kind::kTask},
    KindTraits{.kind = Kind::kStack},
    KindTraits{.kind = Kind::kImage},
    KindTraits{.kind = Kind::kString},
    KindTraits{.kind = Kind::kControl},
    KindTraits{.kind = Kind::kRecord},
};
static_assert(kKinds.size() == kKindLast - kKindFirst + 1);

[[nodiscard]] constexpr bool is_kind(Kind kind, bool KindTraits::*trait) {
    for (const KindTraits& traits : kKinds) {
        if (traits.kind == kind) {
            return traits.*trait;
        }
    }
    return false;
}

// All kinds that have it.
template <bool KindTraits::*trait>
[[nodiscard]] consteval auto kinds_with() {
    constexpr auto kCount = [] {
        std::size_t count = 0;
        for (const KindTraits& traits : kKinds) {
            count += traits.*trait ? 1 : 0;
        }
        return count;
    }();
    std::array<Kind, kCount> kinds{};
    std::size_t next = 0;
    for (const KindTraits& traits : kKinds) {
        if (traits.*trait) {
            kinds[next++] = traits.kind;
        }
    }
    return kinds;
}
inline constexpr auto kKindsWithCallChains = kinds_with<&KindTraits::has_call_chain>();

}  // namespace perfleet
