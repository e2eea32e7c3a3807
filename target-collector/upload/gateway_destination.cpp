#include "target-collector/upload/gateway_destination.h"

#include <cstring>
#include <deque>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/hello_limits.h"
#include "target-collector/intake/session/session_hello.h"
#include "target-collector/linux/link/clock_relation.h"
#include "target-collector/linux/link/refusal.h"
#include "target-collector/ring/spsc_ring.h"
#include "target-collector/wire/delivery.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kImagesTimeoutNs = 40'000'000'000;  // nothing is acknowledged meanwhile
constexpr std::uint64_t kTellWaitingNs = 2'000'000'000;
constexpr std::size_t kRingSizeBytes = 4U << 20;
// For batches without acknowledgement. Accepts no more while half of it is used, so that nothing is dropped.
constexpr std::size_t kSpoolSizeBytes = 32U << 20;
static_assert(kSpoolSizeBytes / 2 > 2 * limits::kBatchSizeBytesMax);

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span{text}); }

// Symbols that wait until the gateway asks for them.
class WaitingImages final : public LateImages {
public:
    void add(std::string_view build_id, ImageContent content) {
        waiting_.emplace_back(std::string{build_id}, std::move(content));
    }

    std::span<const ImageSupply> next() override {
        offered_.clear();
        supplies_.clear();
        while (!waiting_.empty() && offered_.size() < hello_limits::kImageOffersMax) {
            offered_.push_back(std::move(waiting_.front()));
            waiting_.pop_front();
        }
        for (const auto& [build_id, content] : offered_) {
            supplies_.push_back({bytes_of(build_id), content.type, bytes_of(content.bytes)});
        }
        return supplies_;
    }

private:
    std::deque<std::pair<std::string, ImageContent>> waiting_;
    std::vector<std::pair<std::string, ImageContent>> offered_;
    std::vector<ImageSupply> supplies_;
};

class GatewayWriter final : public SessionWriter {
public:
    GatewayWriter(SessionRecord record, std::vector<std::byte> hello, std::unique_ptr<GatewayLink> link,
                  const LogSink& log, std::uint64_t answer_timeout_ns)
        : SessionWriter{std::move(record)},
          answer_timeout_ns_{answer_timeout_ns},
          link_{std::move(link)},
          log_{log},
          hello_{std::move(hello)},
          memory_{new std::byte[kRingSizeBytes + kLossReportRingSizeBytes + kSpoolSizeBytes]},
          batches_{{memory_.get(), kRingSizeBytes}},
          losses_{{memory_.get() + kRingSizeBytes, kLossReportRingSizeBytes}},
          delivery_{options(), *link_, batches_, losses_} {}

    Result<Done> begin() {
        return wait_until([this] { return delivery_.status().welcomed; });
    }

    Result<Done> put(const SealedRecord& header, std::span<const std::byte> message) override {
        if (header.seq <= delivery_.status().prefix) {
            ++stored_.batches_there;
            return Done{};
        }
        PERFLEET_TRY(pass_on(header, message));
        ++stored_.batches_stored;
        for (const SealedRecord::Rows& rows : std::span{header.rows}.first(header.series_count)) {
            stored_.row_count += is_definition(rows.series.kind) ? 0 : rows.row_count;
        }
        return Done{};
    }

    Result<Done> put_image(std::string_view build_id, ImageContent content) override {
        images_.add(build_id, std::move(content));
        return Done{};
    }

    Result<Done> sync() override {
        PERFLEET_TRY(wait_until([this] { return delivery_.status().batches_kept == 0; }));
        return none_refused();
    }

    Result<Done> end(const SessionEnd& end) override {
        SealedRecord header;
        header.type = SealedRecord::Type::kFinal;
        header.seq = end.last_seq;
        header.end_point = end.end_point;
        PERFLEET_TRY(pass_on(header, std::as_bytes(std::span{end.counts})));
        PERFLEET_TRY(wait_until([this] { return delivery_.status().finished; }));
        stored_.has_end = true;
        return none_refused();
    }

private:
    [[nodiscard]] Result<Done> none_refused() const {
        if (const std::uint64_t refused = delivery_.status().batches_refused; refused > 0) {
            return Error{ErrorCode::kInvalid, link_->peer() + " refuses " + std::to_string(refused) +
                                                  " batches (its log says why); their rows are lost in the session's "
                                                  "ledger"};
        }
        return Done{};
    }

    Delivery::Options options() {
        Delivery::Options options;
        options.session = record_.session;
        options.hello = hello_;
        options.spool = {memory_.get() + kRingSizeBytes + kLossReportRingSizeBytes, kSpoolSizeBytes};
        options.late_images = &images_;
        options.image_bytes_per_second = 0;
        options.images_wait_ns = kImagesTimeoutNs;
        options.may_be_known = true;
        return options;
    }

    Result<Done> pass_on(const SealedRecord& header, std::span<const std::byte> body) {
        PERFLEET_TRY(wait_until([this] { return delivery_.status().spool_used_bytes < kSpoolSizeBytes / 2; }));
        const auto record = batches_.reserve(sizeof header + body.size());
        if (record.empty()) {
            return Error{ErrorCode::kTooLarge, "a batch of " + std::to_string(body.size()) + " bytes"};
        }
        std::memcpy(record.data(), &header, sizeof header);
        if (!body.empty()) {
            std::memcpy(record.data() + sizeof header, body.data(), body.size());
        }
        batches_.commit(sizeof header + body.size());
        return wait_until([this] { return batches_.used_bytes() == 0; });
    }

    // Continues the delivery until then, or until the gateway has made no progress for too long.
    template <class Condition>
    Result<Done> wait_until(Condition is_reached) {
        const Delivery::Status& status = delivery_.status();
        const auto progress = [&] {
            return std::tuple{status.welcomed, status.last_sealed.value, status.batches_acknowledged,
                              status.batches_refused};
        };
        const std::uint64_t started_ns = monotonic_now().value;
        std::uint64_t progressed_ns = started_ns;
        for (auto last = progress();;) {
            const std::uint64_t now_ns = monotonic_now().value;
            const bool is_busy = delivery_.step(now_ns);
            link_->note_time(now_ns);
            if (status.session_refused || status.is_deferred) {
                return Error{
                    status.session_refused ? ErrorCode::kInvalid : ErrorCode::kUnavailable,
                    link_->peer() + " doesn't take this session: " + std::string{refusal(status.refused_reason)}};
            }
            if (is_reached()) {
                return Done{};
            }
            if (!link_->unknown().empty()) {
                return Error{ErrorCode::kUnavailable,
                             "target '" + record_.target_name + "' is stored by the gateway at " + link_->unknown() +
                                 ", which takes only peers with keys: send this to its own --http"};
            }
            if (const auto now = progress(); now != last) {
                last = now;
                progressed_ns = now_ns;
            }
            if (now_ns - progressed_ns > answer_timeout_ns_) {
                return Error{ErrorCode::kUnavailable,
                             link_->peer() + " doesn't go on: " + trouble() + "; import again when it does"};
            }
            if (!is_waiting_told_ && !status.welcomed && now_ns - started_ns > kTellWaitingNs) {
                is_waiting_told_ = true;
                log_({LogLevel::kWarning, "link", "waiting for " + link_->peer() + ": " + trouble()});
            }
            if (!is_busy) {
                link_->wait(never_.fd(), kSleepNsMax);
            }
        }
    }

    [[nodiscard]] std::string trouble() const {
        const std::string trouble = link_->trouble();
        return trouble.empty() ? "no answer" : trouble;
    }

    std::uint64_t answer_timeout_ns_;
    std::unique_ptr<GatewayLink> link_;
    const LogSink& log_;
    std::vector<std::byte> hello_;
    std::unique_ptr<std::byte[]> memory_;  // of ring, losses and spool; pages are untouched until used
    SpscRing batches_;
    SpscRing losses_;
    WaitingImages images_;
    Delivery delivery_;
    WakeEvent never_;
    bool is_waiting_told_ = false;
};

}  // namespace

GatewayDestination::GatewayDestination(GatewayLink::Peer peer, LogSink log, std::uint64_t answer_timeout_ns)
    : peer_{std::move(peer)}, log_{std::move(log)}, answer_timeout_ns_{answer_timeout_ns} {}

Result<std::unique_ptr<SessionDestination>> GatewayDestination::connect(GatewayLink::Peer peer, LogSink log) {
    PERFLEET_TRY(GatewayLink::connect(peer));  // checks its endpoints and keys
    return std::unique_ptr<SessionDestination>{std::make_unique<GatewayDestination>(std::move(peer), std::move(log))};
}

Result<std::unique_ptr<SessionWriter>> GatewayDestination::begin(SessionRecord record, UtcNs /*now*/) {
    auto hello = hello_of(record);
    if (!hello.ok()) {
        return Error{hello.error().code,
                     hello.error().message + ", more than a gateway takes; a folder that no process writes to does"};
    }
    auto link = PERFLEET_TRY(GatewayLink::connect(peer_));
    auto writer = std::make_unique<GatewayWriter>(std::move(record), std::move(*hello), std::move(link), log_,
                                                  answer_timeout_ns_);
    PERFLEET_TRY(writer->begin());
    return std::unique_ptr<SessionWriter>{std::move(writer)};
}

}  // namespace perfleet
