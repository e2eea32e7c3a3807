// What agents push: the first byte chooses OTLP in protobuf or JSON, Pyroscope's PushRequest, bodies of /ingest, or a
// form, or the parameters of /ingest. What is read becomes batches that a store admits, a part each; the same profile
// again becomes none.
#include <array>
#include <set>

#include "query-engine/http/http_message.h"
#include "query-engine/http/push/multipart.h"
#include "query-engine/http/push/push_messages.h"
#include "schemas/vocabulary/assert.h"
#include "storage/store/memory_store.h"
#include "target-collector/intake/push/otlp_profiles.h"
#include "target-collector/intake/push/pushed_sessions.h"
#include "target-collector/intake/push/pyroscope_profiles.h"
#include "tests/fuzz/fuzz_input.h"
#include "tools/perfleet/import/session/stored_session_writer.h"

namespace perfleet::push_fuzz {
namespace {

constexpr UtcNs kNow{1'700'000'000'000'000'000};

void keep(const PushedRequest& request) {
    const auto store = make_memory_store();
    StoreDestination destination{*store};
    std::set<PushHash> stored;
    for (const PushedProfile& profile : request.profiles) {
        PERFLEET_ASSERT(profile.tables != nullptr && !profile.types.empty());
        for (int round = 0; round < 2; ++round) {
            const auto writer = destination.begin(pushed_session("fuzz", profile, kNow), kNow);
            PERFLEET_ASSERT(writer.ok());
            SealedRows rows{**writer, SealedRows::Before{}, kPushRingSizeBytes};
            const auto is_stored = [&](PushHash part) { return stored.contains(part); };
            const auto written = append_profile(profile, PushHash{1, 2}, is_stored, rows);
            // The store takes no batch of the far future.
            if (!written.ok()) {
                PERFLEET_ASSERT(written.error().message.find("future") != std::string::npos);
                break;
            }
            PERFLEET_ASSERT(rows.last_seq().value == written->parts.size());
            PERFLEET_ASSERT(round == 0 || written->parts.empty());
            stored.insert(written->parts.begin(), written->parts.end());
        }
    }
}

void take(const Result<PushedRequest>& request) {
    if (request.ok()) {
        keep(*request);
    }
}

void read(std::uint8_t choice, std::string body) {
    switch (choice % 7) {
        case 0: return take(read_otlp(std::move(body), "client", kNow));
        case 1:
            if (const auto message = read_json(otlp_request_type(), body); message.ok()) {
                take(read_otlp(write_protobuf(otlp_request_type(), *message), "client", kNow));
            }
            return;
        case 2: return take(read_pyroscope_push(std::move(body), "", kNow));
        case 3:
            if (const auto message = read_json(pyroscope_push_type(), body); message.ok()) {
                take(read_pyroscope_push(write_protobuf(pyroscope_push_type(), *message), "", kNow));
            }
            return;
        case 4: {
            // The first line is the name, its first letter the format.
            const std::size_t line = std::min(body.find('\n'), body.size());
            constexpr std::array kFormats{"", "folded", "lines", "pprof"};
            IngestedProfile profile;
            profile.name = body.substr(0, line);
            profile.format = kFormats[static_cast<std::uint8_t>(body.empty() ? 0 : body[0]) % kFormats.size()];
            profile.body = body.substr(std::min(line + 1, body.size()));
            return take(read_pyroscope_ingest(std::move(profile), "", kNow));
        }
        case 5: (void)read_form("multipart/form-data; boundary=b", body); return;
        default: {
            const std::size_t line = std::min(body.find('\n'), body.size());
            const auto parameters = read_parameters(std::string_view{body}.substr(0, line));
            if (!parameters.ok()) {
                return;
            }
            auto profile = ingested_profile(*parameters, body.substr(std::min(line + 1, body.size())));
            if (profile.ok()) {
                take(read_pyroscope_ingest(std::move(*profile), "", kNow));
            }
        }
    }
}

}  // namespace
}  // namespace perfleet::push_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0) {
        perfleet::push_fuzz::read(data[0], {reinterpret_cast<const char*>(data) + 1, size - 1});
    }
    return 0;
}
