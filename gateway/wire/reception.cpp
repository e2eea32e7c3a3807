#include "gateway/wire/reception.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include "gateway/wire/endpoint.h"
#include "schemas/host/host_clock.h"
#include "schemas/host/wake_event.h"
#include "schemas/vocabulary/batch_limits.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kIdleNs = 1'000'000'000;
constexpr std::size_t kMessageSizeBytesMax = limits::kBatchSizeBytesMax + 4'096;
// Connections without any message yet.
constexpr std::size_t kUnheardMax = 4'096;
constexpr std::size_t kConnectionsDefaultMax = 65'536;
constexpr std::size_t kSmallDescriptorLimit = 8'192;
// Paused peers are read again when the inbox has shrunk by an eighth, not after every message.
constexpr std::size_t kResumeShare = 8;
// Twice the time of a 64 KiB message; less than kChargedFromNs isn't charged.
constexpr std::uint64_t kNsPerByte = 8;
constexpr std::uint64_t kChargedFromNs = 1'000'000;

std::string routing_id_of(zmtp::ConnectionId id) { return {reinterpret_cast<const char*>(&id), sizeof id}; }

zmtp::ConnectionId connection_of(std::string_view routing_id) {
    zmtp::ConnectionId id = 0;
    if (routing_id.size() == sizeof id) {
        std::memcpy(&id, routing_id.data(), sizeof id);
    }
    return id;
}

std::size_t default_connections_max() {
    rlimit limit{};
    const bool is_known = getrlimit(RLIMIT_NOFILE, &limit) == 0;
    const std::size_t descriptors_max = is_known ? static_cast<std::size_t>(limit.rlim_cur) : 1'024;
    // The rest is for files, and for connections that are accepted before they can be refused.
    const std::size_t share = descriptors_max < kSmallDescriptorLimit ? descriptors_max / 2 : descriptors_max / 4 * 3;
    return std::clamp<std::size_t>(share, 1, kConnectionsDefaultMax);
}

}  // namespace

void Reception::Replies::add(std::string_view routing_id, std::span<const std::byte> frame) {
    const auto id = std::as_bytes(std::span{routing_id});
    bytes.insert(bytes.end(), id.begin(), id.end());
    bytes.insert(bytes.end(), frame.begin(), frame.end());
    sizes.emplace_back(static_cast<std::uint32_t>(routing_id.size()), static_cast<std::uint32_t>(frame.size()));
}

void Reception::Replies::clear() {
    bytes.clear();
    sizes.clear();
}

Result<std::unique_ptr<Reception>> Reception::open(const ReceptionOptions& options) {
    const bool has_keys = !options.key_file.empty();
    if (has_keys == options.collectors_folder.empty()) {
        return Error{ErrorCode::kUsage,
                     "--key FILE and --collectors DIR go together: the gateway's own secret key, and the folder of the "
                     "accepted public keys"};
    }
    if (options.endpoints.empty() && options.folder.empty()) {
        return Error{ErrorCode::kUsage, "no endpoint to listen on; give --listen tcp://127.0.0.1:PORT"};
    }
    for (const std::string& endpoint : options.endpoints) {
        PERFLEET_TRY(check_listen_endpoint(endpoint, has_keys));
    }
    zmtp::ServerLimits limits;
    limits.connections_max = options.connections_max != 0
                                 ? options.connections_max
                                 : std::min(default_connections_max(), options.connections_default_max);
    limits.unheard_max = std::clamp<std::size_t>(limits.connections_max / 2, 1, kUnheardMax);
    limits.message_size_bytes_max = kMessageSizeBytesMax;
    limits.buffered_size_bytes_max = std::max(options.buffered_size_bytes, 4 * kMessageSizeBytesMax);
    limits.replies_waiting_max = kRepliesWaitingMax;

    std::unique_ptr<Reception> reception{new Reception{options.inbox_size_bytes}};
    std::optional<zmtp::KeyPlaces> keys;
    if (has_keys) {
        keys = {options.key_file, "--collectors", options.collectors_folder};
    }
    reception->server_ = PERFLEET_TRY(zmtp::Server::open(limits, keys, *reception, options.log));
    if (!reception->inbox_event_) {
        return error_from_errno(errno, "eventfd");
    }
    if (!options.folder.empty()) {
        if (auto listening = reception->listen_in(options.folder); !listening) {
            if (options.endpoints.empty()) {
                return std::move(listening).error();
            }
            options.log("no other process can record into the folder while it is written to: " +
                        listening.error().message);
        }
    }
    for (const std::string& endpoint : options.endpoints) {
        auto listener = PERFLEET_TRY(zmtp::Listener::open("--listen", endpoint));
        reception->endpoints_.push_back(listener.endpoint());
        reception->server_->listen_at(std::move(listener), false);
    }
    reception->thread_ = std::thread{[at = reception.get()] { at->run(); }};
    return reception;
}

Result<Done> Reception::listen_in(const std::string& folder) {
    auto local = PERFLEET_TRY(LocalSocket::in(folder, kGatewaySocketName));
    auto descriptor = PERFLEET_TRY(local.bind(SOCK_STREAM | SOCK_NONBLOCK));
    auto listener = PERFLEET_TRY(zmtp::Listener::adopt(std::move(descriptor), local.endpoint()));
    server_->listen_at(std::move(listener), true);
    local_.emplace(std::move(local));
    return Done{};
}

Reception::~Reception() {
    if (thread_.joinable()) {
        flush();
        {
            const std::lock_guard lock{mutex_};
            is_over_ = true;
        }
        server_->wake();
        thread_.join();
    }
    if (local_.has_value()) {
        local_->remove();
    }
}

// -- the user's thread
// ------------------------------------------------------------------------------------------------

std::optional<InboxMessage> Reception::take() {
    const std::lock_guard lock{mutex_};
    std::optional<InboxMessage> message = inbox_.take();
    if (resume_at_bytes_.has_value() && inbox_.size_bytes() <= *resume_at_bytes_) {
        resume_at_bytes_.reset();
        is_to_resume_ = true;
        server_->wake();
    }
    return message;
}

void Reception::send(std::string_view routing_id, std::span<const std::byte> frame) {
    if (replies_gathered_.size_bytes() + frame.size() > kRepliesSizeBytesMax) {
        ++replies_dropped_;
        return;
    }
    replies_gathered_.add(routing_id, frame);
}

void Reception::charge(const InboxMessage& message, std::uint64_t duration_ns) {
    const std::size_t cost_bytes = duration_ns / kNsPerByte;
    if (duration_ns >= kChargedFromNs && cost_bytes > message.cost_bytes()) {
        const std::lock_guard lock{mutex_};
        inbox_.charge(message.routing_id(), cost_bytes - message.cost_bytes());
    }
}

void Reception::cut(std::string_view routing_id) {
    const std::lock_guard lock{mutex_};
    messages_dropped_ += inbox_.forget(routing_id);
    cuts_due_.push_back(connection_of(routing_id));
    server_->wake();
}

void Reception::flush() {
    if (replies_gathered_.sizes.empty()) {
        return;
    }
    {
        const std::lock_guard lock{mutex_};
        if (replies_due_.sizes.empty()) {
            std::swap(replies_due_, replies_gathered_);
        } else if (replies_due_.size_bytes() + replies_gathered_.size_bytes() <= kRepliesSizeBytesMax) {
            replies_due_.bytes.insert(replies_due_.bytes.end(), replies_gathered_.bytes.begin(),
                                      replies_gathered_.bytes.end());
            replies_due_.sizes.insert(replies_due_.sizes.end(), replies_gathered_.sizes.begin(),
                                      replies_gathered_.sizes.end());
        } else {
            replies_dropped_ += replies_gathered_.sizes.size();
        }
    }
    replies_gathered_.clear();
    server_->wake();
}

std::vector<std::string> Reception::take_gone() {
    const std::lock_guard lock{mutex_};
    return std::exchange(gone_, {});
}

void Reception::wait(int wake_fd, std::uint64_t timeout_ns) {
    {
        const std::lock_guard lock{mutex_};
        if (!inbox_.is_empty()) {
            return;
        }
        is_waited_for_ = true;
    }
    std::array<pollfd, 2> fds{{{inbox_event_.fd(), POLLIN, 0}, {wake_fd, POLLIN, 0}}};
    timespec timeout{};
    timeout.tv_sec = static_cast<std::time_t>(timeout_ns / 1'000'000'000);
    timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000);
    ppoll(fds.data(), fds.size(), &timeout, nullptr);
    const std::lock_guard lock{mutex_};
    is_waited_for_ = false;
    inbox_event_.clear();
}

Reception::Counts Reception::counts() const {
    Counts counts;
    counts.messages_dropped = messages_dropped_;
    counts.replies_dropped = replies_dropped_;
    const std::lock_guard lock{mutex_};
    counts.inbox_bytes = inbox_.size_bytes();
    counts.buffered_bytes = buffered_bytes_;
    return counts;
}

TransportCounts Reception::transport_counts() const {
    const std::lock_guard lock{mutex_};
    return transport_counts_;
}

// -- the server's thread
// ------------------------------------------------------------------------------------------------

void Reception::run() {
    for (bool is_over = false; !is_over;) {
        std::vector<zmtp::ConnectionId> cuts;
        bool is_to_resume = false;
        {
            const std::lock_guard lock{mutex_};
            std::swap(replies_due_, replies_going_);
            std::swap(cuts_due_, cuts);
            is_to_resume = std::exchange(is_to_resume_, false);
            is_over = is_over_;
            transport_counts_ = server_->counts();
            buffered_bytes_ = server_->buffered_size_bytes();
        }
        for (const zmtp::ConnectionId connection : cuts) {
            server_->cut(connection);
        }
        send_replies();
        if (is_to_resume) {
            server_->resume();
        }
        if (!is_over) {
            server_->run_once(kIdleNs);
        }
    }
}

bool Reception::take(const zmtp::Server::Message& message) {
    const std::string routing_id = routing_id_of(message.from);
    {
        const std::lock_guard lock{mutex_};
        if (!inbox_.has_room(routing_id, message.frame.size())) {
            const std::size_t size_bytes = inbox_.size_bytes();
            resume_at_bytes_ = std::max(resume_at_bytes_.value_or(0), size_bytes - size_bytes / kResumeShare);
            return false;
        }
    }
    // Copied without the lock: meanwhile the inbox can only get emptier.
    InboxMessage copy{routing_id, message.frame, {message.peer, monotonic_now_ns(), message.is_local}};
    const std::lock_guard lock{mutex_};
    inbox_.put(std::move(copy));
    if (is_waited_for_) {
        is_waited_for_ = false;
        inbox_event_.signal();
    }
    return true;
}

void Reception::send_replies() {
    const std::byte* at = replies_going_.bytes.data();
    for (const auto& [id_size, frame_size] : replies_going_.sizes) {
        const std::string_view routing_id{reinterpret_cast<const char*>(at), id_size};
        const auto sent = server_->send(connection_of(routing_id), {at + id_size, frame_size});
        at += id_size + frame_size;
        if (sent == zmtp::Server::Sent::kFull) {
            ++replies_dropped_;
        } else if (sent == zmtp::Server::Sent::kPeerGone) {
            const std::lock_guard lock{mutex_};
            if (gone_.size() < kGoneMax) {
                gone_.emplace_back(routing_id);
            }
        }
    }
    replies_going_.clear();
}

}  // namespace perfleet
