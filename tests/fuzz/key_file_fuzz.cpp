// Key files and enrolments. Whatever is read must come back from its own text, and no error may show a secret.
#include <string>

#include "schemas/peers/key_file.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/batch_limits.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::string_view text = input.rest_text();
    if (const auto key = decode_public_key(text)) {
        PERFLEET_ASSERT(encode_public_key(*key) == text);
    }
    const std::string place = "place";
    if (const auto enrolment = parse_enrolment(text, place); enrolment.ok()) {
        PERFLEET_ASSERT(is_peer_name(enrolment->name) && enrolment->target == target_id_of(enrolment->name));
        PERFLEET_ASSERT(enrolment->labels.size() <= limits::kLabelsMax);
        const auto again = parse_enrolment(format_enrolment(*enrolment), place);
        PERFLEET_ASSERT(again.ok() && *again == *enrolment);
    } else {
        PERFLEET_ASSERT(enrolment.error().message.starts_with(place + ":"));
    }
    if (const auto secret = parse_secret_key(text, place); secret.ok()) {
        const auto again = parse_secret_key(format_secret_key(*secret), place);
        PERFLEET_ASSERT(again.ok() && again->secret_text == secret->secret_text && again->name == secret->name);
        // As an enrolment it is refused, without a word of its content.
        const auto refused = parse_enrolment(text, place);
        PERFLEET_ASSERT(!refused.ok() && refused.error().message.find(secret->secret_text) == std::string::npos);
    } else {
        PERFLEET_ASSERT(secret.error().message.starts_with(place + ":"));
    }
    return 0;
}
