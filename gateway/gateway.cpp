#include "gateway/gateway.h"

#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <initializer_list>
#include <utility>

#include "gateway/admission/image_checker.h"
#include "gateway/control/control_server.h"
#include "gateway/control/session_editor.h"
#include "gateway/control/shared_requests.h"
#include "gateway/ingest/ingest.h"
#include "gateway/wire/reception.h"
#include "schemas/host/file_descriptor.h"
#include "schemas/host/host_clock.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/wire/delivery_limits.h"

namespace perfleet {
namespace {

// Messages taken before clock and due work are checked again.
constexpr int kMessagesAtOnceMax = 64;

// Longest time that a stop waits for image checks.
constexpr std::uint64_t kFinishChecksNs = 1'000'000'000;

// Replies to one Hello: remembered refusals, the Welcome, an acknowledgement and a request for an image.
static_assert(intake_limits::kRefusalsRememberedMax + 3 <= Reception::kRepliesWaitingMax);

template <class Integer>
Result<Done> fill_random(Integer& value) {
    if (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
        return error_from_errno(errno, "getrandom");
    }
    return Done{};
}

SessionId random_session() {
    SessionId session;
    // open() has waited until the random pool is ready; after that 16 bytes never fail.
    PERFLEET_ASSERT(fill_random(session).ok());
    return session;
}

Ingest::Now read_now() { return {monotonic_now_ns(), utc_now()}; }

class ReceptionLink final : public PeerLink {
public:
    explicit ReceptionLink(Reception& reception) : reception_{reception} {}

    void send(std::string_view routing_id, std::span<const std::byte> frame) override {
        reception_.send(routing_id, frame);
    }
    void cut(std::string_view routing_id) override { reception_.cut(routing_id); }

private:
    Reception& reception_;
};

// One descriptor that is readable if any of several is; -1 is ignored.
class AnyOf {
public:
    explicit AnyOf(std::initializer_list<int> fds) : fd_{epoll_create1(EPOLL_CLOEXEC)} {
        for (const int fd : fds) {
            if (fd < 0) {
                continue;
            }
            epoll_event event{};
            event.events = EPOLLIN;
            PERFLEET_ASSERT(epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event) == 0);
        }
    }
    [[nodiscard]] int fd() const { return fd_.get(); }

private:
    FileDescriptor fd_;
};

class ServingGateway final : public Gateway {
public:
    explicit ServingGateway(std::unique_ptr<Reception> reception)
        : reception_{std::move(reception)}, link_{*reception_} {}

    Result<Done> start(const GatewayOptions& options, Store& store) {
        Ingest::Options ingest_options;
        while (ingest_options.incarnation == 0) {
            PERFLEET_TRY(fill_random(ingest_options.incarnation));
        }
        ingest_options.grant_session = random_session;
        ingest_options.log = options.log;
        ingest_options.data = options.data;
        ingest_options.memory = options.memory;
        ingest_options.asks_for_symbols = options.asks_for_symbols;
        ingest_options.cardinality.target_sessions_max = options.target_sessions_max;
        ingest_options.clock_timeout_ns = options.clock_timeout_ns;
        ingest_options.retention_class_of = options.retention_class_of;
        ingest_options.monotonic_ns = [] { return monotonic_now_ns(); };
        ingest_options.check_image = [this](ReceivedImage image) { checker_.begin(std::move(image)); };
        ingest_ = PERFLEET_TRY(Ingest::open(std::move(ingest_options), store, link_));
        if (!options.folder.empty()) {
            auto control_server = ControlServer::open(options.folder);
            if (control_server) {
                requests_ = std::move(*control_server);
                editor_ = std::make_unique<SessionEditor>(store);
            } else if (options.log) {
                options.log({LogLevel::kWarning, "control",
                             "control requests are not possible: " + control_server.error().message});
            }
        } else if (store.leases() != nullptr) {
            requests_ = std::make_unique<SharedRequests>(*store.leases());
            editor_ = std::make_unique<SessionEditor>(store);
        }
        return Done{};
    }

    const std::vector<std::string>& endpoints() const override { return reception_->endpoints(); }

    Result<Done> serve(const std::atomic<bool>& stop, int stop_fd) override {
        const AnyOf wake{stop_fd, checker_.fd(), requests_ != nullptr ? requests_->fd() : -1,
                         editor_ != nullptr ? editor_->fd() : -1};
        while (!stop.load(std::memory_order_acquire)) {
            const bool more = take_messages();
            for (const std::string& routing_id : reception_->take_gone()) {
                ingest_->forget_peer(routing_id);
            }
            const Ingest::Now now = read_now();
            PERFLEET_TRY(take_checked(now));
            take_requests(now);
            PERFLEET_TRY(ingest_->tick(now));
            pass_on_answers();
            reception_->flush();
            if (!more) {
                reception_->wait(wake.fd(), ingest_->next_due_ns(now));
            }
        }
        finish_checks();
        auto finished = ingest_->finish(read_now());
        reception_->flush();
        return finished;
    }

    GatewayCounts counts() const override {
        GatewayCounts counts = ingest_->counts();
        const Reception::Counts control_server = reception_->counts();
        counts.messages_dropped = control_server.messages_dropped;
        counts.replies_dropped = control_server.replies_dropped;
        counts.memory_bytes_now += control_server.inbox_bytes + control_server.buffered_bytes;
        return counts;
    }
    TransportCounts transport_counts() const override { return reception_->transport_counts(); }

private:
    // True if there may be more messages.
    bool take_messages() {
        const Ingest::Now now = read_now();
        for (int i = 0; i < kMessagesAtOnceMax; ++i) {
            const std::optional<InboxMessage> message = reception_->take();
            if (!message.has_value()) {
                return false;
            }
            const std::uint64_t began_ns = monotonic_now_ns();
            ingest_->take(message->routing_id(), message->frame(), now,
                          {message->peer(), message->arrived_ns(), message->is_local()});
            const std::uint64_t ended_ns = monotonic_now_ns();
            reception_->charge(*message, ended_ns - began_ns);
            // Slow messages must not delay the commit of earlier ones.
            if (ingest_->is_group_full() || ended_ns - now.monotonic_ns >= limits::kGroupCommitNs) {
                return true;
            }
        }
        return true;
    }

    void take_requests(const Ingest::Now& now) {
        if (requests_ == nullptr) {
            return;
        }
        const RequestSource::Incoming incoming = requests_->take();
        for (const auto& [ticket, order] : incoming.requests) {
            if (order.edit == SessionEdit::kKeepSymbols) {
                checker_.begin(ticket, order);
            } else if (order.edit) {
                editor_->begin(ticket, order);
            } else {
                ingest_->place_request(ticket, order, now);
            }
        }
        for (const std::uint64_t ticket : incoming.withdrawn) {
            ingest_->withdraw_request(ticket);
        }
    }

    // Errors: those that end the gateway.
    Result<Done> take_checked(const Ingest::Now& now) {
        std::optional<ImageChecker::Outcome> outcome = checker_.take();
        if (!outcome.has_value()) {
            return Done{};
        }
        if (auto* image = std::get_if<CheckedImage>(&*outcome)) {
            ingest_->image_checked(std::move(*image), now);
            return Done{};
        }
        return keep_symbols(std::get<CheckedOrder>(std::move(*outcome)), now);
    }

    // Stores complete images at a stop, if their checks end in time.
    void finish_checks() {
        const std::uint64_t end_ns = monotonic_now_ns() + kFinishChecksNs;
        for (std::uint64_t now_ns = monotonic_now_ns(); now_ns < end_ns && checker_.wait(end_ns - now_ns);
             now_ns = monotonic_now_ns()) {
            if (const auto taken = take_checked(read_now()); !taken) {
                return;  // finish() reports the store's error
            }
        }
    }

    Result<Done> keep_symbols(CheckedOrder order, const Ingest::Now& now) {
        auto& [ticket, symbols] = order;
        if (!symbols.ok()) {
            requests_->answer(ticket, RequestOutcome::kRefused, symbols.error().message);
            return Done{};
        }
        auto kept = ingest_->keep_image(std::move(symbols->build_id), std::move(symbols->content), now);
        if (!kept.ok() && kept.error().code != ErrorCode::kTooLarge) {
            return kept;
        }
        requests_->answer(ticket, kept.ok() ? RequestOutcome::kApplied : RequestOutcome::kRefused,
                          kept.ok() ? std::string{} : kept.error().message);
        return Done{};
    }

    void pass_on_answers() {
        for (RequestAnswer& answer : ingest_->take_request_answers()) {
            requests_->answer(answer.ticket, answer.outcome, std::move(answer.reason));
        }
        if (editor_ != nullptr) {
            for (SessionEditor::Answer& answer : editor_->take()) {
                requests_->answer(answer.ticket, answer.outcome, std::move(answer.reason));
            }
        }
    }

    std::unique_ptr<RequestSource> requests_;  // null: no control requests
    std::unique_ptr<SessionEditor> editor_;    // null without requests_
    std::unique_ptr<Reception> reception_;
    ReceptionLink link_;
    ImageChecker checker_;
    std::unique_ptr<Ingest> ingest_;
};

}  // namespace

Result<std::unique_ptr<Gateway>> Gateway::open(const GatewayOptions& options, Store& store) {
    ReceptionOptions reception_options;
    reception_options.endpoints = options.listen;
    reception_options.folder = options.folder.empty() ? options.socket_folder : options.folder;
    if (options.keys.has_value()) {
        reception_options.key_file = options.keys->key_file;
        reception_options.collectors_folder = options.keys->collectors_folder;
    }
    reception_options.connections_max = options.connections_max;
    reception_options.connections_default_max = options.memory.connections_max();
    reception_options.inbox_size_bytes = options.memory.inbox_bytes();
    reception_options.buffered_size_bytes = options.memory.buffered_bytes();
    reception_options.log = options.log ? options.log : [](std::string_view) {};
    auto reception = PERFLEET_TRY(Reception::open(reception_options));
    auto gateway = std::make_unique<ServingGateway>(std::move(reception));
    PERFLEET_TRY(gateway->start(options, store));
    return std::unique_ptr<Gateway>{std::move(gateway)};
}

}  // namespace perfleet
