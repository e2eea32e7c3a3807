// A driver that writes down what its collector sends and receives, before any other part of the program sees it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "target-collector/linux/link/waiting_driver.h"
#include "tests/chaos/source_log.h"

namespace perfleet::chaos {

class WatchedLink final : public WaitingDriver {
public:
    // Each session has its log in `folder` (source_log_path()). Every frame that is sent goes into the file `capture`
    // as well, unless it is empty: u32 size_bytes, little-endian, and the frame.
    WatchedLink(std::unique_ptr<WaitingDriver> link, std::string folder, const std::string& capture);
    ~WatchedLink() override;

    [[nodiscard]] bool send(std::span<const std::byte> frame) override;
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override;
    [[nodiscard]] bool reconnected() override { return link_->reconnected(); }
    void go_to(std::string_view endpoint, std::string_view public_key) override { link_->go_to(endpoint, public_key); }
    void wait(int wake_fd, std::uint64_t timeout_ns) override { link_->wait(wake_fd, timeout_ns); }
    void note_time(std::uint64_t now_ns) override { link_->note_time(now_ns); }
    [[nodiscard]] bool is_silent() const override { return link_->is_silent(); }
    [[nodiscard]] std::string peer() const override { return link_->peer(); }

private:
    struct Session {
        std::unique_ptr<SourceLogWriter> log;
        std::string last_sent;  // what was written down: a frame that can't be sent now is given again and again
        Seq last_prefix;
        bool was_finished = false;
    };

    [[nodiscard]] Session& session_of(SessionId id);
    void write_down_sent(std::span<const std::byte> frame);
    void write_down_received(std::span<const std::byte> frame);

    std::unique_ptr<WaitingDriver> link_;
    std::string folder_;
    int capture_ = -1;
    std::map<SessionId, Session> sessions_;
};

}  // namespace perfleet::chaos
