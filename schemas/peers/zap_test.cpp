#include "schemas/peers/zap.h"

#include <gtest/gtest.h>

#include <vector>

namespace perfleet {
namespace {

class Zap : public testing::Test {
protected:
    Zap() {
        for (std::size_t i = 0; i < kCurveKeySizeBytes; ++i) {
            key_.bytes.at(i) = static_cast<unsigned char>(i);
        }
        allowed_.insert(std::make_shared<Enrolment>(Enrolment{"a", target_id_of("a"), key_, {}}));
        request_ = {"1.0",
                    "7",
                    kZapDomain,
                    "127.0.0.1",
                    "",
                    "CURVE",
                    std::string{reinterpret_cast<const char*>(key_.bytes.data()), kCurveKeySizeBytes}};
    }

    [[nodiscard]] std::string status() const { return answer_zap(request_, allowed_).frames[2]; }

    PublicKey key_;
    KeySet allowed_;
    std::vector<std::string> request_;
};

TEST_F(Zap, LetsInWhoseKeyIsThere) {
    const ZapReply reply = answer_zap(request_, allowed_);
    EXPECT_EQ(reply.verdict, ZapVerdict::kAllowed);
    EXPECT_EQ(reply.frames[0], "1.0");
    EXPECT_EQ(reply.frames[1], "7");
    EXPECT_EQ(reply.frames[2], "200");
    EXPECT_EQ(decode_public_key(reply.frames[4]), key_);
}

TEST_F(Zap, RefusesEveryoneElse) {
    request_[6][31] = '\xff';
    EXPECT_EQ(status(), "400");
    EXPECT_EQ(answer_zap(request_, KeySet{}).verdict, ZapVerdict::kUnknownKey);
}

TEST_F(Zap, RefusesOtherMechanismsDomainsAndShapes) {
    const auto expect_refused = [&](std::size_t frame, const std::string& text) {
        const std::string before = std::exchange(request_[frame], text);
        EXPECT_EQ(status(), "500") << text;
        request_[frame] = before;
    };
    expect_refused(0, "2.0");
    expect_refused(2, "other");
    expect_refused(5, "PLAIN");
    expect_refused(5, "NULL");
    expect_refused(6, "short");
    request_.pop_back();
    EXPECT_EQ(status(), "500");
    request_.clear();
    EXPECT_EQ(status(), "500");
}

}  // namespace
}  // namespace perfleet
