// A gateway in this process that says what each test makes it say, and a collector's delivery that hears it over the
// real driver.
#pragma once

#include <gtest/gtest.h>
#include <zmq.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "target-collector/message/batch_builder.h"
#include "target-collector/message/hello.h"
#include "target-collector/message/sealer.h"
#include "target-collector/wire/delivery.h"
#include "target-collector/wire/testing/gateway_frames.h"
#include "target-collector/wire/zmq_driver.h"

namespace perfleet {

// The gateway's end: a ROUTER socket that stands nowhere until it is bound.
class ScriptedGateway {
public:
    ScriptedGateway() : context_{zmq_ctx_new()} {}
    ~ScriptedGateway() {
        unbind();
        zmq_ctx_term(context_);
    }
    ScriptedGateway(const ScriptedGateway&) = delete;
    ScriptedGateway& operator=(const ScriptedGateway&) = delete;

    void bind(const std::string& at) {
        socket_ = zmq_socket(context_, ZMQ_ROUTER);
        const int zero = 0;
        zmq_setsockopt(socket_, ZMQ_LINGER, &zero, sizeof zero);
        // A socket that was closed here before gives its address back a little later.
        const auto deadline = std::chrono::steady_clock::now() + kTimeout;
        while (zmq_bind(socket_, at.c_str()) != 0) {
            ASSERT_EQ(zmq_errno(), EADDRINUSE) << zmq_strerror(zmq_errno());
            ASSERT_LT(std::chrono::steady_clock::now(), deadline);
            std::this_thread::sleep_for(std::chrono::microseconds{50});
        }
    }
    void unbind() {
        if (socket_ != nullptr) {
            zmq_close(std::exchange(socket_, nullptr));
        }
    }

    std::optional<SeenFrame> receive() {
        if (socket_ == nullptr) {
            return {};
        }
        std::array<char, 64> id{};
        const int id_size = zmq_recv(socket_, id.data(), id.size(), ZMQ_DONTWAIT);
        if (id_size < 0) {
            return {};
        }
        peer_.assign(id.data(), static_cast<std::size_t>(id_size));
        zmq_msg_t message;
        zmq_msg_init(&message);
        zmq_msg_recv(&message, socket_, 0);
        EXPECT_EQ(zmq_msg_more(&message), 0) << "one message is one frame";
        auto seen = see_frame({static_cast<const std::byte*>(zmq_msg_data(&message)), zmq_msg_size(&message)});
        zmq_msg_close(&message);
        return seen;
    }
    // To whoever spoke last.
    void say(const Frame& frame) {
        zmq_send(socket_, peer_.data(), peer_.size(), ZMQ_SNDMORE);
        zmq_send(socket_, frame.data(), frame.size(), 0);
    }

    [[nodiscard]] void* context() const { return context_; }

    static constexpr std::chrono::seconds kTimeout{60};

private:
    void* context_;
    void* socket_ = nullptr;
    std::string peer_;
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
          loss_memory_(kLossNoticeRingSizeBytes / 8),
          values_(BatchBuilder::values_count(1'000, 6, 8)),
          bytes_(64),
          batches_(std::as_writable_bytes(std::span{batch_memory_})),
          losses_(std::as_writable_bytes(std::span{loss_memory_})),
          builder_(std::make_unique<BatchBuilder>(values_, bytes_, 1'000)),
          tallies_(std::make_unique<TallyBook>()),
          sealer_(std::make_unique<Sealer>(Sealer::Options{kSession, 1'000, kSecond}, *builder_, *tallies_, batches_,
                                           losses_)) {
        sealer_->begin_epoch(Ticks{0}, kUtc);
    }

    void connect(const std::string& endpoint, std::size_t spool_size_bytes = 1U << 20, void* context = nullptr) {
        auto driver = ZmqDriver::connect(endpoint, context);
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
        delivery_ = std::make_unique<Delivery>(options, *driver_, batches_, losses_);
    }

    // Seals a batch of one row; rows count up.
    void seal(Series series = kSamples) {
        const std::uint64_t row[] = {++rows_, 0, 1, 1, 1, 1};
        sealer_->append(series, Ticks{rows_}, std::span{row}.first(series == kStacks ? 4 : 6));
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
    std::unique_ptr<TallyBook> tallies_;
    std::unique_ptr<Sealer> sealer_;
    std::vector<std::byte> hello_;
    std::vector<std::uint64_t> spool_;
    std::vector<ImageSupply> images_;
    LateImages* late_images_ = nullptr;
    std::unique_ptr<ZmqDriver> driver_;
    std::unique_ptr<Delivery> delivery_;
    std::uint64_t rows_ = 0;
    std::uint64_t now_ns_ = kSecond;
};

}  // namespace perfleet
