// gzip, for bodies of requests and replies.
//
// One thread an object.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

// Compresses a body piece by piece.
class GzipBody : NonCopyable {
public:
    GzipBody();
    ~GzipBody();

    // The compressed bytes that can be sent now; after the last piece, all that remain.
    [[nodiscard]] std::string add(std::string_view bytes, bool is_last);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Errors: kInvalid (not gzip, or truncated), kTooLarge.
[[nodiscard]] Result<std::string> gunzip(std::string_view bytes_untrusted, std::size_t size_bytes_max);

}  // namespace perfleet
