// Decodes frames into messages: the only place where libcapnp reads bytes from peers.
//
// Work and memory are bounded by the size of the frame: a message that points at the same bytes again and again is
// refused. Counts are compared with vocabulary/batch_limits.h before memory is allocated. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "gateway/admission/untrusted.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class Decoder : NonCopyable {
public:
    Decoder();
    ~Decoder();

    // The message borrows from `frame` and the decoder, until the next call. Errors: kTooLarge, kTruncated, kInvalid.
    [[nodiscard]] Result<MessageUntrusted> decode(std::span<const std::byte> frame);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace perfleet
