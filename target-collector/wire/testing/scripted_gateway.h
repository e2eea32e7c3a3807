// A gateway in this process that sends what each test chooses, and a collector's delivery connected to it by the real
// driver.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "schemas/zmtp/server.h"
#include "target-collector/message/batch_builder.h"
#include "target-collector/message/hello.h"
#include "target-collector/message/sealer.h"
#include "target-collector/wire/delivery.h"
#include "target-collector/wire/socket_driver.h"
#include "target-collector/wire/testing/gateway_frames.h"

namespace perfleet {

// The gateway's end, which has no address until it is bound. It works when it is called, on the test's thread: over a
// Unix socket, sent bytes can be read at once.
class ScriptedGateway final : private zmtp::Server::Sink {
public:
    void bind(const std::string& at) {
        // A socket that was closed here before gives its address back a little later.
        const auto deadline = std::chrono::steady_clock::now() + kTimeout;
        auto listener = zmtp::Listener::open("--listen", at);
        while (!listener.ok()) {
            ASSERT_EQ(listener.error().code, ErrorCode::kBusy) << listener.error().message;
            ASSERT_LT(std::chrono::steady_clock::now(), deadline);
            std::this_thread::sleep_for(std::chrono::microseconds{50});
            listener = zmtp::Listener::open("--listen", at);
        }
        auto server = zmtp::Server::open({}, std::nullopt, *this, {});
        ASSERT_TRUE(server.ok()) << server.error().message;
        server_ = std::move(*server);
        server_->listen_at(std::move(*listener), false);
    }
    void unbind() {
        server_.reset();
        frames_.clear();
    }

    std::optional<SeenFrame> receive() {
        // It accepts in one turn, reads in the next.
        for (int turn = 0; turn < 3 && server_ != nullptr && frames_.empty(); ++turn) {
            server_->run_once(0);
        }
        if (frames_.empty()) {
            return {};
        }
        const auto [from, frame] = std::move(frames_.front());
        frames_.pop_front();
        peer_ = from;
        return see_frame(frame);
    }
    // To the peer that sent last.
    void say(const Frame& frame) { EXPECT_EQ(server_->send(peer_, frame), zmtp::Server::Sent::kDone); }

    static constexpr std::chrono::seconds kTimeout{60};

private:
    bool take(const zmtp::Server::Message& message) override {
        frames_.emplace_back(message.from, Frame{message.frame.begin(), message.frame.end()});
        return true;
    }

    std::unique_ptr<zmtp::Server> server_;
    std::deque<std::pair<zmtp::ConnectionId, Frame>> frames_;
    zmtp::ConnectionId peer_ = 0;
};

// A session whose clock stands still but for the tests' own steps.
class ScriptedDelivery : public testing::Test {
protected:
    static constexpr Series kSamples{Kind::kSample, EventNumber{0}};
    static constexpr Series kStacks{Kind::kStack, kNoEvent};
    static constexpr SessionId kSession{0x11, 0x22};
    static constexpr SessionId kOtherSession{0x33, 0x44};
    static constexpr UtcNs kUtc{1'700'000'000 * kNsPerSecond};
    static constexpr std::uint64_t kSecond = 1'000'000'000;

    ScriptedDelivery()
        : batch_memory_((1U << 20) / 8),
          loss_memory_(kLossReportRingSizeBytes / 8),
          values_(BatchBuilder::values_count(1'000, 6, 8)),
          bytes_(64),
          batches_(std::as_writable_bytes(std::span{batch_memory_})),
          losses_(std::as_writable_bytes(std::span{loss_memory_})),
          builder_(std::make_unique<BatchBuilder>(values_, bytes_, 1'000)),
          counts_(std::make_unique<SessionCounts>()),
          sealer_(std::make_unique<Sealer>(Sealer::Options{kSession, 1'000, kSecond}, *builder_, *counts_, batches_,
                                           losses_)) {
        sealer_->begin_epoch(Ticks{0}, kUtc);
    }

    void connect(const std::string& endpoint, std::size_t spool_size_bytes = 1U << 20) {
        auto driver = SocketDriver::connect(endpoint);
        ASSERT_TRUE(driver.ok()) << driver.error().message;
        driver_ = std::move(*driver);
        HelloDescription hello;
        hello.session = kSession;
        hello.target_name = "scripted";
        hello_.resize(hello_size_bytes_max(hello));
        hello_.resize(*write_hello(hello, hello_));
        spool_.resize(spool_size_bytes / 8);
        Delivery::Options options;
        options.session = kSession;
        options.hello = hello_;
        options.spool = std::as_writable_bytes(std::span{spool_});
        options.images = images_;
        options.late_images = late_images_;
        options.image_bytes_per_second = image_bytes_per_second_;
        delivery_ = std::make_unique<Delivery>(options, *driver_, batches_, losses_);
    }

    // Seals a batch of one row; rows count up.
    void seal(Series series = kSamples) {
        const std::uint64_t row[] = {++rows_, 0, 1, 1, 1};
        sealer_->append({series, Ticks{rows_}, std::span{row}.first(series == kStacks ? 4 : 5)});
        sealer_->flush(Ticks{rows_});
    }

    void run_until(const std::function<bool()>& is_done) {
        const auto deadline = std::chrono::steady_clock::now() + ScriptedGateway::kTimeout;
        while (!is_done()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing happened for long";
            if (!delivery_->step(now_ns_)) {
                driver_->wait(-1, 1'000'000);
            }
        }
    }

    SeenFrame expect(wire_layout::MessageTag tag) {
        std::optional<SeenFrame> seen;
        run_until([&] { return (seen = gateway_.receive()).has_value(); });
        EXPECT_EQ(static_cast<int>(seen.value_or(SeenFrame{}).tag), static_cast<int>(tag));
        return seen.value_or(SeenFrame{});
    }
    void expect_batch(std::uint64_t seq) { EXPECT_EQ(expect(wire_layout::MessageTag::kBatch).seq, Seq{seq}); }
    void welcome(WelcomeFields fields = {kSession}) {
        expect(wire_layout::MessageTag::kHello);
        gateway_.say(make_welcome(fields));
        run_until([&] { return delivery_->status().welcomed; });
    }
    void ack(AckFields fields) {
        fields.session = kSession;
        gateway_.say(make_ack(fields));
    }
    void run_until_prefix(std::uint64_t prefix) {
        run_until([&] { return delivery_->status().prefix == Seq{prefix}; });
    }

    ScriptedGateway gateway_;
    std::vector<std::uint64_t> batch_memory_;
    std::vector<std::uint64_t> loss_memory_;
    std::vector<std::uint64_t> values_;
    std::vector<std::byte> bytes_;
    SpscRing batches_;
    SpscRing losses_;
    std::unique_ptr<BatchBuilder> builder_;
    std::unique_ptr<SessionCounts> counts_;
    std::unique_ptr<Sealer> sealer_;
    std::vector<std::byte> hello_;
    std::vector<std::uint64_t> spool_;
    std::vector<ImageSupply> images_;
    LateImages* late_images_ = nullptr;
    std::uint64_t image_bytes_per_second_ = 0;
    std::unique_ptr<SocketDriver> driver_;
    std::unique_ptr<Delivery> delivery_;
    std::uint64_t rows_ = 0;
    std::uint64_t now_ns_ = kSecond;
};

}  // namespace perfleet
