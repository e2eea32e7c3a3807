// Sends to a gateway, and at the end writes to a file what the gateway hasn't acknowledged (wire/file_driver.h). The
// file gets its name when it is complete.
//
// One thread (the wire's).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "target-collector/linux/link/sink_link.h"
#include "target-collector/linux/link/waiting_driver.h"

namespace perfleet {

class FallbackLink final : public WaitingDriver {
public:
    // Creates the file and its folder on demand.
    FallbackLink(std::unique_ptr<WaitingDriver> gateway, std::string file)
        : gateway_{std::move(gateway)}, file_path_{std::move(file)} {}

    // Gives a completely written file its name, durably; removes an incomplete one.
    [[nodiscard]] static Result<Done> finish(const std::string& file, bool is_whole);

    [[nodiscard]] bool send(std::span<const std::byte> frame) override { return current().send(frame); }
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override { return current().receive(into); }
    [[nodiscard]] bool reconnected() override { return current().reconnected(); }
    void go_to(std::string_view endpoint, std::string_view public_key) override {
        current().go_to(endpoint, public_key);
    }
    void wait(int wake_fd, std::uint64_t timeout_ns) override { current().wait(wake_fd, timeout_ns); }
    void note_time(std::uint64_t now_ns) override { current().note_time(now_ns); }
    [[nodiscard]] bool is_silent() const override { return current().is_silent(); }
    [[nodiscard]] std::string trouble() const override { return current().trouble(); }
    [[nodiscard]] bool fall_back() override;
    [[nodiscard]] std::string peer() const override { return current().peer(); }

private:
    [[nodiscard]] WaitingDriver& current() const { return file_ != nullptr ? *file_ : *gateway_; }

    std::unique_ptr<WaitingDriver> gateway_;
    std::string file_path_;
    std::unique_ptr<WaitingDriver> file_;  // null: not needed so far
};

}  // namespace perfleet
