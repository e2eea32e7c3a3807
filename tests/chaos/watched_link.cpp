#include "tests/chaos/watched_link.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "schemas/vocabulary/assert.h"
#include "target-collector/message/reply_reader.h"
#include "target-collector/wire/gateway_frames_test.h"

namespace perfleet::chaos {

WatchedLink::WatchedLink(std::unique_ptr<WaitingDriver> link, SourceLogWriter& log, const std::string& capture)
    : link_{std::move(link)}, log_{log} {
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

void WatchedLink::write_down_sent(std::span<const std::byte> frame) {
    const SeenFrame seen = see_frame(frame);
    const std::string what = std::to_string(static_cast<int>(seen.tag)) + ' ' + std::to_string(seen.seq.value) + ' ' +
                             std::to_string(seen.oldest_retained.value);
    if (what == last_sent_) {
        return;
    }
    last_sent_ = what;
    switch (seen.tag) {
        case wire_layout::MessageTag::kHello: log_.hello(seen.oldest_retained); break;
        case wire_layout::MessageTag::kBatch: log_.sending(seen.seq, seen.oldest_retained); break;
        case wire_layout::MessageTag::kBye: log_.bye(seen.seq); break;
        default: break;
    }
}

void WatchedLink::write_down_received(std::span<const std::byte> frame) {
    const auto reply = read_reply(frame);
    if (!reply.ok()) {
        return;
    }
    if (reply->sort == Reply::Sort::kWelcome || reply->sort == Reply::Sort::kAck) {
        if (reply->prefix > last_prefix_ || reply->is_finished != was_finished_) {
            last_prefix_ = reply->prefix;
            was_finished_ = reply->is_finished;
            log_.acknowledged(reply->prefix, reply->is_finished);
        }
    } else if (reply->sort == Reply::Sort::kRefused) {
        log_.refused(reply->seq, reply->reason);
    }
}

}  // namespace perfleet::chaos
