#include "gateway/ingest/ingest.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/ingest/acknowledger.h"
#include "gateway/ingest/admit_batch.h"
#include "gateway/ingest/admit_hello.h"
#include "gateway/ingest/commit_group.h"
#include "gateway/ingest/conduct_book.h"
#include "gateway/ingest/counters.h"
#include "gateway/ingest/credit_book.h"
#include "gateway/ingest/decode.h"
#include "gateway/ingest/enrolled_identity.h"
#include "gateway/ingest/image_intake.h"
#include "gateway/ingest/partition_choice.h"
#include "gateway/ingest/reply.h"
#include "gateway/ingest/session_table.h"

namespace perfleet {
namespace {

using protocol::RefusedReason;

// Those that pass: a full disk gets room again, a file system comes back.
bool is_survivable(ErrorCode code) {
    return code == ErrorCode::kFull || code == ErrorCode::kIo || code == ErrorCode::kBusy ||
           code == ErrorCode::kUnavailable;
}

SessionRefusal session_refusal_of(ErrorCode code) {
    return code == ErrorCode::kUnsupported ? SessionRefusal::kVersion
           : code == ErrorCode::kTooLarge  ? SessionRefusal::kTooLarge
                                           : SessionRefusal::kMalformed;
}

MessageMalformed malformed_of(ErrorCode code) {
    return code == ErrorCode::kTooLarge    ? MessageMalformed::kTooLarge
           : code == ErrorCode::kTruncated ? MessageMalformed::kTruncated
                                           : MessageMalformed::kUnreadable;
}

RefusedReason reason_of(ErrorCode code) {
    return code == ErrorCode::kTooLarge      ? RefusedReason::kTooLarge
           : code == ErrorCode::kUnsupported ? RefusedReason::kNoCommonVersion
                                             : RefusedReason::kMalformed;
}

template <class... Handlers>
struct Overloaded : Handlers... {
    using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace

struct Ingest::State {
    Options options;
    Store& store;
    PeerLink& link;
    const Enrolment* speaker = nullptr;  // whose frame is taken now, where there are keys
    std::uint64_t arrived_ns = 0;        // when that frame came
    Decoder decoder;
    BatchAdmission admission;
    CreditBook credit;
    SessionTable table;
    Acknowledger acknowledger;
    ConductBook conduct;
    Cardinality cardinality;
    CommitGroup group;
    ImageIntake images;
    OrderBook orders;
    std::uint64_t gathering_since_ns = 0;
    std::uint64_t last_round_ns = 0;
    std::uint64_t retry_at_ns = 0;
    std::uint64_t retry_after_ns = 0;   // 0: the store works
    std::uint64_t complaint_count = 0;  // since the last round
    Counters counts;

    State(Options with, Store& into, PeerLink& over)
        : options{std::move(with)},
          store{into},
          link{over},
          credit{options.memory.credit_bytes()},
          table{{options.sessions_max, options.memory.sessions_bytes()}, credit},
          acknowledger{options.incarnation, table, credit, link},
          cardinality{options.cardinality},
          images{options.memory.images_bytes()},
          orders{options.incarnation, link} {
        counts.memory_bytes_max = options.memory.size_bytes;
        counts.credit_bytes_max = credit.budget_bytes();
    }

    void notice(const LogEvent& event) const {
        if (options.notice) {
            options.notice(event);
        }
    }

    [[nodiscard]] std::uint64_t time_ns(const Now& now) const {
        return options.monotonic_ns ? options.monotonic_ns() : now.monotonic_ns;
    }

    // About what a collector does, in its own words: only some in a while, and nothing that moves a terminal's cursor.
    void complain(std::string text) {
        if (++complaint_count > intake_limits::kComplaintsMax) {
            return;
        }
        std::replace_if(
            text.begin(), text.end(),
            [](char letter) { return static_cast<unsigned char>(letter) < ' ' || letter == 0x7f; }, '?');
        notice(text);
    }

    [[nodiscard]] bool is_stuck() const { return retry_after_ns != 0; }

    // -- replies
    // --------------------------------------------------------------------------------------------------------

    void send(const std::string& routing_id, const Frame& frame) const { link.send(routing_id, frame); }

    // The peer goes on doing what it must not: at some time it is enough.
    void misbehaved(const std::string& routing_id, PeerCut reason, std::size_t size_bytes) {
        if (conduct.is_enough(routing_id, reason, size_bytes)) {
            counts.peers_cut.add(reason);
            complain("a peer was cut off: " + std::string{reason_name(reason)});
            link.cut(routing_id);
            forget_peer(routing_id);
        }
    }

    void forget_peer(const std::string& routing_id) {
        table.detach(routing_id);
        images.forget(routing_id);
        conduct.forget(routing_id);
    }

    void refuse_session(const std::string& routing_id, SessionId session, SessionRefusal why, RefusedReason reason,
                        const std::string& message) {
        counts.sessions_refused.add(why);
        complain("a collector was refused: " + message);
        send(routing_id, encode_refused({session, Seq{0}, reason, message}));
        misbehaved(routing_id, PeerCut::kRefused, 0);
    }

    void refuse_batch(Session& session, Seq seq, RefusedReason reason, const std::string& message) {
        const std::string text =
            "batch " + std::to_string(seq.value) + " of '" + session.record.target_name + "' was refused: " + message;
        if (session.refusals.empty()) {
            complain(text + " (further ones of this session are only counted)");
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

    // -- messages
    // -------------------------------------------------------------------------------------------------------

    // The session that this peer speaks for, if it is the one that it names; else it is asked to say Hello again.
    SessionPtr session_of(const std::string& routing_id, const SessionId& named) {
        SessionPtr session = table.find_peer(routing_id);
        const bool is_its_own = speaker == nullptr || session == nullptr || session->record.target == speaker->target;
        if (session == nullptr || session->record.session != named || !is_its_own) {
            send(routing_id, encode_hello_again(options.incarnation));
            return nullptr;
        }
        table.touch(session);
        return session;
    }

    // A peer that was granted a session and asks again: its Welcome was lost or is on the way. Who has used the session
    // knows it: that asks for another one.
    void give_session(const std::string& routing_id, SessionRecord& record) {
        const SessionPtr session = table.find_peer(routing_id);
        if (session != nullptr && session->granted && !session->course.has_batches()) {
            record.session = session->record.session;
            if (record == session->record) {
                return;
            }
        }
        record.session = options.grant_session();
    }

    // The session of an admitted Hello; null when the answer was a refusal or has to wait.
    SessionPtr open_session(const std::string& routing_id, SessionRecord record, std::size_t size_bytes,
                            const Now& now) {
        const bool granted = record.session.is_none();
        if (granted) {
            give_session(routing_id, record);
        }
        // Labels that an operator changes are those of later sessions.
        const auto labels = speaker == nullptr ? SessionTable::Labels::kCompared : SessionTable::Labels::kEnrolled;
        switch (table.identity_of(record, labels)) {
            case SessionTable::Identity::kOtherTarget:
                refuse_session(routing_id, record.session, SessionRefusal::kIdentity, RefusedReason::kIdentity,
                               "'" + record.target_name + "' names a session of another target");
                return nullptr;
            case SessionTable::Identity::kOtherRecord:
                refuse_session(routing_id, record.session, SessionRefusal::kConflict, RefusedReason::kConflict,
                               "'" + record.target_name + "' describes a session that is known otherwise");
                return nullptr;
            case SessionTable::Identity::kFree:
                if (const auto excess = cardinality.admit(record, now.monotonic_ns); excess.has_value()) {
                    refuse_session(routing_id, record.session, SessionRefusal::kQuota, RefusedReason::kQuota,
                                   "'" + record.target_name + "': " + *excess);
                    return nullptr;
                }
                break;
            case SessionTable::Identity::kSame: break;
        }
        if (SessionPtr known = table.find(record.session); known != nullptr) {
            return known;
        }
        auto loaded = table.load(record, store);
        if (!loaded) {
            complain("can't read what is stored of a session of '" + record.target_name +
                     "': " + loaded.error().message);
            return nullptr;
        }
        const SessionPtr session = *loaded;
        session->size_bytes = intake_limits::kSessionOverheadBytes + 2 * size_bytes;
        session->granted = granted;
        if (!table.insert(session)) {
            counts.sessions_refused.add(SessionRefusal::kFull);  // it says Hello again
            return nullptr;
        }
        return session;
    }

    void on_hello(const std::string& routing_id, const HelloUntrusted& hello_untrusted, std::size_t size_bytes,
                  const Now& now) {
        auto record = admit_hello(hello_untrusted);
        if (!record) {
            refuse_session(routing_id, hello_untrusted.session, session_refusal_of(record.error().code),
                           reason_of(record.error().code), record.error().message);
            return;
        }
        if (speaker != nullptr) {
            if (const auto taken = take_enrolled_identity(*record, *speaker); !taken) {
                refuse_session(routing_id, hello_untrusted.session, SessionRefusal::kIdentity, RefusedReason::kIdentity,
                               taken.error().message);
                return;
            }
        }
        const SessionPtr session = open_session(routing_id, std::move(*record), size_bytes, now);
        if (session == nullptr) {
            return;
        }
        const SessionCourse::Claim claim{hello_untrusted.clock, Seq{hello_untrusted.oldest_retained_seq}};
        if (const auto step_back = session->course.step_back_of(claim, session->progress.prefix(), session->finished)) {
            refuse_session(routing_id, session->record.session, SessionRefusal::kWentBack, RefusedReason::kWentBack,
                           "'" + session->record.target_name + "' " + *step_back +
                               ": a collector was started again with a session of before; it needs one of its own");
            return;
        }
        session->course.take_claim(claim);
        const std::string replaced = session->routing_id;
        table.attach(session, routing_id);
        table.touch(session);
        if (!replaced.empty() && replaced != routing_id) {
            images.forget(replaced);
        }
        group.add_oldest_retained(session, Seq{hello_untrusted.oldest_retained_seq});
        // Before the Welcome, after which they would be sent again.
        for (const Session::Refusal& refusal : session->refusals) {
            if (refusal.seq.value >= hello_untrusted.oldest_retained_seq) {
                send(routing_id,
                     encode_refused({session->record.session, refusal.seq, refusal.reason, "refused before"}));
            }
        }
        acknowledger.raise_send_limit(session, now.monotonic_ns);
        session->version = std::min(hello_untrusted.version_max, protocol::kVersion);
        send(routing_id, encode_welcome({session->version, session->record.session, now.utc, options.incarnation,
                                         session->progress.prefix(), session->send_limit}));
        orders.attach(*session, now.monotonic_ns);
        images.offer(routing_id, hello_untrusted.image_offers);
        ask_for_image(routing_id, now);
    }

    void on_batch(const std::string& routing_id, const BatchUntrusted& batch_untrusted, const Now& now) {
        const BatchUntrusted& batch = batch_untrusted;
        const Seq seq = batch.header.seq;
        const SessionPtr session = session_of(routing_id, batch.header.session);
        if (session == nullptr) {
            ignore(routing_id, BatchIgnored::kNoSession, batch);
            return;
        }
        if (seq.value == 0) {
            counts.messages_malformed.add(MessageMalformed::kSeq);
            misbehaved(routing_id, PeerCut::kMalformed, batch.size_bytes);
            return;
        }
        const Seq oldest_retained{std::min(batch.oldest_retained_seq, seq.value)};
        session->course.take_oldest_retained(oldest_retained);
        if (is_known(session, batch)) {
            // Those before it may have been refused since it was stored; then nothing else moves the prefix over them.
            if (!is_stuck()) {
                group.add_oldest_retained(session, oldest_retained);
            }
            return;
        }
        if (is_stuck()) {
            counts.batches_ignored.add(BatchIgnored::kStoreStuck);
            return;
        }
        if (session->progress.is_beyond(seq, oldest_retained)) {
            ignore(routing_id, BatchIgnored::kBeyondWindow, batch);
            return;
        }
        group.add_oldest_retained(session, oldest_retained);
        // The oldest that its collector still has may come all the same. One at a time is taken; a spool that turns
        // over faster than groups are committed sends more of them, which is no misconduct.
        const bool is_oldest = seq.value == batch.oldest_retained_seq;
        if (seq > session->send_limit && is_oldest && !session->gathered.empty()) {
            counts.batches_ignored.add(BatchIgnored::kBeyondCredit);
            return;
        }
        if (seq > session->send_limit && !is_oldest) {
            ignore(routing_id, BatchIgnored::kBeyondCredit, batch);
            return;
        }
        CreditBook::learn(session->credit, batch.size_bytes, now.monotonic_ns);
        auto admitted = admission.admit(batch, session->record, now.utc);
        if (!admitted) {
            // No prefix passes over it before the collector says that it has let it go: the reply may get lost.
            counts.batches_refused.add(admission.refusal());
            refuse_batch(*session, seq, reason_of(admitted.error().code), admitted.error().message);
            misbehaved(routing_id, PeerCut::kRefused, batch.size_bytes);
            return;
        }
        const auto partition = partition_for(*session, admitted->record.bucket);
        if (!partition.has_value()) {
            counts.batches_ignored.add(BatchIgnored::kStoreStuck);
            return;
        }
        session->course.take_batch(admitted->record.rows);
        if (session->unacknowledged_since_ns == 0) {
            session->unacknowledged_since_ns = arrived_ns;
        }
        group.add(session, *partition, std::move(*admitted), batch.size_bytes);
    }

    // Nothing where the store can't say it now.
    std::optional<Partition> partition_for(Session& session, BucketNumber bucket) {
        auto chosen = choose_partition(session, bucket, store, options.retention_class_of);
        if (!chosen) {
            complain("can't read where a session of '" + session.record.target_name +
                     "' is stored: " + chosen.error().message);
        }
        return chosen ? std::optional{*chosen} : std::nullopt;
    }

    // Left with its collector.
    void ignore(const std::string& routing_id, BatchIgnored reason, const BatchUntrusted& batch) {
        counts.batches_ignored.add(reason);
        misbehaved(routing_id, PeerCut::kCredit, batch.size_bytes);
    }

    // Answers a batch whose seq is settled or gathered already.
    bool is_known(const SessionPtr& session, const BatchUntrusted& batch) {
        const Seq seq = batch.header.seq;
        if (seq <= session->progress.prefix()) {
            ++counts.batches_duplicate;
            acknowledger.acknowledge_soon(session);
            return true;
        }
        if (const auto gathered = session->gathered.find(seq.value); gathered != session->gathered.end()) {
            if (gathered->second == batch.seal) {
                ++counts.batches_duplicate;
            } else {
                group.add_conflict(session, seq);
            }
            return true;
        }
        const std::optional<std::uint32_t> seal = session->progress.seal_of(seq);
        if (!seal.has_value()) {
            return false;  // new, or refused before: it is judged again
        }
        if (*seal == batch.seal) {
            ++counts.batches_duplicate;
            acknowledger.acknowledge_soon(session);
        } else {
            on_conflict(*session, seq);
        }
        return true;
    }

    void on_conflict(Session& session, Seq seq) {
        counts.batches_refused.add(BatchRefusal::kConflict);
        refuse_batch(session, seq, RefusedReason::kConflict, "this seq is stored with other content");
    }

    void on_bye(const std::string& routing_id, const ByeUntrusted& bye_untrusted, const Now& now) {
        const SessionPtr session = session_of(routing_id, bye_untrusted.session);
        if (session == nullptr || is_stuck()) {
            return;
        }
        if (session->finished) {
            acknowledger.acknowledge_soon(session);
            return;
        }
        auto end = admit_bye(bye_untrusted, session->record);
        if (!end) {
            refuse_session(routing_id, bye_untrusted.session, SessionRefusal::kBye, reason_of(end.error().code),
                           "the Bye of '" + session->record.target_name + "': " + end.error().message);
            return;
        }
        // Nothing is left with the collector: what it was refused it knows of.
        group.add_oldest_retained(session, Seq{bye_untrusted.last_seq.value + 1});
        if (const auto partition = partition_for(*session, bucket_of(now.utc)); partition.has_value()) {
            group.add_end(session, *partition, std::move(*end));
        }
    }

    void on_image(const std::string& routing_id, const ImageUntrusted& image_untrusted, const Now& now) {
        if (session_of(routing_id, image_untrusted.session) == nullptr || is_stuck()) {
            return;
        }
        if (auto whole = images.take(routing_id, image_untrusted, now.monotonic_ns); whole.has_value()) {
            group.add_image(std::move(whole->build_id), std::move(whole->content));
        }
        ask_for_image(routing_id, now);
    }

    void on_controlled(const std::string& routing_id, const ControlledUntrusted& controlled, const Now& now) {
        if (const SessionPtr session = session_of(routing_id, controlled.session); session != nullptr) {
            orders.take(*session, controlled, now.monotonic_ns);
        }
    }

    void ask_for_image(const std::string& routing_id, const Now& now) {
        auto question = images.next(routing_id, store, now.monotonic_ns);
        if (!question) {
            complain("can't look for an image: " + question.error().message);
            images.forget(routing_id);
        } else if (question->has_value()) {
            send(routing_id, encode_need_image((*question)->build_id, (*question)->offset));
        }
    }

    // -- what is due
    // ----------------------------------------------------------------------------------------------------

    [[nodiscard]] bool is_group_full() const {
        return group.size_bytes() >= options.memory.group_bytes() && !is_stuck();
    }

    [[nodiscard]] bool is_commit_due(const Now& now) const {
        if (group.is_empty()) {
            return false;
        }
        return is_stuck() ? now.monotonic_ns >= retry_at_ns
                          : is_group_full() || now.monotonic_ns - gathering_since_ns >= limits::kGroupCommitNs;
    }

    Result<Done> commit(const Now& now) {
        const std::uint64_t began_ns = time_ns(now);
        auto outcome = group.commit(store, table);
        const std::uint64_t ended_ns = time_ns(now);
        if (!outcome) {
            ++counts.commits_failed;
            counts.is_store_stuck = true;
            return wait_for_store(outcome.error(), now);
        }
        if (is_stuck()) {
            retry_after_ns = 0;
            counts.is_store_stuck = false;
            notice({LogLevel::kNotice, "store", "storing again"});
        }
        counts.commits_took.observe(ended_ns - began_ns);
        ++counts.group_commits;
        counts.batches_stored += outcome->stored;
        counts.batches_duplicate += outcome->duplicate;
        counts.batches_expired += outcome->expired;
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
        return Done{};
    }

    Result<Done> wait_for_store(const Error& error, const Now& now) {
        if (!is_survivable(error.code)) {
            return Error{error};
        }
        if (!is_stuck()) {
            notice({LogLevel::kError, "store",
                    "can't store: " + error.message + "; " + std::to_string(group.batch_count()) +
                        " batches wait here, collectors keep theirs; make room or repair the folder, storing is tried "
                        "again"});
        }
        retry_after_ns =
            std::clamp(2 * retry_after_ns, intake_limits::kStoreRetryNsMin, intake_limits::kStoreRetryNsMax);
        retry_at_ns = now.monotonic_ns + retry_after_ns;
        return Done{};
    }

    // Repeats acknowledgements to everybody who is there, for any may have been lost, and looks after images.
    void go_round(const Now& now) {
        acknowledger.go_round(now.monotonic_ns);
        conduct.forgive();
        for (const std::string& routing_id : images.busy_peers()) {
            ask_for_image(routing_id, now);
        }
        if (complaint_count > intake_limits::kComplaintsMax) {
            notice(std::to_string(complaint_count - intake_limits::kComplaintsMax) +
                   " more messages about collectors were left out");
        }
        complaint_count = 0;
        last_round_ns = now.monotonic_ns;
    }
};

Ingest::Ingest(std::unique_ptr<State> state) : state_{std::move(state)} {}

Ingest::~Ingest() = default;

Result<std::unique_ptr<Ingest>> Ingest::open(Options options, Store& store, PeerLink& link) {
    auto state = std::make_unique<State>(std::move(options), store, link);
    auto records = store.all_sessions();
    if (!records) {
        return std::move(records).error();
    }
    for (const SessionRecord& record : *records) {
        state->table.remember(record);
        state->cardinality.know(record);
    }
    return std::unique_ptr<Ingest>{new Ingest{std::move(state)}};
}

void Ingest::take(std::string_view routing_id, std::span<const std::byte> frame_untrusted, const Now& now,
                  const Origin& origin) {
    State& state = *state_;
    state.speaker = origin.enrolment;
    state.arrived_ns = origin.arrived_ns != 0 ? origin.arrived_ns : now.monotonic_ns;
    const std::string id{routing_id};
    ++state.counts.messages;
    state.counts.messages_bytes += frame_untrusted.size();
    auto message = state.decoder.decode(frame_untrusted);
    if (!message) {
        state.counts.messages_malformed.add(malformed_of(message.error().code));
        state.misbehaved(id, PeerCut::kMalformed, frame_untrusted.size());
        return;
    }
    const bool was_empty = state.group.is_empty();
    std::visit(Overloaded{
                   [&](const HelloUntrusted& hello) { state.on_hello(id, hello, frame_untrusted.size(), now); },
                   [&](const BatchUntrusted& batch) { state.on_batch(id, batch, now); },
                   [&](const ByeUntrusted& bye) { state.on_bye(id, bye, now); },
                   [&](const ImageUntrusted& image) { state.on_image(id, image, now); },
                   [&](const ControlledUntrusted& controlled) { state.on_controlled(id, controlled, now); },
                   [&](const ClockProbeUntrusted& probe) {
                       state.send(id, encode_clock_reply(probe.id, probe.sender_ns, now.utc));
                   },
                   [&](const OtherUntrusted&) {
                       if (state.table.find_peer(id) == nullptr) {
                           state.send(id, encode_hello_again(state.options.incarnation));
                       }
                   },
               },
               *message);
    if (was_empty) {
        state.gathering_since_ns = now.monotonic_ns;
    }
}

void Ingest::forget_peer(std::string_view routing_id) { state_->forget_peer(std::string{routing_id}); }

void Ingest::count_malformed(std::string_view routing_id) {
    ++state_->counts.messages;
    state_->counts.messages_malformed.add(MessageMalformed::kFrames);
    state_->misbehaved(std::string{routing_id}, PeerCut::kMalformed, 0);
}

void Ingest::place_order(OrderTicket ticket, const OperatorOrder& order, const Now& now) {
    state_->orders.place(ticket, order, state_->table.find(order.session), now.monotonic_ns);
}

void Ingest::withdraw_order(OrderTicket ticket) { state_->orders.withdraw(ticket); }

std::vector<OrderAnswer> Ingest::take_order_answers() {
    std::vector<OrderAnswer> answers = state_->orders.take_answers();
    for (const OrderAnswer& answer : answers) {
        state_->counts.orders.add(answer.outcome);
    }
    return answers;
}

Result<Done> Ingest::tick(const Now& now) {
    State& state = *state_;
    if (state.is_commit_due(now)) {
        if (auto done = state.commit(now); !done) {
            return done;
        }
    }
    state.acknowledger.send_due(now.monotonic_ns);
    state.orders.tick(state.table, now.monotonic_ns);
    state.counts.peers_now = state.table.peer_count();
    state.counts.sessions_now = state.table.session_count();
    state.counts.credit_bytes_now = state.credit.promised_bytes();
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
    if (!state.group.is_empty()) {
        due_ns = std::min(
            due_ns, until(state.is_stuck() ? state.retry_at_ns : state.gathering_since_ns + limits::kGroupCommitNs));
    }
    if (!state.orders.is_empty()) {
        due_ns = std::min(due_ns, until(state.orders.due_ns()));
    }
    return due_ns;
}

bool Ingest::is_group_full() const { return state_->is_group_full(); }

Result<Done> Ingest::finish(const Now& now) {
    State& state = *state_;
    if (!state.group.is_empty()) {
        if (auto outcome = state.commit(now); !outcome) {
            return outcome;
        }
        if (state.is_stuck()) {
            return Error{ErrorCode::kIo, std::to_string(state.group.batch_count()) +
                                             " batches could not be stored; their collectors still have them"};
        }
    }
    state.acknowledger.send_due(now.monotonic_ns);
    return Done{};
}

GatewayCounts Ingest::counts() const { return state_->counts.read(); }

}  // namespace perfleet
