// A driver that writes down what its collector says and is told, before anybody else knows of it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "target-collector/linux/waiting_driver.h"
#include "tests/chaos/source_log.h"

namespace perfleet::chaos {

class WatchedLink final : public WaitingDriver {
public:
    // `log` is borrowed. Every frame that is sent goes into the file `capture` as well, unless it is empty: u32
    // size_bytes, little-endian, and the frame.
    WatchedLink(std::unique_ptr<WaitingDriver> link, SourceLogWriter& log, const std::string& capture);
    ~WatchedLink() override;

    [[nodiscard]] bool send(std::span<const std::byte> frame) override;
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override;
    [[nodiscard]] bool reconnected() override { return link_->reconnected(); }
    void wait(int wake_fd, std::uint64_t timeout_ns) override { link_->wait(wake_fd, timeout_ns); }
    void note_time(std::uint64_t now_ns) override { link_->note_time(now_ns); }
    [[nodiscard]] bool is_silent() const override { return link_->is_silent(); }
    [[nodiscard]] std::string peer() const override { return link_->peer(); }

private:
    void write_down_sent(std::span<const std::byte> frame);
    void write_down_received(std::span<const std::byte> frame);

    std::unique_ptr<WaitingDriver> link_;
    SourceLogWriter& log_;
    int capture_ = -1;
    std::string last_sent_;  // what was written down: a frame that can't be sent now comes again and again
    Seq last_prefix_;
    bool was_finished_ = false;
};

}  // namespace perfleet::chaos
