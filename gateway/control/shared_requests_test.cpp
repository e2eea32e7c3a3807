#include "gateway/control/shared_requests.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "storage/engine/request_box.h"

namespace perfleet {
namespace {

// A table of requests that the test fills.
class TestLeases final : public ShardLeases {
public:
    std::vector<Message> requests;
    std::map<std::string, std::string> answers;  // by id

private:
    Result<Done> join(const GatewayAddress&) override { return Done{}; }
    News take_news() override { return {}; }
    void give_up(std::uint16_t) override {}
    bool is_held(std::uint16_t) const override { return true; }
    std::uint16_t held_count() const override { return 0; }
    std::optional<GatewayAddress> holder_of(std::uint16_t) const override { return std::nullopt; }
    std::vector<Message> take_requests() override { return std::exchange(requests, {}); }
    void answer(Message answer) override { EXPECT_TRUE(answers.emplace(answer.id, answer.text).second); }
    std::uint64_t change_count() const override { return 0; }
    void publish_sizes(const ClassSizes&, std::uint64_t) override {}
    std::optional<ClassSizes> sizes_of_others() const override { return std::nullopt; }
};

class SharedRequestsTest : public testing::Test {
protected:
    [[nodiscard]] RequestOutcome outcome_of(const std::string& id) {
        const auto reply = decode_operator_reply(leases_.answers.at(id));
        EXPECT_TRUE(reply.ok()) << reply.error().message;
        return reply.ok() ? reply->outcome : RequestOutcome::kCount;
    }

    TestLeases leases_;
    SharedRequests requests_{leases_};
};

TEST_F(SharedRequestsTest, AreTakenOnceAndAnsweredUnderTheirIds) {
    const OperatorCommand stop{{1, 2}, protocol::ControlCommand::kStop, "", 0, 1};
    const OperatorCommand rename{{3, 4}, {}, "before", 0, 1, SessionEdit::kName};
    leases_.requests = {{"a", encode_operator_request({7, stop})}, {"b", encode_operator_request({8, rename})}};
    const auto incoming = requests_.take();
    ASSERT_EQ(incoming.requests.size(), 2U);
    EXPECT_EQ(incoming.requests[0].second, stop);
    EXPECT_EQ(incoming.requests[1].second, rename);
    EXPECT_TRUE(requests_.take().requests.empty());
    requests_.answer(incoming.requests[1].first, RequestOutcome::kRefused, "it has that name");
    requests_.answer(incoming.requests[1].first, RequestOutcome::kApplied, "");
    EXPECT_EQ(leases_.answers, (std::map<std::string, std::string>{
                                   {"b", encode_operator_reply({8, RequestOutcome::kRefused, "it has that name"})}}));
}

TEST_F(SharedRequestsTest, ThatCantBeCarriedOutAreRefused) {
    OperatorCommand symbols;
    symbols.edit = SessionEdit::kKeepSymbols;
    symbols.event = "00 /etc/passwd";
    leases_.requests = {{"a", "1 nonsense"}, {"b", encode_operator_request({1, symbols})}};
    const OperatorCommand stop{{1, 2}, protocol::ControlCommand::kStop, "", 0, 1};
    for (std::size_t i = 0; i <= RequestBox::kRequestsMax; ++i) {
        leases_.requests.push_back({std::to_string(i), encode_operator_request({0, stop})});
    }
    EXPECT_EQ(requests_.take().requests.size(), RequestBox::kRequestsMax);
    EXPECT_EQ(leases_.answers.size(), 3U);
    for (const std::string& id : {std::string{"a"}, std::string{"b"}, std::to_string(RequestBox::kRequestsMax)}) {
        EXPECT_EQ(outcome_of(id), RequestOutcome::kRefused);
    }
}

}  // namespace
}  // namespace perfleet
