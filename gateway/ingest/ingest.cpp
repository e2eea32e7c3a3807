#include "gateway/ingest/ingest.h"

#include <algorithm>
#include <utility>

#include "gateway/ingest/ingest_state.h"

namespace perfleet {
namespace {

using protocol::RefusedReason;

constexpr int kFinishTriesMax = 3;

// Temporary errors: a full disk gets space again, a file system returns.
bool is_survivable(ErrorCode code) {
    return code == ErrorCode::kFull || code == ErrorCode::kIo || code == ErrorCode::kBusy ||
           code == ErrorCode::kUnavailable;
}

MessageMalformed malformed_of(ErrorCode code) {
    return code == ErrorCode::kTooLarge    ? MessageMalformed::kTooLarge
           : code == ErrorCode::kTruncated ? MessageMalformed::kTruncated
           : code == ErrorCode::kCorrupt   ? MessageMalformed::kChecksum
                                           : MessageMalformed::kUnreadable;
}

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

// Of the memory for known keys, targets may take a quarter, labels half, and session ids the rest.
Cardinality::Limits bounded(Cardinality::Limits limits, const MemoryPlan& memory) {
    limits.targets_known_max = std::min(limits.targets_known_max, memory.known_bytes() / 4 / KnownKeys::kKeySizeBytes);
    limits.labels_known_max = std::min(limits.labels_known_max, memory.known_bytes() / 2 / KnownKeys::kKeySizeBytes);
    return limits;
}

SessionTable::Limits table_limits(std::size_t sessions_max, const MemoryPlan& memory) {
    const std::size_t known_max = memory.known_bytes() / 4 / KnownKeys::kKeySizeBytes;
    return {sessions_max, memory.sessions_bytes(), std::min<std::size_t>(known_max, intake_limits::kSessionsKnownMax)};
}

}  // namespace

Ingest::State::State(Options with, Store& into, PeerLink& over)
    : options{std::move(with)},
      store{into},
      leases{into.leases()},
      link{over},
      credit{options.memory.credit_bytes()},
      table{table_limits(options.sessions_max, options.memory), credit},
      acknowledger{options.incarnation, table, credit, link},
      cardinality{bounded(options.cardinality, options.memory)},
      images{options.asks_for_symbols ? options.memory.images_bytes() : 0},
      requests{options.incarnation, link} {
    counts.memory_bytes_max = options.memory.size_bytes;
    counts.credit_bytes_max = credit.budget_bytes();
}

void Ingest::State::log(const LogEvent& event) const {
    if (options.log) {
        options.log(event);
    }
}

std::uint64_t Ingest::State::time_ns(const Now& now) const {
    return options.monotonic_ns ? options.monotonic_ns() : now.monotonic_ns;
}

void Ingest::State::warn(std::string text) {
    if (++warning_count > intake_limits::kWarningsMax) {
        return;
    }
    std::replace_if(
        text.begin(), text.end(),
        [](char letter) { return static_cast<unsigned char>(letter) < ' ' || letter == 0x7f; }, '?');
    log(text);
}

bool Ingest::State::add_strike(const std::string& routing_id, PeerCut reason, std::size_t size_bytes) {
    static_assert(kReasonCount<PeerCut> <= AbuseLimiter::kKindsMax);
    if (abuse_limiter.is_enough(routing_id, static_cast<std::size_t>(reason), size_bytes)) {
        counts.peers_cut.add(reason);
        warn("a peer was cut off: " + std::string{reason_name(reason)});
        link.cut(routing_id);
        forget_peer(routing_id);
        return true;
    }
    return false;
}

void Ingest::State::forget_peer(const std::string& routing_id) {
    table.detach(routing_id);
    images.forget(routing_id);
    abuse_limiter.forget(routing_id);
}

void Ingest::State::refuse_session(const std::string& routing_id, SessionId session, SessionRefusal why,
                                   RefusedReason reason, const std::string& message) {
    counts.sessions_refused.add(why);
    warn("a collector was refused: " + message);
    send(routing_id, encode_refused({session, Seq{0}, reason, message}));
    add_strike(routing_id, PeerCut::kRefused, frame_size_bytes);
}

void Ingest::State::refuse_batch(Session& session, Seq seq, RefusedReason reason, const std::string& message) {
    const std::string text =
        "batch " + std::to_string(seq.value) + " of '" + session.record.target_name + "' was refused: " + message;
    if (session.refusals.empty()) {
        warn(text + " (further ones of this session are only counted)");
    }
    std::erase_if(session.refusals, [&](const Session::Refusal& refusal) { return refusal.seq == seq; });
    session.refusals.push_back({seq, reason});
    if (session.refusals.size() > intake_limits::kRefusalsRememberedMax) {
        session.refusals.pop_front();
    }
    if (!session.routing_id.empty()) {
        send(session.routing_id, encode_refused({session.record.session, seq, reason, text}));
    }
}

bool Ingest::State::is_group_full() const { return group.size_bytes() >= options.memory.group_bytes() && !is_stuck(); }

bool Ingest::State::is_commit_due(const Now& now) const {
    if (group.is_empty() && !(group.has_late_watermarks() && are_watermarks_due(now))) {
        return false;
    }
    return is_stuck() ? now.monotonic_ns >= retry_at_ns
                      : group.is_empty() || is_group_full() || now.monotonic_ns - gathering_since_ns >= group_ns();
}

Result<Done> Ingest::State::commit(const Now& now, bool writes_watermarks) {
    const std::uint64_t began_ns = time_ns(now);
    writes_watermarks = writes_watermarks || are_watermarks_due(now);
    auto outcome = group.commit(
        store, table, writes_watermarks ? CommitGroup::Watermarks::kWithBatches : CommitGroup::Watermarks::kLater);
    const std::uint64_t ended_ns = time_ns(now);
    if (!outcome) {
        ++counts.commits_failed;
        counts.is_store_stuck = true;
        return wait_for_store(outcome.error(), now);
    }
    last_watermarks_ns = writes_watermarks ? now.monotonic_ns : last_watermarks_ns;
    counts.commits_took.observe(ended_ns - began_ns);
    ++counts.group_commits;
    counts.batches_stored += outcome->stored;
    counts.batches_duplicate += outcome->duplicate;
    counts.batches_expired += outcome->expired;
    counts.batches_skipped += outcome->skipped;
    counts.rows_stored += outcome->rows_stored;
    for (std::size_t i = 0; i < outcome->rows_lost.size(); ++i) {
        counts.rows_lost[i] += outcome->rows_lost[i];
    }
    counts.images_stored += outcome->images.size();
    for (const std::string& build_id : outcome->images) {
        images.remember(build_id);
    }
    for (const auto& [session, seq] : outcome->conflicts) {
        on_conflict(*session, seq);
    }
    for (const SessionPtr& session : outcome->sessions) {
        acknowledger.acknowledge(session, now.monotonic_ns);
    }
    const std::uint64_t acknowledged_ns = time_ns(now);
    for (const SessionPtr& session : outcome->sessions) {
        const std::uint64_t since_ns = std::exchange(session->unacknowledged_since_ns, 0);
        if (since_ns != 0 && !session->routing_id.empty()) {
            counts.acknowledged_after.observe(acknowledged_ns - since_ns);
        }
    }
    if (is_stuck()) {
        store_again();
    }
    return Done{};
}

void Ingest::State::store_again() {
    retry_after_ns = 0;
    counts.is_store_stuck = false;
    log({LogLevel::kNotice, "store", "storing again"});
    ask_again();
}

// Collectors would send ignored messages again by themselves, but after ever longer times.
void Ingest::State::ask_again() {
    std::vector<SessionPtr> sessions;
    table.for_each_peer([&](const SessionPtr& session) {
        if (std::exchange(session->was_ignored_while_stuck, false)) {
            sessions.push_back(session);
        }
    });
    for (const SessionPtr& session : sessions) {
        send(session->routing_id, encode_hello_again(options.incarnation));
    }
}

Result<Done> Ingest::State::wait_for_store(const Error& error, const Now& now) {
    if (!is_survivable(error.code)) {
        return Error{error};
    }
    if (!is_stuck()) {
        log({LogLevel::kError, "store",
             "can't store: " + error.message + "; " + std::to_string(group.batch_count()) +
                 (group.batch_count() == 1 ? " batch waits" : " batches wait") +
                 " in memory, collectors keep theirs; " +
                 (error.code == ErrorCode::kFull ? "free space; "
                  : error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kIo
                      ? "perfleet inspect --verify names the damage; "
                      : "") +
                 "the gateway retries"});
    }
    store_trouble = error.message;
    retry_after_ns = std::clamp(2 * retry_after_ns, intake_limits::kStoreRetryNsMin, intake_limits::kStoreRetryNsMax);
    retry_at_ns = now.monotonic_ns + retry_after_ns;
    return Done{};
}

Result<Done> Ingest::State::enter_shards(std::span<const std::uint16_t> shards) {
    return store.visit_sessions([&](const SessionRecord& record) {
        if (std::find(shards.begin(), shards.end(), shard_of(record.target, store.shards())) != shards.end()) {
            know(record);
        }
        return Visit::kContinue;
    });
}

void Ingest::State::know(const SessionRecord& stored) {
    table.remember(stored.session, stored.target);
    cardinality.know(stored);
}

void Ingest::State::leave_shard(std::uint16_t shard) {
    group.leave_shard(shard, store.shards());
    for (const std::string& routing_id : table.leave_shard(shard, store.shards())) {
        images.forget(routing_id);
        send(routing_id, encode_hello_again(options.incarnation));  // its Hello is answered by Elsewhere
    }
    if (is_stuck() && group.is_empty()) {
        store_again();
    }
}

Result<Done> Ingest::State::take_shard_news(const Now& now) {
    if (leases == nullptr || now.monotonic_ns - last_news_ns < intake_limits::kShardNewsNs) {
        return Done{};
    }
    last_news_ns = now.monotonic_ns;
    const ShardLeases::News news = leases->take_news();
    for (const std::uint16_t shard : news.lost) {
        leave_shard(shard);
    }
    if (auto entered = news.taken.empty() ? Done{} : enter_shards(news.taken); !entered) {
        warn("can't read the sessions of shards, and gives them up: " + entered.error().message);
        for (const std::uint16_t shard : news.taken) {
            leases->give_up(shard);
        }
    }
    std::size_t given_up = 0;
    if (!news.surplus.empty() && !is_stuck()) {
        PERFLEET_TRY(group.is_empty() && !group.has_late_watermarks() ? Done{} : commit(now, true));
        for (const std::uint16_t shard : news.surplus) {
            if (!is_stuck()) {
                leave_shard(shard);
                leases->give_up(shard);
                ++given_up;
            }
        }
    }
    counts.shards_now = leases->held_count();
    if (!news.taken.empty() || !news.lost.empty() || given_up != 0) {
        log({LogLevel::kNotice,
             "shards",
             "holds " + std::to_string(counts.shards_now) + " shards",
             {{"taken", std::to_string(news.taken.size())},
              {"lost", std::to_string(news.lost.size())},
              {"given-up", std::to_string(given_up)}}});
    }
    return Done{};
}

void Ingest::State::go_round(const Now& now) {
    acknowledger.go_round(now.monotonic_ns);
    abuse_limiter.decay();
    for (const std::string& routing_id : images.busy_peers(now.monotonic_ns)) {
        ask_for_image(routing_id, now);
    }
    if (warning_count > intake_limits::kWarningsMax) {
        log(std::to_string(warning_count - intake_limits::kWarningsMax) +
            " more messages about collectors were left out");
    }
    warning_count = 0;
    last_round_ns = now.monotonic_ns;
    report_damage();
}

void Ingest::State::report_damage() {
    for (std::string& damage : store.damage()) {
        if (reported_damage.insert(damage).second) {
            log({LogLevel::kWarning, "store",
                 damage +
                     "; the rest is there, and what comes is stored. Symbols that were lost are asked for again; "
                     "`perfleet inspect --verify --data " +
                     options.data + "` lists what is lost"});
        }
    }
}

Ingest::Ingest(std::unique_ptr<State> state) : state_{std::move(state)} {}

Ingest::~Ingest() = default;

Result<std::unique_ptr<Ingest>> Ingest::open(Options options, Store& store, PeerLink& link) {
    auto state = std::make_unique<State>(std::move(options), store, link);
    PERFLEET_TRY(store.visit_sessions([&](const SessionRecord& record) {
        state->know(record);
        return Visit::kContinue;
    }));
    state->report_damage();
    return std::unique_ptr<Ingest>{new Ingest{std::move(state)}};
}

void Ingest::take(std::string_view routing_id, std::span<const std::byte> frame_untrusted, const Now& now,
                  const Origin& origin) {
    State& state = *state_;
    state.speaker = origin.enrolment;
    state.is_speaker_local = origin.is_local;
    state.arrived_ns = origin.arrived_ns != 0 ? origin.arrived_ns : now.monotonic_ns;
    state.frame_size_bytes = frame_untrusted.size();
    const std::string id{routing_id};
    ++state.counts.messages;
    state.counts.messages_bytes += frame_untrusted.size();
    auto message = state.decoder.decode(frame_untrusted);
    if (!message) {
        state.counts.messages_malformed.add(malformed_of(message.error().code));
        state.add_strike(id, PeerCut::kMalformed, frame_untrusted.size());
        return;
    }
    const bool was_empty = state.group.is_empty();
    std::visit(Overloaded{
                   [&](const HelloUntrusted& hello) { state.on_hello(id, hello, frame_untrusted.size(), now); },
                   [&](const BatchUntrusted& batch) { state.on_batch(id, batch, now); },
                   [&](const ByeUntrusted& bye) { state.on_bye(id, bye, now); },
                   [&](const ImageOffersUntrusted& offers) { state.on_image_offers(id, offers, now); },
                   [&](const ImageUntrusted& image) { state.on_image(id, image, now); },
                   [&](const ControlledUntrusted& controlled) { state.on_controlled(id, controlled, now); },
                   [&](const OtherUntrusted&) {
                       // Only gateways send these, or the type is of a later version: a few do no harm.
                       if (state.table.find_peer(id) == nullptr) {
                           state.send(id, encode_hello_again(state.options.incarnation));
                       }
                       state.add_strike(id, PeerCut::kMalformed, frame_untrusted.size());
                   },
               },
               *message);
    if (was_empty) {
        state.gathering_since_ns = now.monotonic_ns;
    }
}

void Ingest::forget_peer(std::string_view routing_id) { state_->forget_peer(std::string{routing_id}); }

void Ingest::place_request(RequestTicket ticket, const OperatorCommand& order, const Now& now) {
    state_->requests.place(ticket, order, state_->table.find(order.session), now.monotonic_ns);
}

void Ingest::withdraw_request(RequestTicket ticket) { state_->requests.withdraw(ticket); }

std::vector<RequestAnswer> Ingest::take_request_answers() {
    std::vector<RequestAnswer> answers = state_->requests.take_answers();
    for (const RequestAnswer& answer : answers) {
        state_->counts.requests.add(answer.outcome);
    }
    return answers;
}

void Ingest::image_checked(CheckedImage checked, const Now& now) {
    State& state = *state_;
    const bool was_empty = state.group.is_empty();
    state.on_checked(std::move(checked), now);
    if (was_empty) {
        state.gathering_since_ns = now.monotonic_ns;
    }
}

Result<Done> Ingest::keep_image(std::string build_id, ImageContent content, const Now& now) {
    State& state = *state_;
    if (!state.images.has_room(content.bytes.size())) {
        return Error{ErrorCode::kTooLarge, "no memory for these symbols now: try again, or give the gateway more"};
    }
    state.group.add_image(std::move(build_id), std::move(content));
    return state.commit(now);
}

Result<Done> Ingest::tick(const Now& now) {
    State& state = *state_;
    PERFLEET_TRY(state.take_shard_news(now));
    if (state.is_commit_due(now)) {
        PERFLEET_TRY(state.commit(now));
    }
    state.acknowledger.send_due(now.monotonic_ns);
    state.requests.tick(state.table, now.monotonic_ns);
    state.counts.peers_now = state.table.peer_count();
    state.counts.sessions_now = state.table.session_count();
    state.counts.credit_bytes_now = state.credit.promised_bytes();
    state.counts.images_deferred = state.images.deferred_count();
    state.counts.image_checks_now = state.images.checks_now();
    state.counts.memory_bytes_now = state.group.size_bytes() + state.images.size_bytes() + state.table.size_bytes();
    if (now.monotonic_ns - state.last_round_ns >= limits::kAckIntervalNs) {
        state.go_round(now);
    }
    return Done{};
}

std::uint64_t Ingest::next_due_ns(const Now& now) const {
    const State& state = *state_;
    const auto until = [&](std::uint64_t due_ns) { return due_ns > now.monotonic_ns ? due_ns - now.monotonic_ns : 0; };
    std::uint64_t due_ns = until(state.last_round_ns + limits::kAckIntervalNs);
    if (state.leases != nullptr) {
        due_ns = std::min(due_ns, until(state.last_news_ns + intake_limits::kShardNewsNs));
    }
    if (!state.group.is_empty()) {
        due_ns =
            std::min(due_ns, until(state.is_stuck() ? state.retry_at_ns : state.gathering_since_ns + state.group_ns()));
    }
    if (state.group.is_empty() && state.group.has_late_watermarks() && !state.is_stuck()) {
        due_ns = std::min(due_ns, until(state.last_watermarks_ns + intake_limits::kLateWatermarkNs));
    }
    if (!state.requests.is_empty()) {
        due_ns = std::min(due_ns, until(state.requests.due_ns()));
    }
    return due_ns;
}

bool Ingest::is_group_full() const { return state_->is_group_full(); }

Result<Done> Ingest::finish(const Now& now) {
    State& state = *state_;
    if (!state.group.is_empty() || state.group.has_late_watermarks()) {
        auto outcome = state.commit(now, true);
        // Batches of a lost shard can't be stored any more; the others can.
        for (int tries = 0; outcome.ok() && state.is_stuck() && state.leases != nullptr && tries < kFinishTriesMax;
             ++tries) {
            state.last_news_ns = 0;
            outcome = state.take_shard_news(now);
            if (outcome.ok() && state.is_stuck()) {
                outcome = state.commit(now, true);
            }
        }
        if (!outcome) {
            return outcome;
        }
        // Watermarks alone needn't be stored: the next holder of their shards computes them again.
        if (state.is_stuck() && !(state.leases != nullptr && state.group.is_empty())) {
            const std::size_t count = state.group.batch_count();
            return Error{ErrorCode::kIo, (count == 0 ? "the last batches"
                                                     : std::to_string(count) + (count == 1 ? " batch" : " batches")) +
                                             " could not be stored: " + state.store_trouble};
        }
    }
    state.acknowledger.send_due(now.monotonic_ns);
    return Done{};
}

GatewayCounts Ingest::counts() const { return state_->counts; }

}  // namespace perfleet
