#include "target-collector/intake/push/pushed_sessions.h"

#include <algorithm>
#include <utility>

#include "schemas/peers/key_file.h"
#include "schemas/pprof/sample_labels.h"
#include "schemas/wire/hello_limits.h"
#include "target-collector/intake/session/event_of_amounts.h"
#include "target-collector/linux/host/target_identity.h"

namespace perfleet {
namespace {

constexpr std::uint32_t kHoursAheadMax = 1;
constexpr std::chrono::seconds kEndInterval{5};
constexpr std::int64_t kForgettingNs = 60 * kNsPerSecond;
constexpr std::int64_t kLoadNsMin = kNsPerSecond / 4;

std::string bounded(std::string text) {
    text.resize(std::min(text.size(), hello_limits::kNameSizeBytesMax));
    return text;
}

// The common properties of a session's profiles.
std::string key_of(const std::string& client, const PushedProfile& profile) {
    std::string key;
    const auto add = [&](std::string_view text) {
        key += std::to_string(text.size()) + ':';
        key += text;
    };
    add(client);
    add(profile.target);
    add(profile.producer);
    for (const PushedType& type : profile.types) {
        add(type.name);
        add(type.unit);
    }
    for (const auto& [name, value] : profile.labels) {
        add(name);
        add(value);
    }
    return key;
}

bool lies_ahead(const PushedProfile& profile, UtcNs now) {
    return std::ranges::any_of(profile.samples, [&](const PushedSample& sample) {
        return bucket_of(UtcNs{sample.time_ns}).value > bucket_of(now).value + kHoursAheadMax;
    });
}

}  // namespace

SessionRecord pushed_session(const std::string& client, const PushedProfile& profile, UtcNs now) {
    SessionRecord record;
    record.target_name = bounded(profile.target.empty() ? "pushed" : profile.target);
    record.target = target_id_of(record.target_name);
    record.session = new_session_id();
    auto labels = profile.labels;
    if (!client.empty()) {
        labels["client"] = client;
    }
    labels.try_emplace(kProducerLabel, profile.producer.empty() ? "unknown" : profile.producer);
    record.labels.assign(labels.begin(), labels.end());
    record.start_point = {Ticks{static_cast<std::uint64_t>(now.value)}, now, 0};
    record.linux_clockid = -1;
    record.clock_name = "utc";
    record.ticks_per_second = static_cast<std::uint64_t>(kNsPerSecond);
    record.collector_version = kPushCollector;
    for (const PushedType& type : profile.types) {
        record.events.push_back(event_of_amounts(type.name, type.unit));
    }
    return record;
}

struct PushedSessions::Session {
    std::string key;
    SessionRecord record;
    UtcNs began;
    UtcNs used;
    std::mutex mutex;  // of one request at a time
    SealedRows::Before before;
    bool is_over = false;
};

PushedSessions::PushedSessions(SessionDestination& destination, Clock clock, LogSink log)
    : destination_{destination}, clock_{std::move(clock)}, log_{std::move(log)} {
    ender_ = std::jthread{[this](const std::stop_token& stop) {
        std::mutex sleeping;
        std::condition_variable_any woken;
        std::unique_lock lock{sleeping};
        while (!woken.wait_for(lock, stop, kEndInterval, [&] { return stop.stop_requested(); })) {
            end_old();
        }
    }};
}

PushedSessions::~PushedSessions() = default;

// With the mutex held.
Result<Done> PushedSessions::check_known(UtcNs now, const LoadHashes& load) {
    if (now.value >= next_forgetting_.value) {
        std::erase_if(hashes_, [&](const auto& one) { return one.second.value < now.value - kRememberedNs; });
        next_forgetting_ = UtcNs{now.value + kForgettingNs};
    }
    if (!is_loaded_ || (now < unsure_until_ && now.value - loaded_.value >= kLoadNsMin)) {
        const UtcNs since{is_loaded_ ? now.value - 2 * kSessionNs : now.value - kRememberedNs};
        hashes_.merge(PERFLEET_TRY(load(since)));
        unsure_until_ = is_loaded_ ? unsure_until_ : UtcNs{now.value + kUnsureNs};
        is_loaded_ = true;
        loaded_ = now;
    }
    return hashes_.size() < kHashesMax
               ? Result<Done>{Done{}}
               : Error{ErrorCode::kBusy,
                       "more than " + std::to_string(kHashesMax) +
                           " parts of profiles came within a day, and more can't be distinguished from "
                           "repeated ones: send larger profiles, less often"};
}

Result<std::shared_ptr<PushedSessions::Session>> PushedSessions::session_of(const std::string& client,
                                                                            const PushedProfile& profile, UtcNs now) {
    std::string key = key_of(client, profile);
    const std::lock_guard lock{mutex_};
    if (const auto known = sessions_.find(key); known != sessions_.end()) {
        known->second->used = now;
        return known->second;
    }
    if (sessions_.size() == kSessionsMax) {
        return Error{ErrorCode::kBusy, std::to_string(kSessionsMax) +
                                           " sessions of pushed profiles are open: fewer kinds of labels, or wait for "
                                           "five minutes"};
    }
    auto session = std::make_shared<Session>();
    session->key = key;
    session->record = pushed_session(client, profile, now);
    session->began = now;
    session->used = now;
    return sessions_[std::move(key)] = session;
}

Result<WrittenProfile> PushedSessions::write(Session& session, const PushedProfile& profile, PushHash hash, UtcNs now) {
    const auto writer = PERFLEET_TRY(destination_.begin(session.record, now));
    SealedRows rows{*writer, session.before, kPushRingSizeBytes};
    const auto is_stored = [this](PushHash part) {
        const std::lock_guard lock{mutex_};
        return hashes_.contains(part);
    };
    auto written = PERFLEET_TRY(append_profile(profile, hash, is_stored, rows));
    PERFLEET_TRY(writer->sync());
    session.before = rows.so_far();
    const std::lock_guard lock{mutex_};
    for (const PushHash part : written.parts) {
        hashes_.try_emplace(part, now);
    }
    return written;
}

Result<PushOutcome> PushedSessions::store(const std::string& client, PushHash request, const PushedRequest& profiles,
                                          const LoadHashes& load) {
    const UtcNs now = clock_();
    {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [&] { return !running_.contains(request); });  // the same one, sent again too early
        PERFLEET_TRY(check_known(now, load));
        running_.insert(request);
    }
    struct Running {
        PushedSessions& sessions;
        PushHash request;
        ~Running() {
            {
                const std::lock_guard lock{sessions.mutex_};
                sessions.running_.erase(request);
            }
            sessions.changed_.notify_all();
        }
    } const running{*this, request};
    PushOutcome outcome;
    outcome.rejected_count = profiles.rejected_count;
    outcome.rejected_why = profiles.rejected_why;
    for (std::size_t i = 0; i < profiles.profiles.size(); ++i) {
        const PushedProfile& profile = profiles.profiles[i];
        if (lies_ahead(profile, now)) {
            outcome.rejected_why = outcome.rejected_count++ == 0
                                       ? "its time is more than an hour ahead of the gateway's"
                                       : outcome.rejected_why;
            continue;
        }
        ++outcome.profiles;
        if (profile.samples.empty()) {
            continue;
        }
        auto session = PERFLEET_TRY(session_of(client, profile, now));
        std::unique_lock one_at_a_time{session->mutex};
        while (session->is_over) {  // while this one waited
            auto next = PERFLEET_TRY(session_of(client, profile, now));
            one_at_a_time = std::unique_lock{next->mutex};
            session = std::move(next);
        }
        const auto written = write(*session, profile, hash_of_part(request, i), now);
        if (!written.ok()) {
            drop(session);
            return Error{written.error()};
        }
        outcome.rows += written->rows;
        outcome.parts_there += written->parts_there;
        outcome.labels_dropped += written->labels_dropped;
    }
    return outcome;
}

// It is unknown what was stored of it: another session continues.
void PushedSessions::drop(const std::shared_ptr<Session>& session) {
    const std::lock_guard lock{mutex_};
    session->is_over = true;
    sessions_.erase(session->key);
    unsure_until_ = UtcNs{clock_().value + kUnsureNs};
    loaded_ = {};
}

Result<Done> PushedSessions::end(Session& session) {
    const auto writer = PERFLEET_TRY(destination_.begin(session.record, clock_()));
    SealedRows rows{*writer, session.before, kPushRingSizeBytes};
    const UtcNs now = clock_();
    return rows.finish(ClockPoint{Ticks{static_cast<std::uint64_t>(now.value)}, now, 0});
}

void PushedSessions::end_old() {
    const UtcNs now = clock_();
    std::vector<std::shared_ptr<Session>> ended;
    {
        const std::lock_guard lock{mutex_};
        for (const auto& [key, session] : sessions_) {
            if (now.value - session->used.value > kIdleNs || now.value - session->began.value > kSessionNs) {
                ended.push_back(session);
            }
        }
    }
    for (const std::shared_ptr<Session>& session : ended) {
        const std::unique_lock one_at_a_time{session->mutex, std::try_to_lock};
        if (!one_at_a_time) {
            continue;
        }
        session->is_over = true;
        {
            const std::lock_guard lock{mutex_};
            sessions_.erase(session->key);
        }
        if (const auto done = end(*session); !done.ok()) {
            log_({LogLevel::kWarning, "push", "a session of pushed profiles has no end: " + done.error().message});
        }
    }
}

}  // namespace perfleet
