// A session's identity where keys say who is who: name, id and labels are those of the enrolment, whatever else a
// collector says is refused.
#pragma once

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/error.h"
#include "storage/model/session.h"

namespace perfleet {

// Gives `record` its target and labels. A collector may leave them out, or say the same. Errors: kPermission, with what
// it said, what its key stands for, and the way out.
[[nodiscard]] Result<Done> take_enrolled_identity(SessionRecord& record, const Enrolment& peer);

}  // namespace perfleet
