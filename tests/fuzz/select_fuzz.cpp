// Text of --select, --from and --to. Whatever parses is a valid condition for a session, and a parsed time parses again
// as it is printed.
#include "query-engine/select/selection.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size_bytes) {
    using namespace perfleet;
    FuzzInput input{data, size_bytes};
    const std::string_view text = input.rest_text();
    if (const auto matchers = parse_matchers(text); matchers.ok()) {
        SessionRecord session;
        session.target_name = "board-7";
        session.architecture = "aarch64";
        session.labels = {{"env", "prod"}, {"rack", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}};
        if (const auto matched = matches(*matchers, session); !matched.ok()) {
            PERFLEET_ASSERT(matched.error().code == ErrorCode::kUsage);
        }
    } else {
        PERFLEET_ASSERT(matchers.error().code == ErrorCode::kUsage && !matchers.error().message.empty());
    }
    if (const auto time = parse_time(text, UtcNs{1'700'000'000'000'000'000}); time.ok()) {
        const auto again = parse_time(format_time(*time), UtcNs{0});
        PERFLEET_ASSERT(again.ok() && *again == *time);
    }
    return 0;
}
