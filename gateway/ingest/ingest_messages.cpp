#include <string>
#include <utility>

#include "gateway/admission/admit_hello.h"
#include "gateway/admission/receipt.h"
#include "gateway/ingest/enrolled_identity.h"
#include "gateway/ingest/ingest_state.h"
#include "gateway/ingest/partition_choice.h"
#include "schemas/pprof/sample_labels.h"

namespace perfleet {
namespace {

using protocol::RefusedReason;

SessionRefusal session_refusal_of(ErrorCode code) {
    return code == ErrorCode::kUnsupported ? SessionRefusal::kVersion
           : code == ErrorCode::kTooLarge  ? SessionRefusal::kTooLarge
                                           : SessionRefusal::kMalformed;
}

RefusedReason reason_of(ErrorCode code) {
    return code == ErrorCode::kTooLarge      ? RefusedReason::kTooLarge
           : code == ErrorCode::kUnsupported ? RefusedReason::kOtherVersion
                                             : RefusedReason::kMalformed;
}

}  // namespace

SessionPtr Ingest::State::session_of(const std::string& routing_id, const SessionId& named) {
    SessionPtr session = table.find_peer(routing_id);
    const bool is_its_own = speaker == nullptr || session == nullptr || session->record.target == speaker->target;
    if (session == nullptr || session->record.session != named || !is_its_own) {
        send(routing_id, encode_hello_again(options.incarnation));
        add_strike(routing_id, PeerCut::kNoSession, frame_size_bytes);
        return nullptr;
    }
    table.touch(session);
    return session;
}

void Ingest::State::give_session(const std::string& routing_id, SessionRecord& record) {
    const SessionPtr session = table.find_peer(routing_id);
    if (session != nullptr && session->granted && !session->monotonicity.has_batches()) {
        record.session = session->record.session;
        if (record.labels == session->record.labels && are_of_one_session(record, session->record)) {
            return;
        }
    }
    record.session = options.grant_session();
}

bool Ingest::State::is_here(const std::string& routing_id, const SessionRecord& record) {
    const std::uint16_t shard = shard_of(record.target, store.shards());
    if (leases == nullptr || leases->is_held(shard)) {
        return true;
    }
    // If no gateway holds the shard right now, the collector repeats its Hello.
    if (const auto holder = leases->holder_of(shard)) {
        ++counts.peers_sent_elsewhere;
        send(routing_id, encode_elsewhere({record.session, holder->endpoint, holder->public_key}));
    }
    return false;
}

SessionPtr Ingest::State::open_session(const std::string& routing_id, SessionRecord record, Ticks clock,
                                       std::size_t size_bytes, const Now& now) {
    const bool granted = record.session.is_none();
    if (granted) {
        give_session(routing_id, record);
    }
    // Labels that an operator changes apply to later sessions only.
    const auto labels = speaker == nullptr ? SessionTable::Labels::kCompared : SessionTable::Labels::kEnrolled;
    auto known = table.identity_of(record, store, labels);
    if (!known.ok()) {
        warn("can't read the stored session of '" + record.target_name + "': " + known.error().message);
        return nullptr;
    }
    switch (known->identity) {
        case SessionTable::Identity::kOtherTarget:
            refuse_session(routing_id, record.session, SessionRefusal::kIdentity, RefusedReason::kIdentity,
                           "'" + record.target_name + "' names a session of another target");
            return nullptr;
        case SessionTable::Identity::kOtherRecord:
            refuse_session(routing_id, record.session, SessionRefusal::kConflict, RefusedReason::kConflict,
                           "'" + record.target_name + "' describes a session that is stored with another description");
            return nullptr;
        case SessionTable::Identity::kFree:
            // What this user imports is its own affair; pushes are those of clients.
            if (is_speaker_local && record.collector_version != kPushCollector) {
                cardinality.know(record);
            } else if (const auto excess = cardinality.admit(record, now.monotonic_ns); excess.has_value()) {
                refuse_session(routing_id, record.session, SessionRefusal::kQuota, RefusedReason::kQuota,
                               "'" + record.target_name + "': " + *excess);
                return nullptr;
            }
            break;
        case SessionTable::Identity::kSame: break;
    }
    if (SessionPtr found = table.find(record.session); found != nullptr) {
        return found;
    }
    const bool is_stored = known->stored.has_value();
    if (!is_stored) {
        take_receipt(record, clock, now.utc);
    }
    const std::string target_name = record.target_name;
    auto loaded = SessionTable::load(is_stored ? std::move(*known->stored) : std::move(record), is_stored, store);
    if (!loaded) {
        warn("can't read the stored session of '" + target_name + "': " + loaded.error().message);
        return nullptr;
    }
    SessionPtr session = *loaded;
    session->size_bytes = intake_limits::kSessionOverheadBytes + 2 * size_bytes;
    session->granted = granted;
    if (!table.insert(session)) {
        counts.sessions_refused.add(SessionRefusal::kFull);  // the collector repeats its Hello
        return nullptr;
    }
    return session;
}

bool Ingest::State::is_hello_ignored(const std::string& routing_id, const SessionId& session) {
    const SessionPtr speaking = table.find_peer(routing_id);
    // A collector may deliver recovered sessions of its spool one after the other.
    if (speaking == nullptr || (speaking->finished && speaking->record.session != session)) {
        return false;
    }
    return add_strike(routing_id, PeerCut::kHello, frame_size_bytes * intake_limits::kHelloBytesFactor) ||
           abuse_limiter.count_of(routing_id, static_cast<std::size_t>(PeerCut::kHello)) >
               intake_limits::kHellosRepeatedMax;
}

void Ingest::State::on_hello(const std::string& routing_id, const HelloUntrusted& hello_untrusted,
                             std::size_t size_bytes, const Now& now) {
    if (is_hello_ignored(routing_id, hello_untrusted.record.session)) {
        return;
    }
    auto record = admit_hello(hello_untrusted);
    if (!record) {
        refuse_session(routing_id, hello_untrusted.record.session, session_refusal_of(record.error().code),
                       reason_of(record.error().code), record.error().message);
        return;
    }
    if (speaker != nullptr) {
        if (const auto taken = take_enrolled_identity(*record, *speaker); !taken) {
            refuse_session(routing_id, hello_untrusted.record.session, SessionRefusal::kIdentity,
                           RefusedReason::kIdentity, taken.error().message);
            return;
        }
    }
    if (!is_here(routing_id, *record)) {
        return;
    }
    const SessionPtr session = open_session(routing_id, std::move(*record), hello_untrusted.clock, size_bytes, now);
    if (session == nullptr) {
        return;
    }
    const SessionMonotonicity::Claim claim{hello_untrusted.clock, Seq{hello_untrusted.oldest_retained_seq}};
    if (const auto step_back =
            session->monotonicity.step_back_of(claim, session->progress.prefix(), session->finished)) {
        refuse_session(routing_id, session->record.session, SessionRefusal::kReplay, RefusedReason::kReplay,
                       "'" + session->record.target_name + "' " + *step_back +
                           ": a collector was started again with a session of before; it needs one of its own");
        return;
    }
    session->monotonicity.take_claim(claim);
    const std::string replaced = session->routing_id;
    table.attach(session, routing_id);
    table.touch(session);
    if (!replaced.empty() && replaced != routing_id) {
        images.forget(replaced);
    }
    if (claim.oldest_retained.value > session->progress.prefix().value + 1) {
        warn("'" + session->record.target_name + "' has batches from " + std::to_string(claim.oldest_retained.value) +
             " on, and its session is stored up to " + std::to_string(session->progress.prefix().value) +
             ": the store is older than what was acknowledged, or the collector dropped batches (perfleet losses)");
    }
    group.add_oldest_retained(session, claim.oldest_retained);
    // Before the Welcome: after it the collector would send these batches again.
    for (const Session::Refusal& refusal : session->refusals) {
        if (refusal.seq.value >= hello_untrusted.oldest_retained_seq) {
            send(routing_id, encode_refused({session->record.session, refusal.seq, refusal.reason, "refused before"}));
        }
    }
    acknowledger.raise_send_limit(session, now.monotonic_ns);
    if (session->finished) {
        session->acknowledged_ns = now.monotonic_ns;  // by the Welcome: the peer stays attached a little
    }
    session->is_deferred = false;
    send(routing_id, encode_welcome({session->record.session, now.utc, options.incarnation, session->progress.prefix(),
                                     session->send_limit}));
    requests.attach(*session, now.monotonic_ns);
    images.offer(routing_id, offerer(routing_id, session->record.session), hello_untrusted.image_offers);
    ask_for_image(routing_id, now);
}

void Ingest::State::on_batch(const std::string& routing_id, const BatchUntrusted& batch_untrusted, const Now& now) {
    BatchUntrusted batch = batch_untrusted;
    const Seq seq = batch.header.seq;
    const SessionPtr session = session_of(routing_id, batch.header.session);
    if (session == nullptr) {
        counts.batches_ignored.add(BatchIgnored::kNoSession);
        return;
    }
    move_into_session(batch, session->record);
    if (seq.value == 0) {
        counts.messages_malformed.add(MessageMalformed::kSeq);
        add_strike(routing_id, PeerCut::kMalformed, batch.size_bytes);
        return;
    }
    const Seq oldest_retained{batch.oldest_retained_seq};
    switch (recognise(session, batch)) {
        case Recognised::kNew: break;
        case Recognised::kSame:
            // Batches before it may have been refused since; only this moves the prefix past them.
            if (!is_stuck() && oldest_retained <= seq) {
                take_oldest_retained(session, oldest_retained);
            }
            return;
        case Recognised::kConflict: return;
    }
    if (is_stuck()) {
        counts.batches_ignored.add(BatchIgnored::kStoreStuck);
        session->was_ignored_while_stuck = true;
        return;
    }
    if (session->progress.is_beyond(seq, oldest_retained)) {
        ignore(routing_id, BatchIgnored::kBeyondWindow, batch);
        return;
    }
    // The oldest retained batch is accepted without credit, one at a time. A spool that turns over faster than groups
    // are committed sends more of them, which is not abuse.
    const bool is_oldest = seq.value == batch.oldest_retained_seq;
    if (seq > session->send_limit && is_oldest && !session->gathered.empty()) {
        counts.batches_ignored.add(BatchIgnored::kBeyondCredit);
        return;
    }
    if (seq > session->send_limit && !is_oldest) {
        ignore(routing_id, BatchIgnored::kBeyondCredit, batch);
        return;
    }
    CreditAccounts::learn(session->credit, batch.size_bytes, now.monotonic_ns);
    auto admitted = admission.admit(batch, session->record);
    if (!admitted) {
        // The prefix doesn't pass this batch before the collector says that it has dropped it: the reply may get lost.
        counts.batches_refused.add(admission.refusal());
        refuse_batch(*session, seq, reason_of(admitted.error().code), admitted.error().message);
        add_strike(routing_id, PeerCut::kRefused, batch.size_bytes);
        return;
    }
    if (lies_ahead(admitted->record.bucket, now.utc)) {
        on_batch_ahead(routing_id, *session, batch, now);
        return;
    }
    const auto partition = partition_for(*session, admitted->record.bucket);
    if (!partition.has_value()) {
        counts.batches_ignored.add(BatchIgnored::kStoreStuck);
        return;
    }
    take_oldest_retained(session, oldest_retained);
    session->monotonicity.take_batch(admitted->record.rows);
    if (session->unacknowledged_since_ns == 0) {
        session->unacknowledged_since_ns = arrived_ns;
    }
    group.add(session, *partition, std::move(*admitted), batch.size_bytes);
}

void Ingest::State::on_batch_ahead(const std::string& routing_id, Session& session, const BatchUntrusted& batch,
                                   const Now& now) {
    const std::uint32_t hours = batch.header.bucket.value - bucket_of(now.utc).value;
    if (session.ahead_since_ns == 0 || now.monotonic_ns - session.ahead_last_ns >= intake_limits::kAheadForgottenNs) {
        session.ahead_since_ns = now.monotonic_ns;
    }
    session.ahead_last_ns = now.monotonic_ns;
    if (now.monotonic_ns - session.ahead_since_ns >= options.clock_timeout_ns) {
        counts.batches_refused.add(BatchRefusal::kFuture);
        refuse_batch(session, batch.header.seq, RefusedReason::kAhead,
                     "it is " + std::to_string(hours) + " hours in the future, by this machine's clock");
        add_strike(routing_id, PeerCut::kRefused, batch.size_bytes);
        return;
    }
    if (!std::exchange(session.is_deferred, true)) {
        const std::string text = "'" + session.record.target_name + "' sends batches of " + std::to_string(hours) +
                                 " hours in the future, by this machine's clock; it is deferred: set one of "
                                 "the two clocks";
        warn(text);
        send(routing_id, encode_refused({session.record.session, Seq{0}, RefusedReason::kAhead, text}));
    }
    ignore(routing_id, BatchIgnored::kAhead, batch);
}

std::optional<Partition> Ingest::State::partition_for(Session& session, BucketNumber bucket) {
    auto chosen = choose_partition(session, bucket, store, options.retention_class_of);
    if (!chosen) {
        warn("can't read where a session of '" + session.record.target_name + "' is stored: " + chosen.error().message);
    }
    return chosen ? std::optional{*chosen} : std::nullopt;
}

void Ingest::State::ignore(const std::string& routing_id, BatchIgnored reason, const BatchUntrusted& batch) {
    counts.batches_ignored.add(reason);
    add_strike(routing_id, PeerCut::kCredit, batch.size_bytes);
}

void Ingest::State::take_oldest_retained(const SessionPtr& session, Seq oldest) {
    session->monotonicity.take_oldest_retained(oldest);
    group.add_oldest_retained(session, oldest);
}

Ingest::State::Recognised Ingest::State::recognise(const SessionPtr& session, const BatchUntrusted& batch) {
    const Seq seq = batch.header.seq;
    if (seq <= session->progress.prefix()) {
        ++counts.batches_duplicate;
        acknowledger.acknowledge_soon(session);
        return Recognised::kSame;
    }
    if (const auto gathered = session->gathered.find(seq.value); gathered != session->gathered.end()) {
        if (gathered->second != batch.seal) {
            group.add_conflict(session, seq);
            return Recognised::kConflict;
        }
        ++counts.batches_duplicate;
        return Recognised::kSame;
    }
    const std::optional<std::uint32_t> seal = session->progress.seal_of(seq);
    if (!seal.has_value()) {
        return Recognised::kNew;  // new, or refused before: then it is checked again
    }
    if (*seal != batch.seal) {
        on_conflict(*session, seq);
        return Recognised::kConflict;
    }
    ++counts.batches_duplicate;
    acknowledger.acknowledge_soon(session);
    return Recognised::kSame;
}

void Ingest::State::on_conflict(Session& session, Seq seq) {
    counts.batches_refused.add(BatchRefusal::kConflict);
    refuse_batch(session, seq, RefusedReason::kConflict, "this seq is stored with other content");
}

void Ingest::State::on_bye(const std::string& routing_id, const ByeUntrusted& bye_untrusted, const Now& now) {
    const SessionPtr session = session_of(routing_id, bye_untrusted.session);
    if (session == nullptr) {
        return;
    }
    if (is_stuck()) {
        session->was_ignored_while_stuck = true;
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
    // The collector has no batches left: it knows which were refused.
    group.add_oldest_retained(session, Seq{bye_untrusted.last_seq.value + 1});
    if (const auto partition = partition_for(*session, bucket_of(now.utc)); partition.has_value()) {
        group.add_end(session, *partition, std::move(*end));
    }
}

void Ingest::State::on_image_offers(const std::string& routing_id, const ImageOffersUntrusted& offers_untrusted,
                                    const Now& now) {
    if (session_of(routing_id, offers_untrusted.session) != nullptr && !is_stuck()) {
        images.offer_more(routing_id, offerer(routing_id, offers_untrusted.session), offers_untrusted.offers);
        ask_for_image(routing_id, now);
    }
}

void Ingest::State::on_image(const std::string& routing_id, const ImageUntrusted& image_untrusted, const Now& now) {
    const SessionPtr session = session_of(routing_id, image_untrusted.session);
    if (session == nullptr) {
        return;
    }
    if (is_stuck()) {
        session->was_ignored_while_stuck = true;
        return;
    }
    ImageIntake::Taken taken = images.take(routing_id, image_untrusted, now.monotonic_ns);
    if (taken.refusal.has_value()) {
        refuse_image(routing_id, *taken.refusal, 0);
    }
    if (!taken.whole.has_value()) {
        ask_for_image(routing_id, now);
    } else if (options.check_image) {
        options.check_image(std::move(*taken.whole));
        ask_for_image(routing_id, now);
    } else {
        on_checked(checked(std::move(*taken.whole)), now);
    }
}

void Ingest::State::on_checked(CheckedImage checked, const Now& now) {
    const std::string routing_id = checked.image.routing_id;
    if (checked.refusal.has_value()) {
        checked.cost.unpacked_bytes += intake_limits::kImageRefusedBytes;
    }
    images.end_check(checked.image, checked.cost, now.monotonic_ns);
    if (checked.refusal.has_value()) {
        refuse_image(routing_id, *checked.refusal, checked.cost.unpacked_bytes);
    } else {
        group.add_image(std::move(checked.image.build_id), std::move(checked.image.content));
    }
    ask_for_image(routing_id, now);
}

void Ingest::State::refuse_image(const std::string& routing_id, ImageRefusal refusal, std::uint64_t unpacked_bytes) {
    counts.images_refused.add(refusal);
    const SessionPtr session = table.find_peer(routing_id);
    warn("the symbols that " + (session == nullptr ? "a peer" : "'" + session->record.target_name + "'") +
         " sent of an image are not stored: " + std::string{reason_name(refusal)});
    // A newer collector may have types that this gateway doesn't know.
    if (session != nullptr && refusal != ImageRefusal::kType) {
        add_strike(routing_id, PeerCut::kImages, unpacked_bytes);
    }
}

void Ingest::State::on_controlled(const std::string& routing_id, const ControlledUntrusted& controlled,
                                  const Now& now) {
    if (const SessionPtr session = session_of(routing_id, controlled.session); session != nullptr) {
        requests.take(*session, controlled, now.monotonic_ns);
    }
}

ImageIntake::Offerer Ingest::State::offerer(const std::string& routing_id, SessionId session) const {
    const bool has_key = speaker != nullptr;
    return {session, has_key ? "target " + std::to_string(speaker->target.value) : routing_id, is_speaker_local};
}

void Ingest::State::ask_for_image(const std::string& routing_id, const Now& now) {
    auto request = images.next(routing_id, store, now.monotonic_ns);
    if (!request) {
        warn("can't look for an image: " + request.error().message);
        images.forget(routing_id);
    } else if (request->has_value()) {
        send(routing_id, encode_need_image((*request)->build_id, (*request)->offset));
    }
}

}  // namespace perfleet
