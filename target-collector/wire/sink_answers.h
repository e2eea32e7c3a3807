// What a sink answers in a gateway's place, for frames that it has written: it welcomes, and acknowledges. A session
// that wants to be granted gets protocol::kSessionGivenAtImport, which whoever imports the file replaces.
//
// Freestanding; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/wire_layout.h"

namespace perfleet {

class SinkAnswers {
public:
    // Takes note of a frame that was written whole, and tells which message it is. Faults: it is none of a collector's.
    [[nodiscard]] Checked<wire_layout::MessageTag> take(std::span<const std::byte> frame);
    // Everything is as durable as this sink makes it: the Bye that was taken is acknowledged as such.
    void finish() { is_finished_ = true; }

    // The next answer that is due; 0: none is. `utc` is the sink's own; 0 where it knows none. Faults: kFull.
    [[nodiscard]] Checked<std::size_t> write_next(std::span<std::byte> into, UtcNs utc);
    [[nodiscard]] bool is_due() const { return is_welcome_due_ || is_ack_due_; }

private:
    [[nodiscard]] Checked<std::size_t> write_welcome(std::span<std::byte> into, UtcNs utc) const;
    [[nodiscard]] Checked<std::size_t> write_ack(std::span<std::byte> into) const;

    SessionId session_;
    Seq prefix_;
    bool is_welcome_due_ = false;
    bool is_ack_due_ = false;
    bool is_finished_ = false;
};

}  // namespace perfleet
