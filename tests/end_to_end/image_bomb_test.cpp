// Peers whose symbols decompress to far more than their size, beside one that delivers batches.
#include <gtest/gtest.h>
#include <zstd.h>

#include <chrono>
#include <csignal>
#include <list>
#include <random>
#include <string>
#include <string_view>
#include <thread>

#include "daemon/metrics/testing/scrape.h"
#include "gateway/admission/testing/sample_messages.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/hello_limits.h"
#include "schemas/wire/protocol.h"
#include "tests/end_to_end/gateway_program.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/sample_peer.h"

namespace perfleet::end_to_end::image_bomb_test {
namespace {

constexpr TargetId kTarget{3};
constexpr SessionId kSession{1, 2};
constexpr BucketNumber kBucket{400'000};
constexpr std::size_t kFrameSizeBytes = 64U << 20;
constexpr auto kElfType = static_cast<std::uint16_t>(protocol::ImageType::kElfSymbols);

std::string packed(const std::string& bytes) {
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
    return frame;
}

// 192 MiB of notes in some KB.
const std::string& bomb() {
    static const std::string content = [] {
        std::string bytes{"\177ELF"};
        while (bytes.size() < kFrameSizeBytes) {
            bytes += std::string_view{"\4\0\0\0\4\0\0\0\3\0\0\0GNU\0same", 20};
        }
        bytes.resize(kFrameSizeBytes);
        const std::string frame = packed(bytes);
        return frame + frame + frame;
    }();
    return content;
}

// 192 MiB that are packed as well as symbols may be: nothing is wrong with them.
const std::string& heavy_symbols() {
    static const std::string content = [] {
        std::mt19937_64 random{7};
        std::string bytes = "\177ELF" + std::string(kFrameSizeBytes - 4, 'x');
        for (std::size_t at = 64; at < bytes.size(); at += 400) {
            bytes[at] = static_cast<char>(random());
        }
        const std::string frame = packed(bytes);
        return frame + frame + frame;
    }();
    return content;
}

// One that offers images, all with the same content, and sends them as requested.
class ImagePeer {
public:
    ImagePeer(const std::string& endpoint, std::uint64_t number, std::size_t image_count, const std::string& content)
        : peer_{endpoint}, session_{77, number}, content_{content} {
        for (std::size_t i = 0; i < image_count; ++i) {
            offers_.push_back({"image " + std::to_string(number) + " " + std::to_string(i), kElfType, content.size()});
        }
        peer_.send(sample::hello(sample_session(TargetId{100 + number}, session_), Seq{1}, offers_));
    }

    // Sends everything that is requested of the next image.
    void send_image() {
        for (std::size_t sent = 0; sent < content_.size() && !testing::Test::HasFailure();) {
            const sample::Reply asked = peer_.wait_for(sample::ReplyType::kNeedImage);
            sent = send_chunk(asked);
        }
    }

    // Sends what is requested until the gateway closes the connection or has requested everything. True: it closed it.
    bool send_until_cut() {
        for (std::size_t image = 0; image < offers_.size() && !testing::Test::HasFailure();) {
            // Over a new connection the session is unknown, and the peer is asked for Hello again.
            const sample::Reply asked =
                peer_.wait_for_any({sample::ReplyType::kNeedImage, sample::ReplyType::kHelloAgain},
                                   [&] { peer_.send(sample::image_offers(session_, {})); });
            if (asked.type == sample::ReplyType::kHelloAgain) {
                return true;
            }
            if (!asked.build_id.empty()) {
                image += send_chunk(asked) >= content_.size() ? 1 : 0;
            }
        }
        return false;
    }

private:
    // How much of the image it has sent by then.
    std::size_t send_chunk(const sample::Reply& asked) {
        const auto chunk = std::string_view{content_}.substr(asked.offset, limits::kImageChunkSizeBytes);
        peer_.send(sample::image(session_, {asked.build_id, kElfType, content_.size()}, asked.offset, chunk));
        return asked.offset + chunk.size();
    }

    SamplePeer peer_;
    SessionId session_;
    const std::string& content_;
    std::vector<sample::ImageOffer> offers_;
};

class ImageBombs : public testing::Test {
protected:
    ImageBombs() { honest_.greet(sample_session(kTarget, kSession)); }
    ~ImageBombs() override { EXPECT_EQ(gateway_.end(SIGTERM).status, 0) << gateway_.process().error_output(); }

    void expect_acknowledgement() {
        honest_.send(sample::batch(sample_batch(kTarget, kSession, Seq{++batch_count_}, kBucket)));
        honest_.wait_for_prefix(batch_count_);
    }

    std::uint64_t metric(const std::string& name) {
        return static_cast<std::uint64_t>(scrape(gateway_.metrics()).value("perfleet_gateway_" + name).value_or(0));
    }
    void wait_for_metric(const std::string& name, std::uint64_t least) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
        while (metric(name) < least) {
            ASSERT_LT(std::chrono::steady_clock::now(), end) << name;
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }

    TemporaryFolder folder_;
    GatewayProgram gateway_{folder_ / "data",
                            "tcp://127.0.0.1:*",
                            "none",
                            program_path("perfleet-gateway"),
                            {},
                            {"--metrics", "127.0.0.1:*"}};
    SamplePeer honest_{gateway_.listen()};
    std::uint64_t batch_count_ = 0;
};

TEST_F(ImageBombs, AreRefusedAndWhoSendsThemIsCutOff) {
    ASSERT_LT(bomb().size(), 64U << 10);
    std::size_t cut_count = 0;
    constexpr std::size_t kPeers = 8;
    for (std::uint64_t number = 0; number < kPeers; ++number) {
        ImagePeer peer{gateway_.listen(), number, hello_limits::kImageOffersMax, bomb()};
        cut_count += peer.send_until_cut() ? 1 : 0;
        expect_acknowledgement();
    }
    EXPECT_GE(cut_count, 1U);
    EXPECT_GE(metric("peers_cut_total{reason=\"images\"}"), cut_count);
    EXPECT_GE(metric("images_refused_total{reason=\"ratio\"}"), 5 * cut_count);
    EXPECT_EQ(metric("images_stored_total"), 0U);
}

TEST_F(ImageBombs, BatchesAreAcknowledgedWhileHeavySymbolsAreChecked) {
    ASSERT_LT(heavy_symbols().size(), 2U << 20);
    constexpr std::size_t kPeers = 8;
    std::list<ImagePeer> peers;
    for (std::uint64_t number = 0; number < kPeers; ++number) {
        peers.emplace_back(gateway_.listen(), number, 1, heavy_symbols());
        peers.back().send_image();
    }
    // All has arrived before the batch does.
    wait_for_metric("received_bytes_total", kPeers * heavy_symbols().size());
    expect_acknowledgement();
    EXPECT_GE(metric("image_checks"), 1U) << "acknowledged before the last image was checked";
    EXPECT_LT(metric("images_stored_total"), kPeers);
    wait_for_metric("images_stored_total", kPeers);
    EXPECT_EQ(metric("images_refused_total{reason=\"ratio\"}"), 0U);
}

}  // namespace
}  // namespace perfleet::end_to_end::image_bomb_test
