#include "tools/perfleet/import/session/own_session.h"

#include <variant>

#include "gateway/admission/admit_hello.h"
#include "gateway/admission/decode.h"
#include "target-collector/intake/session/session_hello.h"

namespace perfleet {

Result<SessionRecord> admit_own(const SessionRecord& record) {
    const auto message = PERFLEET_TRY(hello_of(record));
    Decoder decoder;
    const auto decoded = PERFLEET_TRY(decoder.decode(message));
    return admit_hello(std::get<HelloUntrusted>(decoded));
}

}  // namespace perfleet
