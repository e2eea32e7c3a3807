#include "gateway/ingest/enrolled_identity.h"

#include <gtest/gtest.h>

namespace perfleet::enrolled_identity_test {
namespace {

Enrolment board() {
    Enrolment peer;
    peer.name = "board-7";
    peer.target = TargetId{7};
    peer.labels = {{"rack", "b1"}, {"site", "lab"}};
    return peer;
}

TEST(EnrolledIdentity, IsTakenWhereACollectorSaysNothingOrTheSame) {
    SessionRecord silent;
    SessionRecord same;
    same.target_name = "board-7";
    same.target = TargetId{7};
    same.labels = {{"site", "lab"}};
    for (SessionRecord record : {silent, same}) {
        ASSERT_TRUE(take_enrolled_identity(record, board()).ok());
        EXPECT_EQ(record.target_name, "board-7");
        EXPECT_EQ(record.target, TargetId{7});
        EXPECT_EQ(record.labels, board().labels);
    }
}

TEST(EnrolledIdentity, IsNotThatOfAnother) {
    const auto refusal = [](const auto& change) {
        SessionRecord record;
        change(record);
        const auto taken = take_enrolled_identity(record, board());
        EXPECT_FALSE(taken.ok());
        return taken.ok() ? std::string{} : taken.error().message;
    };
    EXPECT_NE(refusal([](SessionRecord& record) { record.target_name = "board-8"; }).find("target 'board-8'"),
              std::string::npos);
    EXPECT_NE(refusal([](SessionRecord& record) { record.target = TargetId{8}; }).find("another target"),
              std::string::npos);
    EXPECT_NE(refusal([](SessionRecord& record) {
                  record.labels = {{"site", "lab"}, {"site", "hall"}};
              }).find("the label site=hall"),
              std::string::npos);
}

}  // namespace
}  // namespace perfleet::enrolled_identity_test
