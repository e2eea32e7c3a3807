// Writes to a file instead of a gateway.
//
// One thread (the wire's).
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/link/waiting_driver.h"
#include "target-collector/wire/file_driver.h"

namespace perfleet {

class FileLink final : public WaitingDriver {
public:
    // Errors: FileDriver::create().
    [[nodiscard]] static Result<std::unique_ptr<FileLink>> create(const std::string& path, bool is_forced) {
        auto driver = PERFLEET_TRY(FileDriver::create(path, is_forced));
        return std::unique_ptr<FileLink>(new FileLink(path, std::move(driver)));
    }

    [[nodiscard]] bool send(std::span<const std::byte> frame) override { return driver_->send(frame); }
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override { return driver_->receive(into); }
    [[nodiscard]] bool reconnected() override { return driver_->reconnected(); }

    void wait(int wake_fd, std::uint64_t timeout_ns) override { driver_->wait(wake_fd, timeout_ns); }
    void note_time(std::uint64_t /*now_ns*/) override {}
    [[nodiscard]] bool is_silent() const override { return driver_->error().has_value(); }
    [[nodiscard]] std::string peer() const override {
        return driver_->error() ? "room in the file: " + driver_->error()->message : "the file '" + path_ + "'";
    }

private:
    FileLink(std::string path, std::unique_ptr<FileDriver> driver)
        : path_{std::move(path)}, driver_{std::move(driver)} {}

    std::string path_;
    std::unique_ptr<FileDriver> driver_;
};

}  // namespace perfleet
