// Sessions of pushed profiles: one for each client, target, producer, labels and types of values. It begins with its
// first profile and ends after an hour, or after kIdleNs without another one; so an agent that pushes every few seconds
// has 24 a day.
//
// Exactly once: each part of a profile (profile_rows.h) is stored with its hash, and the hashes of the last
// kRememberedNs are known here, also after a restart: `load` finds them in the store. After an error of the gateway,
// when it is unknown what was stored, they are read again.
//
// Threads: any; requests of one session wait for each other. Limits: kSessionsMax open sessions, kHashesMax hashes;
// beyond them kBusy.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "schemas/vocabulary/log_event.h"
#include "target-collector/intake/push/profile_rows.h"
#include "target-collector/intake/session/session_writer.h"

namespace perfleet {

struct PushOutcome {
    std::uint64_t profiles = 0;
    std::uint64_t rows = 0;         // that were stored now
    std::uint64_t parts_there = 0;  // that were stored before
    std::uint64_t labels_dropped = 0;
    std::uint64_t rejected_count = 0;
    std::string rejected_why;
};

// A new session for profiles like this one.
[[nodiscard]] SessionRecord pushed_session(const std::string& client, const PushedProfile& profile, UtcNs now);

class PushedSessions {
public:
    static constexpr std::size_t kSessionsMax = 1'024;
    static constexpr std::size_t kHashesMax = 1U << 18;
    static constexpr std::int64_t kSessionNs = 3'600 * kNsPerSecond;
    static constexpr std::int64_t kIdleNs = 300 * kNsPerSecond;
    static constexpr std::int64_t kRememberedNs = 24 * 3'600 * kNsPerSecond;
    static constexpr std::int64_t kUnsureNs = 5 * kNsPerSecond;  // hashes are read again for so long after trouble

    // With the time of each.
    using Hashes = std::map<PushHash, UtcNs>;
    // Reads the hashes that were stored since then.
    using LoadHashes = std::function<Result<Hashes>(UtcNs since)>;
    using Clock = std::function<UtcNs()>;

    // Borrows `destination`.
    PushedSessions(SessionDestination& destination, Clock clock, LogSink log);
    // Ends no session: another object may continue them.
    ~PushedSessions();

    // When it returns, all is acknowledged. Errors: kBusy (above a limit), kInvalid, those of `load` and of the
    // destination; then a part may be stored, and the same request stores the rest.
    [[nodiscard]] Result<PushOutcome> store(const std::string& client, PushHash request, const PushedRequest& profiles,
                                            const LoadHashes& load);

    // Ends sessions that have been idle or open for too long; also called by itself, every few seconds.
    void end_old();

private:
    struct Session;

    [[nodiscard]] Result<Done> check_known(UtcNs now, const LoadHashes& load);
    [[nodiscard]] Result<std::shared_ptr<Session>> session_of(const std::string& client, const PushedProfile& profile,
                                                              UtcNs now);
    [[nodiscard]] Result<WrittenProfile> write(Session& session, const PushedProfile& profile, PushHash hash,
                                               UtcNs now);
    [[nodiscard]] Result<Done> end(Session& session);
    void drop(const std::shared_ptr<Session>& session);

    SessionDestination& destination_;
    Clock clock_;
    LogSink log_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::map<std::string, std::shared_ptr<Session>> sessions_;  // by client, target, producer, labels and types of
                                                                // values
    Hashes hashes_;
    bool is_loaded_ = false;
    UtcNs loaded_;
    UtcNs unsure_until_;
    UtcNs next_forgetting_;
    std::set<PushHash> running_;  // requests
    std::jthread ender_;
};

}  // namespace perfleet
