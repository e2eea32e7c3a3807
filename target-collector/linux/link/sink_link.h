// Keeps frames in a file, or passes them to a function of this process, instead of sending them to a gateway.
//
// One thread (the wire's).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "schemas/vocabulary/error.h"
#include "target-collector/linux/link/waiting_driver.h"
#include "target-collector/wire/file_driver.h"
#include "target-collector/wire/sink_driver.h"

namespace perfleet {

// Takes a whole frame or, with an error, none of it. Called by the wire's thread alone.
using FrameTaker = std::function<Result<Done>(std::span<const std::byte> frame)>;

class SinkLink final : public WaitingDriver {
public:
    // Errors: FileDriver::create().
    [[nodiscard]] static Result<std::unique_ptr<WaitingDriver>> to_file(const std::string& path, bool is_forced) {
        auto driver = PERFLEET_TRY(FileDriver::create(path, is_forced));
        return std::unique_ptr<WaitingDriver>(new SinkLink("the file", "the file '" + path + "'", std::move(driver)));
    }
    [[nodiscard]] static std::unique_ptr<WaitingDriver> to_function(FrameTaker take) {
        auto driver = std::make_unique<FunctionDriver>(std::move(take));
        return std::unique_ptr<WaitingDriver>(new SinkLink("memory", "this process", std::move(driver)));
    }

    [[nodiscard]] bool send(std::span<const std::byte> frame) override { return driver_->send(frame); }
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override { return driver_->receive(into); }
    [[nodiscard]] bool reconnected() override { return driver_->reconnected(); }

    void wait(int wake_fd, std::uint64_t timeout_ns) override { driver_->wait(wake_fd, timeout_ns); }
    void note_time(std::uint64_t /*now_ns*/) override {}
    [[nodiscard]] bool is_silent() const override { return driver_->error().has_value(); }
    [[nodiscard]] std::string peer() const override {
        return driver_->error() ? "space in " + place_ + ": " + driver_->error()->message : name_;
    }

private:
    class FunctionDriver final : public SinkDriver {
    public:
        explicit FunctionDriver(FrameTaker take) : SinkDriver{"this process"}, take_{std::move(take)} {}

    private:
        [[nodiscard]] bool keep(std::span<const std::byte> frame) override {
            const auto taken = take_(frame);
            if (!taken.ok()) {
                fail(taken.error());
            }
            return taken.ok();
        }

        FrameTaker take_;
    };

    SinkLink(std::string place, std::string name, std::unique_ptr<SinkDriver> driver)
        : place_{std::move(place)}, name_{std::move(name)}, driver_{std::move(driver)} {}

    std::string place_;
    std::string name_;
    std::unique_ptr<SinkDriver> driver_;
};

}  // namespace perfleet
