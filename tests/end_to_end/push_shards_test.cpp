// Pushed profiles at a gateway whose store has no folder and is shared, as on RADOS: by a socket elsewhere, and with
// the target's shard at another gateway. Real gateways in this process, over memory; who holds a shard is the test's.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "gateway/gateway.h"
#include "gateway/process/private_folder.h"
#include "storage/store/memory_store.h"
#include "storage/store/testing/store_over.h"
#include "target-collector/upload/push_receiver.h"

namespace perfleet::end_to_end::push_shards_test {
namespace {

// A memory store all of whose shards this gateway holds, or another one.
class SharedStore final : public StoreOver, private ShardLeases {
public:
    explicit SharedStore(std::optional<GatewayAddress> holder)
        : StoreOver{make_memory_store()}, holder_{std::move(holder)} {}

    ShardLeases* leases() override { return this; }

private:
    Result<Done> join(const GatewayAddress& /*own*/) override { return Done{}; }
    News take_news() override { return {}; }
    void give_up(std::uint16_t /*shard*/) override {}
    bool is_held(std::uint16_t /*shard*/) const override { return !holder_.has_value(); }
    std::uint16_t held_count() const override { return holder_ ? 0 : shards().value; }
    std::optional<GatewayAddress> holder_of(std::uint16_t /*shard*/) const override { return holder_; }
    std::vector<Message> take_requests() override { return {}; }
    void answer(Message /*answer*/) override {}
    std::uint64_t change_count() const override { return 0; }
    void publish_sizes(const ClassSizes& /*sizes*/, std::uint64_t /*change*/) override {}
    std::optional<ClassSizes> sizes_of_others() const override { return std::nullopt; }

    std::optional<GatewayAddress> holder_;
};

// A gateway that serves on a thread.
class Serving {
public:
    explicit Serving(std::optional<GatewayAddress> holder = {}) : store_{std::move(holder)} {
        GatewayOptions options{{"tcp://127.0.0.1:*"}, {}};
        options.socket_folder = folder_->path();
        options.target_sessions_max = kTargetSessionsMax;
        gateway_ = std::move(*Gateway::open(options, store_));
        thread_ = std::thread{[this] { EXPECT_TRUE(gateway_->serve(stop_, stop_fd_).ok()); }};
    }
    ~Serving() {
        stop_ = true;
        const std::uint64_t one = 1;
        EXPECT_EQ(::write(stop_fd_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
        thread_.join();
        ::close(stop_fd_);
    }

    static constexpr std::uint32_t kTargetSessionsMax = 2;

    // Each service has a session of its own.
    [[nodiscard]] Result<PushOutcome> push(const std::string& service = "shop") const {
        const auto receiver = PushReceiver::make(folder_->path(), [](const LogEvent&) {});
        EXPECT_TRUE(receiver.ok());
        return (*receiver)->take({PushFormat::kPyroscopeIngest,
                                  "",
                                  {{"name", service + ".cpu{hostname=web-7}"}},
                                  "main;work 40\nmain;idle 2\n"},
                                 [](UtcNs) { return PushedSessions::Hashes{}; });
    }
    [[nodiscard]] const std::string& endpoint() const { return gateway_->endpoints().front(); }
    [[nodiscard]] const std::string& folder() const { return folder_->path(); }
    [[nodiscard]] std::uint64_t batch_count() const { return gateway_->counts().batches_stored; }

private:
    SharedStore store_;
    std::unique_ptr<PrivateFolder> folder_ = std::move(*PrivateFolder::make());
    std::unique_ptr<Gateway> gateway_;
    std::atomic<bool> stop_{false};
    int stop_fd_ = ::eventfd(0, EFD_CLOEXEC);
    std::thread thread_;
};

TEST(PushToAStoreWithoutAFolder, GoesByASocketOfItsUserAlone) {
    std::string folder;
    {
        const Serving here;
        folder = here.folder();
        struct stat status {};
        ASSERT_EQ(::stat(folder.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777U, 0700U);
        const auto pushed = here.push();
        ASSERT_TRUE(pushed.ok()) << pushed.error().message;
        EXPECT_GT(pushed->rows, 0U);
        EXPECT_EQ(here.batch_count(), 1U);
    }
    EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(PushToAStoreWithoutAFolder, HasTheLimitsOfACollector) {
    const Serving here;
    EXPECT_TRUE(here.push("one").ok());
    EXPECT_TRUE(here.push("two").ok());
    const auto third = here.push("three");
    ASSERT_FALSE(third.ok());
    EXPECT_EQ(third.error().code, ErrorCode::kUnavailable) << "503: the agent tries again";
    EXPECT_NE(third.error().message.find("as many new sessions of this target"), std::string::npos)
        << third.error().message;
    EXPECT_EQ(here.batch_count(), 2U);
}

TEST(PushToAStoreWithoutAFolder, FollowsItsShardToAGatewayWithoutKeys) {
    const Serving elsewhere;
    const Serving here{GatewayAddress{elsewhere.endpoint(), ""}};
    const auto pushed = here.push();
    ASSERT_TRUE(pushed.ok()) << pushed.error().message;
    EXPECT_EQ(here.batch_count(), 0U);
    EXPECT_EQ(elsewhere.batch_count(), 1U);
}

TEST(PushToAStoreWithoutAFolder, NamesTheGatewayWithKeysThatHasItsShard) {
    const Serving here{GatewayAddress{"tcp://gateway-2.example:7411", "(key of that gateway)"}};
    const auto pushed = here.push();
    ASSERT_FALSE(pushed.ok());
    EXPECT_EQ(pushed.error().code, ErrorCode::kUnavailable) << "503: the agent tries again";
    EXPECT_EQ(pushed.error().message,
              "target 'web-7' is stored by the gateway at tcp://gateway-2.example:7411, which takes only peers with "
              "keys: send this to its own --http");
    EXPECT_EQ(here.batch_count(), 0U);
}

}  // namespace
}  // namespace perfleet::end_to_end::push_shards_test
