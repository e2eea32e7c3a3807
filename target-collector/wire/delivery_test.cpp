// Delivery over the real driver, against a ROUTER socket in this process that says what each test makes it say.
#include "target-collector/wire/delivery.h"

#include <gtest/gtest.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "schemas/wire/protocol.h"
#include "target-collector/message/batch_builder.h"
#include "target-collector/message/hello.h"
#include "target-collector/message/sealer.h"
#include "target-collector/wire/gateway_frames_test.h"
#include "target-collector/wire/zmq_driver.h"

namespace perfleet {
namespace {

using wire_layout::MessageTag;

constexpr Series kSamples{Kind::kSample, EventNumber{0}};
constexpr Series kStacks{Kind::kStack, kNoEvent};
constexpr SessionId kSession{0x11, 0x22};
constexpr SessionId kOtherSession{0x33, 0x44};
constexpr UtcNs kUtc{1'700'000'000 * kNsPerSecond};
constexpr std::uint64_t kSecond = 1'000'000'000;

class Router {
public:
    explicit Router(const std::string& at = "tcp://127.0.0.1:*") : context_{zmq_ctx_new()} { bind(at); }
    ~Router() {
        unbind();
        zmq_ctx_term(context_);
    }
    Router(const Router&) = delete;
    Router& operator=(const Router&) = delete;

    void bind(const std::string& at) {
        socket_ = zmq_socket(context_, ZMQ_ROUTER);
        const int zero = 0;
        zmq_setsockopt(socket_, ZMQ_LINGER, &zero, sizeof zero);
        // A socket that was closed here before gives its address back a little later.
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (zmq_bind(socket_, at.c_str()) != 0) {
            ASSERT_EQ(zmq_errno(), EADDRINUSE) << zmq_strerror(zmq_errno());
            ASSERT_LT(std::chrono::steady_clock::now(), deadline);
            std::this_thread::yield();
        }
        std::array<char, 256> name{};
        std::size_t size = name.size();
        zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, name.data(), &size);
        endpoint = name.data();
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
    std::string endpoint;

private:
    void* context_;
    void* socket_ = nullptr;
    std::string peer_;
};

class DeliveryTest : public testing::Test {
protected:
    DeliveryTest()
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

    void start(const std::string& endpoint, std::size_t spool_size_bytes = 1U << 20, void* context = nullptr) {
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
        delivery_ = std::make_unique<Delivery>(options, *driver_, batches_, losses_);
    }

    // Seals a batch of one row; rows count up.
    void seal(Series series = kSamples) {
        const std::uint64_t row[] = {++rows_, 0, 1, 1, 1, 1};
        sealer_->append(series, Ticks{rows_}, std::span{row}.first(series == kStacks ? 4 : 6));
        sealer_->flush(Ticks{rows_});
    }

    // Runs the collector until `is_done`. Time stands still but for the tests' own steps.
    void run_until(const std::function<bool()>& is_done) {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!is_done()) {
            ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing happened for long";
            if (!delivery_->step(now_ns_)) {
                driver_->wait(-1, 1'000'000);
            }
        }
    }

    SeenFrame next(Router& router) {
        std::optional<SeenFrame> seen;
        run_until([&] { return (seen = router.receive()).has_value(); });
        return seen.value_or(SeenFrame{});
    }
    SeenFrame expect(Router& router, MessageTag tag) {
        SeenFrame seen = next(router);
        EXPECT_EQ(static_cast<int>(seen.tag), static_cast<int>(tag));
        return seen;
    }
    void expect_batch(Router& router, std::uint64_t seq) {
        EXPECT_EQ(expect(router, MessageTag::kBatch).seq, Seq{seq});
    }
    // Nothing more comes, though the collector was stepped and a question was answered.
    void expect_silence(Router& router) {
        for (int i = 0; i < 50; ++i) {
            delivery_->step(now_ns_);
            driver_->wait(-1, 100'000);
            const auto seen = router.receive();
            EXPECT_FALSE(seen.has_value()) << "tag " << static_cast<int>(seen->tag) << " seq " << seen->seq.value;
        }
    }
    void welcome(Router& router, WelcomeFields fields = {kSession}) {
        expect(router, MessageTag::kHello);
        router.say(make_welcome(fields));
        run_until([&] { return delivery_->status().welcomed; });
    }
    void ack(Router& router, AckFields fields) {
        fields.session = kSession;
        router.say(make_ack(fields));
    }
    void run_until_prefix(std::uint64_t prefix) {
        run_until([&] { return delivery_->status().prefix == Seq{prefix}; });
    }

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
    std::unique_ptr<ZmqDriver> driver_;
    std::unique_ptr<Delivery> delivery_;
    std::uint64_t rows_ = 0;
    std::uint64_t now_ns_ = kSecond;
};

TEST_F(DeliveryTest, DeliversAndSaysGoodbye) {
    Router router;
    start(router.endpoint);
    seal();
    seal();
    const SeenFrame hello = expect(router, MessageTag::kHello);
    EXPECT_EQ(hello.session, kSession);
    EXPECT_EQ(hello.target_name, "scripted");
    EXPECT_EQ(hello.oldest_retained, Seq{1});
    expect_silence(router);  // no batch before the Welcome
    router.say(make_welcome({kSession, 5, Seq{0}, Seq{64}, kUtc}));
    const SeenFrame first = expect(router, MessageTag::kBatch);
    EXPECT_EQ(first.seq, Seq{1});
    EXPECT_EQ(first.oldest_retained, Seq{1});
    expect_batch(router, 2);
    EXPECT_EQ(delivery_->status().gateway_utc, kUtc);
    EXPECT_GT(delivery_->status().spool_used_bytes, 0U);
    const ClockPoint end{Ticks{7}, UtcNs{8}, 9};
    ASSERT_TRUE(sealer_->finish(end));
    ack(router, {{}, 5, Seq{1}});
    run_until_prefix(1);
    expect_silence(router);  // no Bye while a batch is under way
    ack(router, {{}, 5, Seq{2}});
    const SeenFrame bye = expect(router, MessageTag::kBye);
    EXPECT_EQ(bye.session, kSession);
    EXPECT_EQ(bye.seq, Seq{2});
    EXPECT_EQ(bye.end_point, end);
    EXPECT_EQ(bye.tally(kSamples, TallyName::kProduced), 2U);
    EXPECT_EQ(delivery_->status().spool_used_bytes, 0U);
    // Repeated each second until the gateway says that it has it.
    expect_silence(router);
    now_ns_ += kSecond;
    expect(router, MessageTag::kBye);
    EXPECT_FALSE(delivery_->status().finished);
    ack(router, {{}, 5, Seq{2}, Seq{64}, true});
    run_until([&] { return delivery_->status().finished; });
    now_ns_ += 10 * kSecond;
    expect_silence(router);
}

TEST_F(DeliveryTest, RepeatsHelloUntilItIsWelcome) {
    Router router;
    start(router.endpoint);
    expect(router, MessageTag::kHello);
    expect_silence(router);
    now_ns_ += kSecond;
    expect(router, MessageTag::kHello);
    router.say(make_welcome({kSession}));
    run_until([&] { return delivery_->status().welcomed; });
    now_ns_ += 5 * kSecond;
    expect_silence(router);
}

TEST_F(DeliveryTest, KeepsWithinItsCredit) {
    Router router;
    start(router.endpoint);
    for (int i = 0; i < 5; ++i) {
        seal();
    }
    welcome(router, {kSession, 1, Seq{0}, Seq{2}});
    expect_batch(router, 1);
    expect_batch(router, 2);
    expect_silence(router);
    ack(router, {{}, 1, Seq{2}, Seq{2}});  // durable, but no more now
    run_until_prefix(2);
    expect_silence(router);
    ack(router, {{}, 1, Seq{0}, Seq{4}});
    expect_batch(router, 3);
    expect_batch(router, 4);
    expect_silence(router);
    ack(router, {{}, 1, Seq{4}, Seq{1}});  // credit never shrinks, but this gives none
    run_until_prefix(4);
    expect_silence(router);
}

TEST_F(DeliveryTest, SendsAgainWhatIsNotAcknowledged) {
    Router router;
    start(router.endpoint);
    seal();
    seal();
    seal();
    welcome(router);
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        expect_batch(router, seq);
    }
    ack(router, {{}, 1, Seq{1}});
    run_until_prefix(1);
    now_ns_ += limits::kResendAfterNs - 1;
    expect_silence(router);
    now_ns_ += 1;
    const SeenFrame again = expect(router, MessageTag::kBatch);
    EXPECT_EQ(again.seq, Seq{2});
    EXPECT_EQ(again.oldest_retained, Seq{2});
    expect_batch(router, 3);
    EXPECT_EQ(delivery_->status().batches_resent, 2U);
    expect_silence(router);
}

TEST_F(DeliveryTest, AnswersHelloAgainWithHelloAndSendsEverythingAgain) {
    Router router;
    start(router.endpoint);
    seal();
    welcome(router);
    expect_batch(router, 1);
    router.say(make_hello_again(2));
    router.say(make_hello_again(2));  // for each batch under way one comes
    expect(router, MessageTag::kHello);
    expect_silence(router);
    EXPECT_FALSE(delivery_->status().welcomed);
    router.say(make_welcome({kSession, 2}));
    expect_batch(router, 1);
}

TEST_F(DeliveryTest, ASecondWelcomeOfTheSameGatewayRepeatsNothing) {
    Router router;
    start(router.endpoint);
    seal();
    welcome(router);
    expect_batch(router, 1);
    router.say(make_welcome({kSession}));
    expect_silence(router);
}

TEST_F(DeliveryTest, WaitsForAGatewayThatComesLater) {
    std::string endpoint;
    {
        Router router;
        endpoint = router.endpoint;  // free when this one is gone
    }
    start(endpoint);
    seal();
    for (int i = 0; i < 20; ++i) {
        delivery_->step(now_ns_);
        now_ns_ += kSecond;
    }
    EXPECT_FALSE(delivery_->status().welcomed);
    EXPECT_EQ(delivery_->status().last_sealed, Seq{1});
    Router router(endpoint);
    expect(router, MessageTag::kHello);  // one, not twenty: nothing is queued for a peer that isn't there
    router.say(make_welcome({kSession}));
    expect_batch(router, 1);
}

TEST_F(DeliveryTest, ReconnectsAndSendsAgainWhatTheGatewayDoesNotHave) {
    Router router;
    start(router.endpoint);
    for (int i = 0; i < 3; ++i) {
        seal();
    }
    welcome(router);
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        expect_batch(router, seq);
    }
    ack(router, {{}, 1, Seq{1}});
    run_until_prefix(1);
    const std::string endpoint = router.endpoint;
    router.unbind();
    router.bind(endpoint);
    const SeenFrame hello = expect(router, MessageTag::kHello);
    EXPECT_EQ(hello.oldest_retained, Seq{2});
    router.say(make_welcome({kSession, 2, Seq{2}}));
    expect_batch(router, 3);
    EXPECT_EQ(delivery_->status().prefix, Seq{2});
}

TEST_F(DeliveryTest, GivesAnEmptierGatewayAllThatIsLeft) {
    Router router;
    start(router.endpoint);
    for (int i = 0; i < 4; ++i) {
        seal();
    }
    welcome(router);
    for (std::uint64_t seq = 1; seq <= 4; ++seq) {
        expect_batch(router, seq);
    }
    ack(router, {{}, 1, Seq{2}});
    run_until_prefix(2);
    router.say(make_hello_again(2));
    // Its credit ends before what is left; the oldest one tells it that nothing older will come.
    welcome(router, {kSession, 2, Seq{0}, Seq{1}});
    const SeenFrame oldest = expect(router, MessageTag::kBatch);
    EXPECT_EQ(oldest.seq, Seq{3});
    EXPECT_EQ(oldest.oldest_retained, Seq{3});
    expect_silence(router);
    ack(router, {{}, 2, Seq{3}, Seq{10}});
    expect_batch(router, 4);
    EXPECT_EQ(delivery_->status().prefix, Seq{3});
}

TEST_F(DeliveryTest, IgnoresPromisesThatCannotBeTrue) {
    Router router;
    start(router.endpoint);
    seal();
    seal();
    welcome(router, {kSession, 1, Seq{0}, Seq{1}});
    expect_batch(router, 1);
    router.say(make_ack({kOtherSession, 1, Seq{1}}));  // another session's
    ack(router, {{}, 9, Seq{1}});                      // another gateway's
    ack(router, {{}, 1, Seq{2}, Seq{1}});              // a batch that was never sent
    ack(router, {{}, 1, Seq{~0ULL}, Seq{1}});
    ack(router, {{}, 1, Seq{0}, Seq{1}, true});  // finished before the Bye
    router.say(make_refused(kOtherSession, Seq{1}, 1, ""));
    router.say(make_refused(kSession, Seq{2}, 1, ""));
    router.say(make_control(kSession, 2, EventNumber{0}, 0));
    router.say(make_clock_reply(1, 2, kUtc));
    router.say(Frame(16, std::byte{0xff}));
    router.say(Frame(limits::kReplySizeBytesMax + 8));
    run_until([&] { return delivery_->status().replies_ignored >= 7; });
    EXPECT_EQ(delivery_->status().prefix, Seq{0});
    EXPECT_EQ(delivery_->status().batches_refused, 0U);
    EXPECT_FALSE(delivery_->status().finished);
    ack(router, {{}, 1, Seq{1}, Seq{2}});
    expect_batch(router, 2);
}

TEST_F(DeliveryTest, AFullSpoolDropsTheOldestAndSaysSo) {
    Router router;
    start(router.endpoint, 2'000);  // a few batches
    seal(kStacks);
    for (int i = 0; i < 10; ++i) {
        seal();
        delivery_->step(now_ns_);
    }
    sealer_->tick(Ticks{100}, kUtc);
    const auto dropped = delivery_->status().batches_dropped;
    EXPECT_GT(dropped, 2U);
    EXPECT_LT(dropped, 11U);
    EXPECT_TRUE(sealer_->epoch_is_over());  // its stack is gone
    seal();                                 // names what was dropped until now
    delivery_->step(now_ns_);
    const auto dropped_in_all = delivery_->status().batches_dropped;

    const SeenFrame hello = expect(router, MessageTag::kHello);
    EXPECT_EQ(hello.oldest_retained, Seq{dropped_in_all + 1});
    router.say(make_welcome({kSession, 1, Seq{0}, Seq{2}}));
    EXPECT_EQ(expect(router, MessageTag::kBatch).seq, Seq{dropped_in_all + 1});
    ack(router, {{}, 1, Seq{dropped_in_all + 1}, Seq{64}});
    SeenFrame last;
    while (last.seq != Seq{12}) {
        last = expect(router, MessageTag::kBatch);
    }
    EXPECT_EQ(last.dropped, (std::vector<SeqRange>{{Seq{1}, Seq{dropped}}}));
    EXPECT_EQ(last.tally(kSamples, TallyName::kLostSpoolFull), dropped - 1);
    EXPECT_EQ(last.tally(kStacks, TallyName::kLostSpoolFull), 1U);
    EXPECT_EQ(last.tally(kSamples, TallyName::kProduced), 11U);

    // What an acknowledged batch has named is not named again.
    ack(router, {{}, 1, Seq{12}, Seq{64}});
    run_until_prefix(12);
    sealer_->tick(Ticks{101}, kUtc);
    seal();
    const SeenFrame after = expect(router, MessageTag::kBatch);
    EXPECT_EQ(after.dropped.empty(), dropped_in_all == dropped);
    EXPECT_EQ(after.tally(kSamples, TallyName::kLostSpoolFull), dropped_in_all - 1);

    ASSERT_TRUE(sealer_->finish({}));
    ack(router, {{}, 1, Seq{13}, Seq{64}});
    const SeenFrame bye = expect(router, MessageTag::kBye);
    EXPECT_EQ(bye.tally(kSamples, TallyName::kLostSpoolFull), dropped_in_all - 1);
    EXPECT_EQ(bye.tally(kSamples, TallyName::kProduced), 12U);
    EXPECT_TRUE(bye.dropped.empty());
}

TEST_F(DeliveryTest, ABatchTooLargeForTheSpoolIsDroppedAlone) {
    Router router;
    start(router.endpoint, 2'000);
    seal();
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < 500; ++i) {
        const std::uint64_t row[] = {random(), i, i, i, i, i};
        sealer_->append(kSamples, Ticks{i}, row);
    }
    sealer_->flush(Ticks{1});
    seal();
    welcome(router);
    expect_batch(router, 1);
    expect_batch(router, 3);
    EXPECT_EQ(delivery_->status().batches_dropped, 1U);
    ASSERT_TRUE(sealer_->finish({}));
    ack(router, {{}, 1, Seq{1}});
    ack(router, {{}, 1, Seq{3}});
    const SeenFrame bye = expect(router, MessageTag::kBye);
    EXPECT_EQ(bye.dropped, (std::vector<SeqRange>{{Seq{2}, Seq{2}}}));
    EXPECT_EQ(bye.tally(kSamples, TallyName::kLostSpoolFull), 500U);
}

TEST_F(DeliveryTest, CountsARefusedBatchAndGoesOn) {
    Router router;
    start(router.endpoint);
    seal();
    seal(kStacks);
    seal();
    welcome(router);
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
        expect_batch(router, seq);
    }
    router.say(make_refused(kSession, Seq{2}, 1, "malformed"));
    router.say(make_refused(kSession, Seq{2}, 1, "malformed"));
    run_until([&] { return delivery_->status().batches_refused == 1; });
    sealer_->tick(Ticks{9}, kUtc);
    EXPECT_TRUE(sealer_->epoch_is_over());
    now_ns_ += limits::kResendAfterNs;
    expect_batch(router, 1);
    expect_batch(router, 3);  // not 2
    seal();
    const SeenFrame next_batch = expect(router, MessageTag::kBatch);
    EXPECT_EQ(next_batch.tally(kStacks, TallyName::kLostRefused), 1U);
    EXPECT_TRUE(next_batch.dropped.empty());
    ASSERT_TRUE(sealer_->finish({}));
    ack(router, {{}, 1, Seq{4}});
    const SeenFrame bye = expect(router, MessageTag::kBye);
    EXPECT_EQ(bye.tally(kStacks, TallyName::kLostRefused), 1U);
    EXPECT_EQ(bye.tally(kStacks, TallyName::kProduced), 1U);
    EXPECT_EQ(bye.tally(kSamples, TallyName::kProduced), 3U);
}

TEST_F(DeliveryTest, ARefusedSessionFallsSilent) {
    Router router;
    start(router.endpoint);
    seal();
    expect(router, MessageTag::kHello);
    router.say(make_refused(kSession, Seq{0}, static_cast<std::uint16_t>(protocol::RefusedReason::kIdentity), "who?"));
    run_until([&] { return delivery_->status().session_refused; });
    EXPECT_EQ(delivery_->status().refused_reason, static_cast<std::uint16_t>(protocol::RefusedReason::kIdentity));
    seal();
    now_ns_ += 10 * kSecond;
    expect_silence(router);
    EXPECT_EQ(delivery_->status().last_sealed, Seq{2});  // the ring is drained all the same
}

TEST_F(DeliveryTest, RefusesAVersionThatItDoesNotSpeak) {
    Router router;
    start(router.endpoint);
    expect(router, MessageTag::kHello);
    WelcomeFields fields{kSession};
    fields.version = protocol::kVersion + 1;
    router.say(make_welcome(fields));
    run_until([&] { return delivery_->status().session_refused; });
    EXPECT_EQ(delivery_->status().refused_reason,
              static_cast<std::uint16_t>(protocol::RefusedReason::kNoCommonVersion));
}

TEST_F(DeliveryTest, GivingUpDropsWhatIsLeftAndSaysGoodbye) {
    Router router;
    start(router.endpoint);
    seal();
    seal();
    welcome(router);
    expect_batch(router, 1);
    expect_batch(router, 2);
    ASSERT_TRUE(sealer_->finish({}));
    expect_silence(router);
    delivery_->give_up();
    const SeenFrame bye = expect(router, MessageTag::kBye);
    EXPECT_EQ(bye.dropped, (std::vector<SeqRange>{{Seq{1}, Seq{2}}}));
    EXPECT_EQ(bye.tally(kSamples, TallyName::kLostSpoolFull), 2U);
    ack(router, {{}, 1, Seq{2}, Seq{64}, true});
    run_until([&] { return delivery_->status().finished; });
}

TEST_F(DeliveryTest, SaysGoodbyeToTheNextGatewayAtOnce) {
    Router router;
    start(router.endpoint);
    welcome(router);
    ASSERT_TRUE(sealer_->finish({}));
    expect(router, MessageTag::kBye);
    router.say(make_hello_again(2));
    welcome(router, {kSession, 2});
    expect(router, MessageTag::kBye);
}

TEST_F(DeliveryTest, SendsImagesInChunksAsAsked) {
    Router router;
    std::string content(limits::kImageChunkSizeBytes + 1'000, 'k');
    for (std::size_t i = 0; i < content.size(); ++i) {
        content[i] = static_cast<char>(i * 7);
    }
    const std::string build_id = "0123456789abcdefghij";
    images_.push_back({std::as_bytes(std::span{build_id}), 1, std::as_bytes(std::span{content})});
    start(router.endpoint, 4U << 20);
    seal();
    welcome(router);
    expect_batch(router, 1);
    router.say(make_need_image("another", 0));
    router.say(make_need_image(build_id, content.size()));
    router.say(make_need_image(build_id, 0));
    SeenFrame chunk = expect(router, MessageTag::kImage);
    EXPECT_EQ(chunk.session, kSession);
    EXPECT_EQ(chunk.build_id, build_id);
    EXPECT_EQ(chunk.sort, 1);
    EXPECT_EQ(chunk.size_bytes, content.size());
    EXPECT_EQ(chunk.offset_bytes, 0U);
    EXPECT_EQ(chunk.content.size(), limits::kImageChunkSizeBytes);
    EXPECT_EQ(chunk.content, content.substr(0, chunk.content.size()));
    // The Bye waits for the rest of the image.
    ASSERT_TRUE(sealer_->finish({}));
    ack(router, {{}, 1, Seq{1}});
    expect_silence(router);
    router.say(make_need_image(build_id, chunk.content.size()));
    const std::size_t rest = chunk.content.size();
    chunk = expect(router, MessageTag::kImage);
    EXPECT_EQ(chunk.offset_bytes, rest);
    EXPECT_EQ(chunk.content, content.substr(rest));
    expect(router, MessageTag::kBye);
}

TEST_F(DeliveryTest, TheByeDoesNotWaitForeverForAnImage) {
    Router router;
    const std::string content(2'000'000, 'k');
    const std::string build_id = "id";
    images_.push_back({std::as_bytes(std::span{build_id}), 1, std::as_bytes(std::span{content})});
    start(router.endpoint, 4U << 20);
    welcome(router);
    router.say(make_need_image(build_id, 0));
    expect(router, MessageTag::kImage);
    ASSERT_TRUE(sealer_->finish({}));
    expect_silence(router);
    now_ns_ += 5 * kSecond;
    expect(router, MessageTag::kBye);
}

TEST_F(DeliveryTest, WorksInOneProcessWhenItConnectsBeforeTheGatewayBinds) {
    Router router;
    start("inproc://gateway", 1U << 20, router.context());
    seal();
    delivery_->step(now_ns_);
    router.unbind();
    router.bind("inproc://gateway");
    welcome(router);
    expect_batch(router, 1);
    ASSERT_TRUE(sealer_->finish({}));
    ack(router, {{}, 1, Seq{1}});
    expect(router, MessageTag::kBye);
    ack(router, {{}, 1, Seq{1}, Seq{64}, true});
    run_until([&] { return delivery_->status().finished; });
    driver_.reset();
}

TEST(ZmqDriver, NamesAnEndpointThatItCannotUnderstand) {
    for (const char* endpoint : {"nonsense", "tcp://", "tcp://host:port", "inproc://alone"}) {
        const auto driver = ZmqDriver::connect(endpoint, nullptr);
        ASSERT_FALSE(driver.ok()) << endpoint;
        EXPECT_EQ(driver.error().code, ErrorCode::kUsage);
        EXPECT_NE(driver.error().message.find(endpoint), std::string::npos) << driver.error().message;
    }
}

}  // namespace
}  // namespace perfleet
