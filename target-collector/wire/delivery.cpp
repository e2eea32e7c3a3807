#include "target-collector/wire/delivery.h"

#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "schemas/wire/protocol.h"
#include "target-collector/message/image_chunk.h"
#include "target-collector/message/image_offers.h"
#include "target-collector/message/patch.h"
#include "target-collector/wire/delivery_parts.h"

namespace perfleet {
namespace {

// The first part of the spool's memory, in which image chunks are built. Empty if no images are offered.
std::span<std::byte> image_part_of(const DeliveryCore::Options& options) {
    if (!kSuppliesImages || (options.images.empty() && options.late_images == nullptr) ||
        !options.image_memory.empty()) {
        return {};
    }
    constexpr std::size_t kWhole = limits::kImageChunkSizeBytes + kImageChunkOverheadBytes;
    const std::size_t part = options.spool.size() / 8 & ~std::size_t{7};
    PERFLEET_ASSERT(part > 2 * kImageChunkOverheadBytes);
    return options.spool.first(part < kWhole ? part : kWhole);
}

DeliveryRequests::Taken taken_by(const DeliveryCore::Options& options) {
    return options.orphan != nullptr ? DeliveryRequests::Taken::kEnded
           : options.takes_requests  ? DeliveryRequests::Taken::kByUser
                                     : DeliveryRequests::Taken::kNotAtAll;
}

// Temporary reasons: the gateway has too many sessions or batches now, or one of the clocks is wrong.
bool is_for_now(std::uint16_t reason) {
    return reason == static_cast<std::uint16_t>(protocol::RefusedReason::kAhead) ||
           reason == static_cast<std::uint16_t>(protocol::RefusedReason::kQuota) ||
           reason == static_cast<std::uint16_t>(protocol::RefusedReason::kSessionsFull);
}

bool are_equal(std::span<const std::byte> left, std::span<const std::byte> right) {
    return left.size() == right.size() && (left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0);
}

}  // namespace

DeliveryCore::DeliveryCore(const Options& options, const Memory& memory, NetworkDriver& driver, SpscRing& batches,
                           SpscRing& losses)
    : driver_{driver},
      batches_{batches},
      loss_reports_{losses},
      hello_{options.hello},
      images_{options.images},
      image_buffer_{options.image_memory.empty() ? image_part_of(options) : options.image_memory},
      timeout_{options.resend_after_ns},
      journal_{options.journal},
      spool_{options.spool.subspan(image_part_of(options).size()), options.journal != nullptr},
      losses_{memory.counts.first(memory.counts.size() / kCountTables * DeliveryLosses::kCountTables)},
      requests_{taken_by(options)},
      image_bytes_per_second_{options.image_bytes_per_second},
      images_wait_ns_{options.images_wait_ns},
      late_images_{options.late_images},
      final_counts_{memory.counts.last(memory.counts.size() / kCountTables)},
      bye_counts_{
          memory.counts.last(memory.counts.size() / kCountTables * 2).first(memory.counts.size() / kCountTables)},
      bye_buffer_{memory.bye} {
    const std::size_t entries = final_counts_.entry_count_max();
    PERFLEET_ASSERT(kHasJournal || (options.journal == nullptr && options.orphan == nullptr));
    PERFLEET_ASSERT(kSuppliesImages || (options.images.empty() && options.late_images == nullptr));
    PERFLEET_ASSERT(memory.bye.size() >= bye_size_bytes_max(entries));
    PERFLEET_ASSERT(options.journal == nullptr || image_part_of(options).empty());
    PERFLEET_ASSERT(losses.memory_size_bytes() >= loss_report_ring_size_bytes(entries));
    PERFLEET_ASSERT(set_hello_state(hello_, options.session, Seq{1}).ok());
    status_.session = options.session;
    if (kHasJournal && options.orphan != nullptr) {
        restore(options);
    }
    if (options.may_be_known) {
        resolvable_ = Seq{~0ULL / 2};
    }
    is_journal_due_ = true;
    write_journal();
}

void DeliveryCore::restore(const Options& options) {
    const JournalEntry& left = *options.orphan;
    spool_.restore(left.places);
    losses_.restore({std::span{left.ranges}.first(left.range_count), left.lost.entries(), left.acknowledged.entries(),
                     left.since_drop.entries(), left.last_dropped});
    for (const CountEntry& entry : options.final_counts) {
        final_counts_.add(entry.series, entry.name, entry.value);
    }
    end_point_ = options.end_point;
    has_final_ = true;
    has_ended_itself_ = left.has_final;
    is_rest_unknown_ = left.is_rest_unknown;
    status_.last_sealed = left.last_sealed;
    for (SpooledBatch* batch = spool_.front(); batch != nullptr; batch = spool_.next(batch)) {
        // A journal entry that was never written can't have counted this batch's refusal.
        batch->resolved_by = batch->resolved_by > left.number ? 0 : batch->resolved_by;
        // The earlier process may have sent it.
        batch->was_sent = true;
        batch->is_sent = false;
        ++status_.batches_kept;
    }
    pop_resolved();
    status_.spool_used_bytes = spool_.used_bytes();
    // How far the earlier process has sent batches is unknown.
    resolvable_ = Seq{~0ULL / 2};
}

void DeliveryCore::write_journal() {
    if (!kHasJournal || journal_ == nullptr || !is_journal_due_) {
        return;
    }
    const SpooledBatch* const front = spool_.front();
    const Seq first_kept = front != nullptr ? front->seq : Seq{0};
    journal_->write({spool_.places(), status_.last_sealed, losses_.last_dropped(), first_kept, has_ended_itself_,
                     is_rest_unknown_, end_point_, losses_.ranges(), losses_.acknowledged(), losses_.since_drop(),
                     losses_.counts()});
    is_journal_due_ = false;
}

bool DeliveryCore::step(std::uint64_t now_ns) {
    now_ns_ = now_ns;
    if (status_.finished) {
        return false;
    }
    if (driver_.reconnected()) {
        expect_welcome();
    }
    bool has_done = receive(now_ns);
    has_done = take_from_ring() || has_done;
    write_journal();
    if (has_final_ && (has_given_up_ || (status_.session_refused && journal_ == nullptr))) {
        has_done = drop_all() || has_done;
    }
    if (!status_.session_refused) {
        has_done = say_hello(now_ns) || has_done;
        has_done = say_controlled() || has_done;
        has_done = send_batches(now_ns) || has_done;
        has_done = offer_late_images(now_ns) || has_done;
        has_done = send_image_chunk(now_ns) || has_done;
        has_done = say_bye(now_ns) || has_done;
    }
    has_done = losses_.report(loss_reports_) || has_done;
    write_journal();
    status_.spool_used_bytes = spool_.used_bytes();
    return has_done;
}

void DeliveryCore::give_up() { has_given_up_ = true; }

void DeliveryCore::shrink_to(std::uint64_t used_bytes_max) {
    while (spool_.used_bytes() > used_bytes_max && drop_oldest()) {
    }
    write_journal();
    status_.spool_used_bytes = spool_.used_bytes();
}

const DeliveryCore::Status& DeliveryCore::status() const { return status_; }

// -- replies of the gateway -------------------------------------------------------------------------------------------

bool DeliveryCore::receive(std::uint64_t now_ns) {
    for (int i = 0; i < kRepliesPerStep; ++i) {
        const auto size = driver_.receive(reply_buffer_);
        if (size.ok() && *size == 0) {
            return i > 0;
        }
        if (!size.ok()) {
            ++status_.replies_ignored;
            continue;
        }
        const auto reply = read_reply(std::span<const std::byte>{reply_buffer_}.first(*size));
        if (reply.ok()) {
            handle(*reply, now_ns);
        } else {
            ++status_.replies_ignored;
        }
    }
    return true;
}

void DeliveryCore::handle(const Reply& reply, std::uint64_t now_ns) {
    if (reply.protocol_version != protocol::kVersion) {
        status_.session_refused = true;
        status_.refused_reason = static_cast<std::uint16_t>(protocol::RefusedReason::kOtherVersion);
        return;
    }
    switch (reply.type) {
        case Reply::Type::kWelcome: handle_welcome(reply); break;
        case Reply::Type::kHelloAgain:
            // A HelloAgain during a Hello answers earlier messages.
            if (status_.welcomed) {
                expect_welcome();
            }
            break;
        case Reply::Type::kAck: handle_ack(reply); break;
        case Reply::Type::kRefused: handle_refused(reply); break;
        case Reply::Type::kNeedImage: handle_need_image(reply, now_ns); break;
        case Reply::Type::kControl: handle_control(reply); break;
        case Reply::Type::kElsewhere:
            if (is_ours(reply.session)) {
                driver_.go_to(reply.endpoint, reply.public_key);
            }
            break;
        case Reply::Type::kUnknown: break;
    }
}

void DeliveryCore::handle_welcome(const Reply& reply) {
    if (status_.session.is_none()) {
        status_.session = reply.session;
    }
    if (!is_ours(reply.session) || reply.session.is_none()) {
        ++status_.replies_ignored;
        return;
    }
    const bool is_other_gateway = !has_incarnation_ || incarnation_ != reply.incarnation;
    const bool was_welcomed = status_.welcomed;
    status_.gateway_changes += is_other_gateway && has_incarnation_ ? 1 : 0;
    gateway_prefix_ = is_other_gateway ? Seq{0} : gateway_prefix_;
    has_incarnation_ = true;
    incarnation_ = reply.incarnation;
    // Within an incarnation credit never shrinks; each incarnation begins with its own.
    send_limit_ = is_other_gateway || reply.send_limit > send_limit_ ? reply.send_limit : send_limit_;
    status_.welcomed = true;
    status_.is_deferred = false;
    status_.gateway_utc = reply.utc_ns;
    status_.hello_clock = hello_clock_;
    acknowledge(reply.prefix);
    if (is_other_gateway || !was_welcomed) {
        // Batches in flight may be lost; a gateway that has less than the one before gets the whole spool again.
        for (SpooledBatch* batch = spool_.front(); batch != nullptr && batch->was_sent; batch = spool_.next(batch)) {
            batch->is_sent = false;
        }
        to_send_ = spool_.front();
        timeout_.forget();
        was_bye_sent_ = false;
    }
}

void DeliveryCore::handle_ack(const Reply& reply) {
    if (!is_ours(reply.session) || !has_incarnation_ || reply.incarnation != incarnation_) {
        ++status_.replies_ignored;
        return;
    }
    send_limit_ = reply.send_limit > send_limit_ ? reply.send_limit : send_limit_;
    acknowledge(reply.prefix);
    if (reply.is_finished && was_bye_sent_) {
        status_.finished = true;
    }
}

void DeliveryCore::handle_refused(const Reply& reply) {
    if (!is_ours(reply.session)) {
        ++status_.replies_ignored;
        return;
    }
    if (reply.seq.value == 0) {
        status_.refused_reason = reply.reason;
        status_.session_refused = !is_for_now(reply.reason);
        if (!status_.session_refused) {
            expect_welcome();
            status_.is_deferred = true;
            deferred_ns_ = now_ns_;
        }
        return;
    }
    for (SpooledBatch* batch = spool_.front(); batch != nullptr && batch->seq <= reply.seq;
         batch = spool_.next(batch)) {
        if (batch->seq == reply.seq && batch->was_sent && !batch->is_resolved()) {
            batch->resolved_by = !kHasJournal || journal_ == nullptr ? 1 : journal_->next_number();
            is_journal_due_ = true;
            ++status_.batches_refused;
            losses_.count_refused(batch->epoch, DeliverySpool::rows_of(*batch));
            break;
        }
    }
    pop_resolved();
}

void DeliveryCore::handle_need_image(const Reply& reply, std::uint64_t now_ns) {
    if (!kSuppliesImages) {
        return;
    }
    if (reply.build_id.empty()) {
        end_late_images();
        return;
    }
    const ImageSupply* const supply = supply_of(reply.build_id);
    if (supply == nullptr || (!supply->bytes.empty() && reply.offset_bytes >= supply->bytes.size())) {
        return;
    }
    std::size_t index = 0;
    while (index < transfer_count_ && transfers_[index].supply != supply) {
        ++index;
    }
    if (index == transfers_.size()) {
        return;
    }
    const bool is_new = index == transfer_count_;
    transfers_[index] = ImageTransfer{supply, reply.offset_bytes, true, is_new ? now_ns : transfers_[index].asked_ns};
    transfer_count_ = is_new ? transfer_count_ + 1 : transfer_count_;
    image_asked_ns_ = now_ns;
}

const ImageSupply* DeliveryCore::supply_of(std::span<const std::byte> build_id) const {
    for (const std::span<const ImageSupply> supplies : {images_, late_}) {
        for (const ImageSupply& supply : supplies) {
            if (are_equal(supply.build_id, build_id)) {
                return &supply;
            }
        }
    }
    return nullptr;
}

void DeliveryCore::end_late_images() {
    if (!is_late_offered_) {
        return;
    }
    for (std::size_t i = 0; i < transfer_count_;) {
        const ImageSupply* const supply = transfers_[i].supply;
        const bool is_late = supply >= late_.data() && supply < late_.data() + late_.size();
        if (is_late) {
            transfers_[i] = transfers_[--transfer_count_];
        } else {
            ++i;
        }
    }
    late_ = {};
    is_late_offered_ = false;
}

void DeliveryCore::handle_control(const Reply& reply) {
    if (!is_ours(reply.session) || !status_.welcomed || reply.incarnation != incarnation_ || !requests_.take(reply)) {
        ++status_.replies_ignored;
    }
}

// -- batches in the spool ---------------------------------------------------------------------------------------------

bool DeliveryCore::take_from_ring() {
    bool has_taken = false;
    for (int i = 0; i < kRecordsPerStep; ++i) {
        const auto record = batches_.acquire();
        if (record.empty()) {
            break;
        }
        SealedRecord header;
        PERFLEET_ASSERT(record.size() >= sizeof header);
        std::memcpy(&header, record.data(), sizeof header);
        const auto rest = record.subspan(sizeof header);
        if (header.type == SealedRecord::Type::kFinal) {
            take_final(header, rest);
        } else if (!keep(header, rest)) {
            break;  // it stays in the ring until the gateway acknowledges dropped ranges
        }
        is_journal_due_ = true;
        batches_.release();
        has_taken = true;
    }
    return has_taken;
}

bool DeliveryCore::keep(const SealedRecord& header, std::span<const std::byte> message) {
    if (!spool_.can_hold(header, message.size())) {
        if (!losses_.drop_newest(header.seq, header.epoch, std::span{header.rows}.first(header.series_count))) {
            return false;
        }
        resolvable_ = header.seq;
        ++status_.batches_dropped;
    } else {
        while (!spool_.has_room_for(header, message.size())) {
            if (!drop_oldest()) {
                return false;
            }
        }
        // A batch that is being resent may have been dropped or acknowledged meanwhile, and must not be overwritten.
        if (spool_.would_overwrite(header, message.size(), driver_.borrowed())) {
            return false;
        }
        // The journal must not name batches that are about to be overwritten.
        write_journal();
        SpooledBatch* const kept = spool_.push(header, message);
        ++status_.batches_kept;
        to_send_ = to_send_ == nullptr ? kept : to_send_;
    }
    status_.last_sealed = header.seq;
    return true;
}

void DeliveryCore::take_final(const SealedRecord& header, std::span<const std::byte> counts) {
    for (std::size_t at = 0; at < counts.size(); at += sizeof(CountEntry)) {
        CountEntry entry;
        std::memcpy(&entry, counts.data() + at, sizeof entry);
        if (entry.name != CountName::kLostSpoolFull && entry.name != CountName::kLostRefused) {
            final_counts_.add(entry.series, entry.name, entry.value);
        }
    }
    status_.last_sealed = header.seq;
    end_point_ = header.end_point;
    has_final_ = true;
    has_ended_itself_ = true;
    timeout_.forget();  // little time is left
}

bool DeliveryCore::drop_oldest() {
    SpooledBatch* const batch = spool_.front();
    const CountName reason = status_.session_refused ? CountName::kLostRefused : CountName::kLostSpoolFull;
    if (batch == nullptr || !losses_.drop_oldest(batch->seq, batch->epoch, DeliverySpool::rows_of(*batch), reason)) {
        return false;
    }
    resolvable_ = batch->seq > resolvable_ ? batch->seq : resolvable_;
    ++status_.batches_dropped;
    pop_front();
    pop_resolved();
    return true;
}

bool DeliveryCore::drop_all() {
    bool has_done = false;
    for (const SpooledBatch* batch = spool_.front(); batch != nullptr; batch = spool_.front()) {
        std::uint64_t row_count = 0;
        for (const SealedRecord::Rows& part : DeliverySpool::rows_of(*batch)) {
            row_count += is_definition(part.series.kind) ? 0 : part.row_count;
        }
        if (!drop_oldest()) {
            break;
        }
        status_.rows_given_up += status_.session_refused ? 0 : row_count;
        has_done = true;
    }
    return has_done;
}

void DeliveryCore::pop_front() {
    if (to_send_ == spool_.front()) {
        to_send_ = spool_.next(to_send_);
    }
    spool_.pop_front();
    --status_.batches_kept;
    is_journal_due_ = true;
}

void DeliveryCore::pop_resolved() {
    while (spool_.front() != nullptr && spool_.front()->is_resolved()) {
        pop_front();
    }
}

void DeliveryCore::acknowledge(Seq prefix) {
    if (prefix > resolvable_) {
        ++status_.replies_ignored;
        return;
    }
    gateway_prefix_ = prefix > gateway_prefix_ ? prefix : gateway_prefix_;
    // After a loss of power the gateway may have batches that the disk doesn't have.
    status_.last_sealed = has_final_ && prefix > status_.last_sealed ? prefix : status_.last_sealed;
    for (SpooledBatch* batch = spool_.front(); batch != nullptr && batch->seq <= prefix; batch = spool_.front()) {
        if (!batch->is_resolved()) {
            ++status_.batches_acknowledged;
            if (batch->is_sent) {
                acknowledged_after_.observe(now_ns_ - batch->sent_ns);
                if (!batch->was_repeated) {
                    timeout_.learn(now_ns_ - batch->sent_ns);
                }
            }
            losses_.acknowledge(batch->report_number);
            losses_.count_acknowledged(DeliverySpool::rows_of(*batch));
        }
        pop_front();
    }
    pop_resolved();
    status_.prefix = prefix > status_.prefix ? prefix : status_.prefix;
}

Seq DeliveryCore::oldest_retained() {
    const SpooledBatch* const front = spool_.front();
    return front != nullptr ? front->seq : Seq{status_.last_sealed.value + 1};
}

// -- messages to the gateway ------------------------------------------------------------------------------------------

void DeliveryCore::expect_welcome() {
    status_.welcomed = false;
    status_.is_deferred = false;
    is_hello_due_ = true;
    transfer_count_ = 0;  // the gateway asks again after its Welcome
    is_late_offered_ = false;
}

bool DeliveryCore::say_hello(std::uint64_t now_ns) {
    if (status_.welcomed || !driver_.borrowed().empty() ||
        (!is_hello_due_ && now_ns - hello_sent_ns_ < limits::kAckIntervalNs) ||
        (status_.is_deferred && now_ns - deferred_ns_ < limits::kRetryDeferredNs)) {
        return false;
    }
    const Seq oldest = oldest_retained();
    PERFLEET_ASSERT(set_hello_state(hello_, status_.session, oldest, clock_).ok());
    if (!driver_.send(hello_)) {
        return false;
    }
    reported_oldest_ = oldest;
    is_hello_due_ = false;
    status_.is_deferred = false;
    hello_sent_ns_ = now_ns;
    hello_clock_ = clock_;
    return true;
}

bool DeliveryCore::say_controlled() {
    if (!status_.welcomed || !driver_.borrowed().empty()) {
        return false;
    }
    const auto answer = requests_.due(status_.session, incarnation_);
    if (answer.empty() || !driver_.send(answer)) {
        return false;
    }
    requests_.said();
    return true;
}

bool DeliveryCore::send_batches(std::uint64_t now_ns) {
    SpooledBatch* const front = spool_.front();
    if (!status_.welcomed || front == nullptr) {
        return false;
    }
    if (front->is_sent && now_ns - front->sent_ns >= timeout_.duration_ns()) {
        to_send_ = front;
        round_timeout_ns_ = timeout_.duration_ns();
        timeout_.grow();
    }
    const auto is_in_time = [&](const SpooledBatch& batch) {
        return batch.is_sent && now_ns - batch.sent_ns < round_timeout_ns_;
    };
    int sent_count = 0;
    // The gateway waits for batches before the oldest one, which are gone (refused, dropped, damaged on disk), and no
    // other batch will be sent to report that.
    const bool is_gap_unreported = front->seq.value > gateway_prefix_.value + 1 && front->seq > reported_oldest_;
    if (is_gap_unreported && front->is_sent && (to_send_ == nullptr || to_send_->seq > send_limit_) &&
        driver_.borrowed().empty()) {
        sent_count += send_batch(*front, now_ns) ? 1 : 0;
    }
    while (to_send_ != nullptr && sent_count < kBatchesPerStep && driver_.borrowed().empty()) {
        SpooledBatch& batch = *to_send_;
        if (!batch.is_resolved() && !is_in_time(batch)) {
            // The oldest batch is sent beyond the limit if the gateway waits for dropped ones: its oldestRetainedSeq
            // moves the gateway's prefix.
            const bool is_waited_for = &batch == front && batch.seq.value > gateway_prefix_.value + 1;
            if (batch.seq > send_limit_ && !is_waited_for) {
                break;
            }
            if (!send_batch(batch, now_ns)) {
                break;
            }
            ++sent_count;
        }
        to_send_ = spool_.next(to_send_);
    }
    return sent_count > 0;
}

bool DeliveryCore::send_batch(SpooledBatch& batch, std::uint64_t now_ns) {
    const Seq oldest = spool_.front()->seq;
    const auto message = DeliverySpool::message_of(batch);
    PERFLEET_ASSERT(set_oldest_retained_seq(message, oldest).ok());
    if (!driver_.send(message)) {
        return false;
    }
    reported_oldest_ = oldest;
    status_.batches_resent += batch.was_sent ? 1 : 0;
    batch.was_repeated = batch.was_sent;
    batch.was_sent = true;
    batch.is_sent = true;
    batch.sent_ns = now_ns;
    resolvable_ = batch.seq > resolvable_ ? batch.seq : resolvable_;
    return true;
}

bool DeliveryCore::offer_late_images(std::uint64_t now_ns) {
    if (!kSuppliesImages || late_images_ == nullptr || !status_.welcomed || !driver_.borrowed().empty()) {
        return false;
    }
    if (late_.empty()) {
        late_ = late_images_->next();
        PERFLEET_ASSERT(late_.size() <= hello_limits::kImageOffersMax);
    }
    // A gateway that has no space for images doesn't reply.
    const bool is_due_again = transfer_count_ == 0 && !has_final_ && now_ns - image_asked_ns_ >= kImageTimeoutNs;
    if (late_.empty() || (is_late_offered_ && !is_due_again)) {
        return false;
    }
    std::array<OfferedImage, hello_limits::kImageOffersMax> offers;
    for (std::size_t i = 0; i < late_.size(); ++i) {
        offers[i] = {late_[i].build_id, late_[i].type, late_[i].bytes.size()};
    }
    const auto size = write_image_offers(status_.session, std::span{offers}.first(late_.size()), image_buffer_);
    PERFLEET_ASSERT(size.ok());
    if (!driver_.send(image_buffer_.first(*size))) {
        return false;
    }
    is_late_offered_ = true;
    image_asked_ns_ = now_ns;
    return true;
}

// Whether the Bye must wait for an image that is being fetched, or for late ones.
bool DeliveryCore::waits_for_images(std::uint64_t now_ns) {
    if (!kSuppliesImages || has_given_up_) {
        return false;
    }
    if (late_.empty() && late_images_ != nullptr) {
        late_ = late_images_->next();
    }
    if (!late_.empty() && !is_late_offered_) {
        return true;
    }
    return (transfer_count_ > 0 || !late_.empty()) && now_ns - image_asked_ns_ < kImageTimeoutNs;
}

bool DeliveryCore::send_image_chunk(std::uint64_t now_ns) {
    if (!kSuppliesImages || !status_.welcomed || !driver_.borrowed().empty() || now_ns < image_due_ns_) {
        return false;
    }
    for (std::size_t i = 0; i < transfer_count_; ++i) {
        ImageTransfer& transfer = transfers_[i];
        if (!transfer.is_asked_for) {
            continue;
        }
        LateImages::Content content{true, transfer.supply->bytes};
        if (content.bytes.empty() && late_images_ != nullptr) {
            content = late_images_->content(static_cast<std::size_t>(transfer.supply - late_.data()));
        }
        if (!content.is_read) {
            image_asked_ns_ = now_ns - transfer.asked_ns < kImageReadTimeoutNs ? now_ns : image_asked_ns_;
            continue;
        }
        if (transfer.offset_bytes > content.bytes.size()) {
            transfer.is_asked_for = false;
            continue;
        }
        const auto rest = content.bytes.subspan(transfer.offset_bytes);
        const std::size_t room = image_buffer_.size() - kImageChunkOverheadBytes;
        const auto part = rest.first(rest.size() < room ? rest.size() : room);
        const auto size =
            write_image_chunk(ImageChunk{status_.session, transfer.supply->build_id, transfer.supply->type,
                                         content.bytes.size(), transfer.offset_bytes, part},
                              image_buffer_);
        PERFLEET_ASSERT(size.ok());
        if (!driver_.send(image_buffer_.first(*size))) {
            return false;
        }
        transfer.is_asked_for = false;
        image_asked_ns_ = now_ns;
        if (image_bytes_per_second_ != 0) {
            image_due_ns_ = now_ns + part.size() * std::uint64_t{1'000'000'000} / image_bytes_per_second_;
        }
        if (part.size() == rest.size()) {
            transfer = transfers_[--transfer_count_];
        }
        return true;
    }
    return false;
}

bool DeliveryCore::say_bye(std::uint64_t now_ns) {
    if (!status_.welcomed || !has_final_ || spool_.front() != nullptr || !driver_.borrowed().empty() ||
        (was_bye_sent_ && now_ns - bye_sent_ns_ < limits::kAckIntervalNs)) {
        return false;
    }
    bye_ready_ns_ = bye_ready_ns_ == 0 ? now_ns : bye_ready_ns_;
    if (now_ns - bye_ready_ns_ < images_wait_ns_ && waits_for_images(now_ns)) {
        return false;
    }
    bye_counts_.take(final_counts_);
    for (const CountEntry& entry : losses_.counts()) {
        bye_counts_.add(entry.series, entry.name, entry.value);
    }
    const auto size = write_bye(
        ByeDescription{status_.session, status_.last_sealed, bye_counts_.entries(), losses_.ranges(), end_point_},
        bye_buffer_);
    PERFLEET_ASSERT(size.ok());
    if (!driver_.send(bye_buffer_.first(*size))) {
        return false;
    }
    was_bye_sent_ = true;
    bye_sent_ns_ = now_ns;
    return true;
}

}  // namespace perfleet
