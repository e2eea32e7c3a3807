// A session's identity when peers have keys: name, id and labels are those of the key's enrolment. A Hello that says
// otherwise is refused.
#pragma once

#include "schemas/peers/key_file.h"
#include "schemas/session/session_record.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// Sets target and labels of `record` from the enrolment. The collector may omit them or send the same. Errors:
// kPermission, with what it sent, what its key stands for, and the way out.
[[nodiscard]] Result<Done> take_enrolled_identity(SessionRecord& record, const Enrolment& peer);

}  // namespace perfleet
