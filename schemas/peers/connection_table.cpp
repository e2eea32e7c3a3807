#include "schemas/peers/connection_table.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace perfleet {
namespace {

// 0: not a socket.
std::uint64_t cookie_of(int descriptor) {
    std::uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    return ::getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

// Nothing for sockets that aren't TCP.
std::optional<std::uint64_t> received_bytes_of(int descriptor) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
        return std::nullopt;
    }
    return info.tcpi_bytes_received;
}

// Ends the connection if the descriptor is still the same socket.
void shut_socket(int descriptor, std::uint64_t cookie) {
    // A descriptor of our own can't be closed and used again between the look and the call.
    const int own = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    const int target = own >= 0 ? own : descriptor;
    if (cookie_of(target) == cookie) {
        ::shutdown(target, SHUT_RDWR);
    }
    if (own >= 0) {
        ::close(own);
    }
}

}  // namespace

std::size_t connections_for(std::size_t descriptor_limit) {
    constexpr std::size_t kSmallLimit = 8'192;
    constexpr std::size_t kConnectionsMax = 65'536;
    const std::size_t share = descriptor_limit < kSmallLimit ? descriptor_limit / 2 : descriptor_limit / 4 * 3;
    return std::clamp<std::size_t>(share, 1, kConnectionsMax);
}

ConnectionTable::Connection* ConnectionTable::find(int descriptor) {
    const auto index = static_cast<std::size_t>(descriptor);
    if (descriptor < 0 || index >= connections_.size() || !connections_[index].is_open) {
        return nullptr;
    }
    return &connections_[index];
}

void ConnectionTable::accepted(int descriptor, std::uint64_t now_ns) {
    const std::scoped_lock lock{mutex_};
    if (descriptor < 0) {
        return;
    }
    const auto index = static_cast<std::size_t>(descriptor);
    if (index >= connections_.size()) {
        connections_.resize(std::max(index + 1, 2 * connections_.size()));
    }
    Connection& connection = connections_[index];
    if (connection.is_open) {
        end(connection);  // nobody told
    }
    connection.is_open = true;
    connection.cookie = cookie_of(descriptor);
    connection.accepted_ns = now_ns;
    connection.unheard_index = unheard_.size();
    unheard_.push_back(descriptor);
    ++counts_.connections_accepted;
    ++counts_.connections_now;
    if (std::exchange(connection.early_cookie, 0) == connection.cookie && connection.cookie != 0) {
        mark_heard(connection);
    }
    if (counts_.connections_now > limits_.connections_max) {
        shut(descriptor, connection, &TransportCounts::refused_connection_limit);
    } else if (unheard_.size() > limits_.unheard_max) {
        const int unlucky = unheard_[random() % unheard_.size()];
        shut(unlucky, *find(unlucky), &TransportCounts::refused_unheard_limit);
    }
}

void ConnectionTable::ended(int descriptor) {
    const std::scoped_lock lock{mutex_};
    if (Connection* const connection = find(descriptor); connection != nullptr) {
        end(*connection);
    }
}

void ConnectionTable::end(Connection& connection) {
    forget_unheard(connection);
    forget_peer(connection);
    const std::uint64_t early_cookie = connection.early_cookie;
    connection = {};
    connection.early_cookie = early_cookie;
    --counts_.connections_now;
    ++counts_.connections_ended;
}

void ConnectionTable::handshake_failed(HandshakeFault fault) {
    const std::scoped_lock lock{mutex_};
    switch (fault) {
        case HandshakeFault::kUnknownKey: ++counts_.handshakes_unknown_key; break;
        case HandshakeFault::kNoKey: ++counts_.handshakes_no_key; break;
        case HandshakeFault::kUndecipherable: ++counts_.handshakes_undecipherable; break;
        case HandshakeFault::kMalformed: ++counts_.handshakes_malformed; break;
        case HandshakeFault::kUnfinished: ++counts_.handshakes_unfinished; break;
    }
}

void ConnectionTable::mark_heard(Connection& connection) {
    connection.has_delivered = true;
    if (!connection.is_heard) {
        connection.is_heard = true;
        forget_unheard(connection);
    }
}

// The connection that a message came over. Null where accepted() hasn't told of it yet: it is taken for heard then.
ConnectionTable::Connection* ConnectionTable::find_heard(int descriptor) {
    Connection* const connection = find(descriptor);
    if (connection != nullptr && connection->is_heard) {
        return connection;
    }
    const std::uint64_t cookie = cookie_of(descriptor);
    if (connection != nullptr && connection->cookie == cookie) {
        return connection;
    }
    if (cookie != 0) {
        const auto index = static_cast<std::size_t>(descriptor);
        if (index >= connections_.size()) {
            connections_.resize(std::max(index + 1, 2 * connections_.size()));
        }
        connections_[index].early_cookie = cookie;
    }
    return nullptr;
}

void ConnectionTable::heard(int descriptor) {
    const std::scoped_lock lock{mutex_};
    if (Connection* const connection = find_heard(descriptor); connection != nullptr) {
        mark_heard(*connection);
    }
}

KeySet::Entry ConnectionTable::heard(int descriptor, const PublicKey& key) {
    const std::scoped_lock lock{mutex_};
    KeySet::Entry peer = allowed_->find(key);
    Connection* const connection = find_heard(descriptor);
    if (peer == nullptr) {
        ++counts_.messages_revoked;
        if (connection != nullptr) {
            mark_heard(*connection);
            shut(descriptor, *connection, &TransportCounts::refused_revoked);
        }
        return nullptr;
    }
    if (connection == nullptr) {
        return peer;
    }
    mark_heard(*connection);
    if (peer == connection->peer || connection->is_shut) {
        return peer;
    }
    // The first message, or the last one of another connection that had this descriptor.
    forget_peer(*connection);
    connection->peer = peer;
    if (++key_connections_[key] > limits_.key_connections_max) {
        shut(descriptor, *connection, &TransportCounts::refused_key_limit);
    }
    return peer;
}

void ConnectionTable::drained() {
    const std::scoped_lock lock{mutex_};
    ++drained_count_;
}

void ConnectionTable::refuse_routing_id(int descriptor) {
    const std::scoped_lock lock{mutex_};
    if (Connection* const connection = find(descriptor); connection != nullptr) {
        shut(descriptor, *connection, &TransportCounts::refused_routing_id);
    }
}

ConnectionName ConnectionTable::name_of(int descriptor) {
    const std::scoped_lock lock{mutex_};
    const Connection* const connection = find(descriptor);
    return connection == nullptr ? ConnectionName{} : ConnectionName{descriptor, connection->cookie};
}

void ConnectionTable::cut(const ConnectionName& name) {
    const std::scoped_lock lock{mutex_};
    Connection* const connection = find(name.descriptor);
    if (connection != nullptr && connection->cookie == name.cookie) {
        shut(name.descriptor, *connection, &TransportCounts::refused_abuse_limit);
    }
}

void ConnectionTable::sweep(std::uint64_t now_ns) {
    constexpr std::size_t kAtOnce = 256;  // so that messages don't wait for long
    std::size_t looked_count = 0;
    bool is_done = false;
    bool was_drained = false;
    bool has_begun = false;
    while (!is_done) {
        const std::scoped_lock lock{mutex_};
        if (!has_begun) {
            has_begun = true;
            was_drained = drained_count_ != drained_seen_;
            drained_seen_ = drained_count_;
        }
        for (std::size_t i = 0; i < kAtOnce && !is_done; ++i) {
            if (next_look_ >= connections_.size()) {
                next_look_ = 0;
                is_done = true;
                break;
            }
            Connection& connection = connections_[next_look_];
            if (connection.is_open) {
                look_at(static_cast<int>(next_look_), connection, now_ns, was_drained);
                ++looked_count;
            }
            ++next_look_;
            is_done = looked_count >= kSweepConnectionsMax;
        }
    }
}

void ConnectionTable::look_at(int descriptor, Connection& connection, std::uint64_t now_ns, bool was_drained) {
    if (cookie_of(descriptor) != connection.cookie) {
        // Not every end is told by libzmq.
        end(connection);
        return;
    }
    if (connection.is_shut) {
        return;
    }
    if (!connection.is_heard && now_ns > connection.accepted_ns &&
        now_ns - connection.accepted_ns > limits_.first_word_ns) {
        shut(descriptor, connection, &TransportCounts::refused_first_message_timeout);
        return;
    }
    const auto received = received_bytes_of(descriptor);
    if (!received.has_value()) {
        return;
    }
    if (connection.has_delivered) {
        connection.received_at_delivery_bytes = *received;
        connection.has_delivered = false;
    } else if (was_drained &&
               connection.received_bytes - connection.received_at_delivery_bytes > limits_.unfinished_size_bytes_max) {
        // What was there at the last look would have been delivered by now, were it a message.
        shut(descriptor, connection, &TransportCounts::refused_unfinished_message);
    }
    connection.received_bytes = *received;
}

void ConnectionTable::allow(std::shared_ptr<const KeySet> allowed, std::size_t bad_file_count) {
    const std::scoped_lock lock{mutex_};
    allowed_ = std::move(allowed);
    counts_.keys_enrolled = allowed_->size();
    counts_.key_files_refused = bad_file_count;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        Connection& connection = connections_[i];
        if (!connection.is_open || connection.is_shut || connection.peer == nullptr) {
            continue;
        }
        const KeySet::Entry now = allowed_->find(connection.peer->key);
        if (now != connection.peer && (now == nullptr || *now != *connection.peer)) {
            shut(static_cast<int>(i), connection, &TransportCounts::refused_revoked);
        }
    }
}

TransportCounts ConnectionTable::counts() const {
    const std::scoped_lock lock{mutex_};
    TransportCounts counts = counts_;
    counts.connections_unheard_now = unheard_.size();
    return counts;
}

void ConnectionTable::shut(int descriptor, Connection& connection, std::uint64_t TransportCounts::*reason) {
    if (connection.is_shut) {
        return;
    }
    connection.is_shut = true;
    ++(counts_.*reason);
    forget_unheard(connection);
    shut_socket(descriptor, connection.cookie);
}

void ConnectionTable::forget_unheard(Connection& connection) {
    // By its place in the list, where the last one then stands.
    const std::size_t index = connection.unheard_index;
    if (index >= unheard_.size() || &connections_[static_cast<std::size_t>(unheard_[index])] != &connection) {
        return;
    }
    const int last = unheard_.back();
    unheard_[index] = last;
    connections_[static_cast<std::size_t>(last)].unheard_index = index;
    unheard_.pop_back();
}

void ConnectionTable::forget_peer(Connection& connection) {
    if (connection.peer == nullptr) {
        return;
    }
    const auto found = key_connections_.find(connection.peer->key);
    if (found != key_connections_.end() && --found->second == 0) {
        key_connections_.erase(found);
    }
    connection.peer = nullptr;
}

std::uint64_t ConnectionTable::random() {
    // xorshift64: nobody gains by guessing it.
    random_state_ ^= random_state_ << 13U;
    random_state_ ^= random_state_ >> 7U;
    random_state_ ^= random_state_ << 17U;
    return random_state_;
}

}  // namespace perfleet
