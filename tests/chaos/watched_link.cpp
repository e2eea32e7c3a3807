#include "tests/chaos/watched_link.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "target-collector/message/reply_reader.h"
#include "target-collector/wire/testing/gateway_frames.h"

namespace perfleet::chaos {

WatchedLink::WatchedLink(std::unique_ptr<WaitingDriver> link, std::string folder, const std::string& capture)
    : link_{std::move(link)}, folder_{std::move(folder)} {
    if (!capture.empty()) {
        capture_ = ::open(capture.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        PERFLEET_ASSERT(capture_ >= 0);
    }
}

WatchedLink::~WatchedLink() {
    if (capture_ >= 0) {
        ::close(capture_);
    }
}

bool WatchedLink::send(std::span<const std::byte> frame) {
    write_down_sent(frame);
    const bool is_sent = link_->send(frame);
    if (is_sent && capture_ >= 0) {
        const auto size = static_cast<std::uint32_t>(frame.size());
        std::string bytes(sizeof size + frame.size(), '\0');
        std::memcpy(bytes.data(), &size, sizeof size);
        std::memcpy(bytes.data() + sizeof size, frame.data(), frame.size());
        PERFLEET_ASSERT(::write(capture_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    }
    return is_sent;
}

Checked<std::size_t> WatchedLink::receive(std::span<std::byte> into) {
    auto size = link_->receive(into);
    if (size.ok() && *size > 0) {
        write_down_received(into.first(*size));
    }
    return size;
}

WatchedLink::Session& WatchedLink::session_of(SessionId id) {
    Session& session = sessions_[id];
    if (session.log == nullptr) {
        session.log = std::make_unique<SourceLogWriter>(source_log_path(folder_, id));
    }
    return session;
}

void WatchedLink::write_down_sent(std::span<const std::byte> frame) {
    const SeenFrame seen = see_frame(frame);
    const std::string what = std::to_string(static_cast<int>(seen.tag)) + ' ' + std::to_string(seen.seq.value) + ' ' +
                             std::to_string(seen.oldest_retained.value);
    Session& session = session_of(seen.session);
    if (what == session.last_sent) {
        return;
    }
    session.last_sent = what;
    switch (seen.tag) {
        case wire_layout::MessageTag::kHello: session.log->hello(seen.oldest_retained); break;
        case wire_layout::MessageTag::kBatch: session.log->sending(seen.seq, seen.oldest_retained); break;
        case wire_layout::MessageTag::kBye: session.log->bye(seen.seq); break;
        default: break;
    }
}

void WatchedLink::write_down_received(std::span<const std::byte> frame) {
    const auto reply = read_reply(frame);
    if (!reply.ok() || reply->session.is_none()) {
        return;
    }
    Session& session = session_of(reply->session);
    if (reply->type == Reply::Type::kWelcome || reply->type == Reply::Type::kAck) {
        if (reply->prefix > session.last_prefix || reply->is_finished != session.was_finished) {
            session.last_prefix = reply->prefix;
            session.was_finished = reply->is_finished;
            session.log->acknowledged(reply->prefix, reply->is_finished);
        }
    } else if (reply->type == Reply::Type::kRefused) {
        session.log->refused(reply->seq, reply->reason);
    }
}

}  // namespace perfleet::chaos
