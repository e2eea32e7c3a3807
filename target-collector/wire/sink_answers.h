// The answers of a sink in place of a gateway, for frames that it has written: Welcome and Ack. A session that requests
// its id gets protocol::kSessionGivenAtImport, which the import of the file replaces.
//
// Freestanding; one thread.
#pragma once

#include <cstddef>
#include <span>

#include "schemas/vocabulary/ids.h"
#include "schemas/vocabulary/result.h"
#include "schemas/vocabulary/time.h"
#include "target-collector/message/wire_layout.h"

namespace perfleet {

class SinkAnswers {
public:
    // Records a frame that was written whole, and returns its message type. Faults: not a collector's message.
    [[nodiscard]] Checked<wire_layout::MessageTag> take(std::span<const std::byte> frame);
    // Everything is as durable as this sink can make it: acknowledges the Bye as finished.
    void finish() { is_finished_ = true; }

    // Writes the next due answer and returns its size in bytes; 0: none. `utc` is the sink's time; 0: unknown. Faults:
    // kFull.
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
