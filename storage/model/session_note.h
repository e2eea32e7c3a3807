// A user's notes on a session, and the seq up to which it is resolved.
//
// Plain values that own their memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/ids.h"

namespace perfleet {

// A user's notes on a session.
struct SessionNote {
    std::string given_name;   // empty: none
    bool is_removed = false;  // its rows count as expired, including later ones

    friend bool operator==(const SessionNote&, const SessionNote&) = default;
};

inline constexpr std::size_t kGivenNameSizeBytesMax = 64;

// The seq up to which a session is resolved.
struct SessionPrefix {
    TargetId target;
    SessionId session;
    Seq prefix;
};

// Checks a name that a user gives to a session. Errors: kInvalid, saying why.
[[nodiscard]] Result<Done> check_given_name(std::string_view text_untrusted);

}  // namespace perfleet
