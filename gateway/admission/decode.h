// From frames to messages: the border at which libcapnp reads what came from outside.
//
// Bounded by the frame: a message that points at the same bytes again and again is refused. Counts are held against
// vocabulary/batch_limits.h before anything is allocated. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "gateway/admission/untrusted.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class Decoder {
public:
    Decoder();
    ~Decoder();
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    // Borrowed from `frame` and the decoder, until the next call. Errors: kTooLarge, kTruncated, kInvalid.
    [[nodiscard]] Result<MessageUntrusted> decode(std::span<const std::byte> frame);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace perfleet
