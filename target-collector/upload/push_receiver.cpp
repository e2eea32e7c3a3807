#include "target-collector/upload/push_receiver.h"

#include <utility>

#include "schemas/host/host_clock.h"
#include "target-collector/intake/push/otlp_profiles.h"
#include "target-collector/intake/push/pyroscope_profiles.h"

namespace perfleet {
namespace {

Result<PushedRequest> read(PushedBody body, UtcNs now) {
    switch (body.format) {
        case PushFormat::kOtlp: return read_otlp(std::move(body.body), body.client, now);
        case PushFormat::kPyroscopePush: return read_pyroscope_push(std::move(body.body), body.client, now);
        case PushFormat::kPyroscopeIngest: break;
    }
    auto ingested = PERFLEET_TRY(ingested_profile(body.parameters, std::move(body.body)));
    return read_pyroscope_ingest(std::move(ingested), body.client, now);
}

}  // namespace

PushReceiver::PushReceiver(LocalSocket socket, const LogSink& log)
    : socket_{std::move(socket)},
      destination_{{{socket_.endpoint()}, "the gateway", {}}, log, kAnswerTimeoutNs},
      sessions_{destination_, utc_now, log},
      log_{log} {}

Result<std::unique_ptr<PushReceiver>> PushReceiver::make(const std::string& folder, const LogSink& log) {
    auto socket = PERFLEET_TRY(LocalSocket::in(folder, kGatewaySocketName));
    return std::unique_ptr<PushReceiver>{new PushReceiver{std::move(socket), log}};
}

Result<PushOutcome> PushReceiver::store(PushedBody body, const PushedSessions::LoadHashes& load) {
    const std::string client = body.client;
    std::string how = std::to_string(static_cast<int>(body.format));
    for (const auto& [name, value] : body.parameters) {
        how += '&' + name + '=' + value;
    }
    const PushHash hash = hash_of_push(client, how, body.body);
    const auto profiles = PERFLEET_TRY(read(std::move(body), utc_now()));
    return sessions_.store(client, hash, profiles, load);
}

Result<PushOutcome> PushReceiver::take(PushedBody body, const PushedSessions::LoadHashes& load) {
    const std::string who = body.client.empty() ? "a client" : "client " + body.client;
    auto outcome = store(std::move(body), load);
    ++requests_;
    if (!outcome.ok()) {
        ++refused_;
        log_({LogLevel::kNotice, "push", "a request of " + who + " is refused: " + outcome.error().message});
        return outcome;
    }
    rows_ += outcome->rows;
    profiles_rejected_ += outcome->rejected_count;
    if (outcome->rejected_count > 0) {
        log_({LogLevel::kNotice, "push",
              std::to_string(outcome->rejected_count) + " profiles of " + who +
                  " are rejected: " + outcome->rejected_why});
    }
    if (outcome->labels_dropped > 0) {
        log_({LogLevel::kNotice, "push",
              std::to_string(outcome->labels_dropped) + " samples of " + who +
                  " are stored without their labels, which have more than 65,535 bytes"});
    }
    return outcome;
}

}  // namespace perfleet
