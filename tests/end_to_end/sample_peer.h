// A peer of the gateway that sends over the collector's own driver what the test gives it, right or wrong.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gateway/admission/testing/sample_messages.h"
#include "schemas/vocabulary/batch_limits.h"
#include "storage/store/testing/sample_batches.h"
#include "target-collector/wire/socket_driver.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end {

// Two samples at ticks that follow from the seq, and the entry of all rows up to here.
inline AdmittedBatch sample_batch(TargetId target, SessionId session, Seq seq, BucketNumber bucket) {
    const std::uint64_t ticks = seq.value * 1'000;
    SampleBatch batch{target, session, seq, EpochNumber{0}, bucket};
    batch.add({Kind::kSample, EventNumber{0}}, {{ColumnId::kTime, {ticks, ticks + 1}}});
    batch.entry({Kind::kSample, EventNumber{0}}, CountName::kProduced, 2 * seq.value);
    return batch.build();
}

class SamplePeer {
public:
    explicit SamplePeer(const std::string& endpoint, const ConnectKeys* keys = nullptr) {
        auto driver = SocketDriver::connect(endpoint, keys);
        EXPECT_TRUE(driver.ok());
        driver_ = std::move(*driver);
    }

    // Over the present connection, or the next one. A failure when there is none in time.
    void send(const sample::Frame& frame) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (!is_sent(frame)) {
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "no connection";
            driver_->wait(-1, 1'000'000);
        }
    }

    // As send(); false: the gateway has closed the connection. Replies are ignored, because the end is read after them.
    bool send_unless_cut(const sample::Frame& frame) {
        std::vector<std::byte> buffer(limits::kReplySizeBytesMax);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (!is_sent(frame)) {
            EXPECT_LT(std::chrono::steady_clock::now(), end) << "no connection";
            for (auto size = driver_->receive(buffer); size.ok() && *size != 0; size = driver_->receive(buffer)) {
            }
            if (was_connected_ && !driver_->is_connected()) {
                return false;
            }
            driver_->wait(-1, 1'000'000);
        }
        was_connected_ = true;
        return true;
    }

    // The next reply of this type; others are ignored. A failure when none comes in time.
    sample::Reply wait_for(sample::ReplyType type) { return wait_for_any({type}); }

    sample::Reply wait_for_any(const std::vector<sample::ReplyType>& types) {
        return wait_for_any(types, [] {});
    }

    // Sends Hello and waits for its Welcome. Sends it again every second, as collectors do, and over a new connection:
    // what was sent over one whose end wasn't noticed yet is lost.
    sample::Reply greet(const SessionRecord& record) {
        const sample::Frame hello = sample::hello(record);
        send(hello);
        auto said = std::chrono::steady_clock::now();
        return wait_for_any({sample::ReplyType::kWelcome}, [&] {
            if (const auto now = std::chrono::steady_clock::now();
                driver_->reconnected() || now - said >= std::chrono::seconds{1}) {
                send(hello);
                said = now;
            }
        });
    }

    // Until the gateway has acknowledged so much; it may have done so while the peer waited for something else.
    void wait_for_prefix(std::uint64_t seq) {
        while (!testing::Test::HasFailure() && acknowledged_ < seq) {
            wait_for(sample::ReplyType::kAck);
        }
    }

    // Waits for a connection after the present one, or the first.
    void wait_for_connection() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (!driver_->reconnected()) {
            ASSERT_LT(std::chrono::steady_clock::now(), end) << "no connection";
            driver_->wait(-1, 10'000'000);
        }
    }

    // Waits until the gateway can't be reached, and gives the reason; empty and a failure when a connection stays too
    // long.
    std::string wait_for_trouble() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (std::chrono::steady_clock::now() < end) {
            (void)driver_->reconnected();
            if (!driver_->trouble().empty()) {
                return driver_->trouble();
            }
            driver_->wait(-1, 10'000'000);
        }
        ADD_FAILURE() << "no trouble";
        return {};
    }

    // Calls `meanwhile` between its checks.
    template <class Work>
    sample::Reply wait_for_any(const std::vector<sample::ReplyType>& types, const Work& meanwhile) {
        std::vector<std::byte> buffer(limits::kReplySizeBytesMax);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (std::chrono::steady_clock::now() < end) {
            const auto size = driver_->receive(buffer);
            if (!size.ok() || *size == 0) {
                meanwhile();
                driver_->wait(-1, 100'000'000);
                continue;
            }
            sample::Reply reply = sample::read_reply(std::span{buffer}.first(*size));
            if (reply.type == sample::ReplyType::kAck) {
                acknowledged_ = std::max<std::uint64_t>(acknowledged_, reply.prefix);
            }
            if (std::find(types.begin(), types.end(), reply.type) != types.end()) {
                return reply;
            }
        }
        ADD_FAILURE() << "no reply of sort " << static_cast<int>(types.front());
        return {};
    }

private:
    bool is_sent(const sample::Frame& frame) {
        // A new connection takes frames only after a first check; here it is as good as the last.
        (void)driver_->reconnected();
        return driver_->send(frame);
    }

    std::unique_ptr<SocketDriver> driver_;
    std::uint64_t acknowledged_ = 0;
    bool was_connected_ = false;
};

}  // namespace perfleet::end_to_end
