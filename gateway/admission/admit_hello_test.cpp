#include "gateway/admission/admit_hello.h"

#include <gtest/gtest.h>

#include <string>

#include "gateway/admission/decode.h"
#include "gateway/admission/intake_limits.h"
#include "gateway/admission/testing/sample_changes.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/protocol.h"
#include "storage/store/testing/sample_batches.h"

namespace perfleet::admit_hello_test {
namespace {

using Hello = wire::Hello::Builder;

SessionRecord good_record() {
    SessionRecord record = sample_session(TargetId{5}, SessionId{11, 12});
    record.labels = {{"rack", "7"}, {"role", "test"}};
    record.host.tracing_header_page = std::string{"with a \0 inside", 15};
    return record;
}

Result<SessionRecord> admit(const sample::Frame& frame) {
    Decoder decoder;
    auto message = decoder.decode(frame);
    PERFLEET_ASSERT(message.ok());
    return admit_hello(std::get<HelloUntrusted>(*message));
}

TEST(AdmitHello, KeepsWhatTheCollectorSays) {
    const auto record = admit(sample::hello(good_record()));
    ASSERT_TRUE(record.ok()) << record.error().message;
    EXPECT_EQ(*record, good_record());
}

TEST(AdmitHello, KeepsGroupsAndAttributes) {
    SessionRecord grouped = good_record();
    ASSERT_GE(grouped.events.size(), 2U);
    grouped.events[0].group = 1;
    grouped.events[1].group = 1;
    grouped.events[1].attr = std::string("\1\0attr", 6);
    const auto record = admit(sample::hello(grouped));
    ASSERT_TRUE(record.ok()) << record.error().message;
    EXPECT_EQ(*record, grouped);
}

TEST(AdmitHello, SortsLabels) {
    const auto record = admit(sample::hello_with(good_record(), [](Hello hello) {
        auto labels = hello.initLabels(2);
        labels[0].setKey("role");
        labels[0].setValue("test");
        labels[1].setKey("rack");
        labels[1].setValue("7");
    }));
    ASSERT_TRUE(record.ok());
    EXPECT_EQ(record->labels, good_record().labels);
}

TEST(AdmitHello, OfAnotherVersionIsRefusedByName) {
    for (const std::uint16_t version : std::initializer_list<std::uint16_t>{0, 2, 3, 60'000}) {
        const auto record = admit(sample::of_version(version, sample::hello(good_record())));
        ASSERT_FALSE(record.ok());
        EXPECT_EQ(record.error().code, ErrorCode::kUnsupported);
        EXPECT_EQ(record.error().message, "the collector has protocol version " + std::to_string(version) +
                                              ", this gateway 1; use programs of one release");
    }
}

struct Refusal {
    const char* name;
    sample::Change<Hello> change;
    const char* words;
    ErrorCode code;
};

class RefusedHello : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedHello, IsNamed) {
    const auto record = admit(sample::hello_with(good_record(), GetParam().change));
    ASSERT_FALSE(record.ok());
    EXPECT_NE(record.error().message.find(GetParam().words), std::string::npos) << record.error().message;
    EXPECT_EQ(record.error().code, GetParam().code) << record.error().message;
}

std::vector<Refusal> refusals() {
    const std::string long_name(intake_limits::kNameSizeBytesMax + 1, 'x');
    const std::string long_text(limits::kEventFormatSizeBytesMax + 1, 'x');
    constexpr auto kTooLarge = ErrorCode::kTooLarge;
    constexpr auto kInvalid = ErrorCode::kInvalid;
    return {
        {"LongTargetName", [=](Hello hello) { hello.setTargetName(long_name.c_str()); }, "target's name", kTooLarge},
        {"LongArchitecture", [=](Hello hello) { hello.setArchitecture(long_name.c_str()); }, "architecture", kTooLarge},
        {"LongVersion", [=](Hello hello) { hello.setCollectorVersion(long_name.c_str()); }, "version", kTooLarge},
        {"TargetNameWithNul",
         [](Hello hello) {
             hello.setTargetName(capnp::Text::Reader{"a\0b", 3});
         },
         "NUL", kInvalid},
        {"LongLabel", [=](Hello hello) { hello.getLabels()[0].setValue(long_name.c_str()); }, "label's value",
         kTooLarge},
        {"LabelWithoutKey", [](Hello hello) { hello.getLabels()[0].setKey(""); }, "without a key", kInvalid},
        {"LabelTwice", [](Hello hello) { hello.getLabels()[0].setKey("role"); }, "'role'", kInvalid},
        {"SessionOfAFile",
         [](Hello hello) {
             hello.initSession().setHigh(protocol::kSessionGivenAtImport.high);
             hello.getSession().setLow(protocol::kSessionGivenAtImport.low);
         },
         "only an import", kInvalid},
        {"TooManyLabels", [](Hello hello) { hello.initLabels(limits::kLabelsMax + 1); }, "labels", kTooLarge},
        {"TooManyEvents", [](Hello hello) { hello.initEvents(limits::kEventsMax + 1); }, "events", kTooLarge},
        {"TooManyOffers", [](Hello hello) { hello.initImageOffers(intake_limits::kImageOffersMax + 1); },
         "image offers", kTooLarge},
        {"TooManyWords", [](Hello hello) { hello.getHost().initCommandLine(intake_limits::kCommandLineWordsMax + 1); },
         "words", kTooLarge},
        {"EventWithoutName", [](Hello hello) { hello.getEvents()[0].setName(""); }, "without a name", kInvalid},
        {"EventOfUnknownKind", [](Hello hello) { hello.getEvents()[0].setKind(99); }, "kind 99",
         ErrorCode::kUnsupported},
        {"EventOfDefinitions", [](Hello hello) { hello.getEvents()[0].setKind(8); }, "kind 8", kInvalid},
        {"GroupOutOfOrder", [](Hello hello) { hello.getEvents()[1].setGroup(2); },
         "in group 2 where group 1 would begin", kInvalid},
        {"LongFormat", [=](Hello hello) { hello.getEvents()[1].setFormat(long_text.c_str()); }, "format", kTooLarge},
        {"LongAttr", [](Hello hello) { hello.getEvents()[1].initAttr(limits::kEventAttrSizeBytesMax + 1); },
         "perf_event_attr", kTooLarge},
        {"NoTicks", [](Hello hello) { hello.getClock().setTicksPerSecond(0); }, "clock", kInvalid},
        {"LongHost", [=](Hello hello) { hello.getHost().setOsRelease(long_text.c_str()); }, "release", kTooLarge},
        {"TooLargeAsAWhole",
         [](Hello hello) {
             const std::string word(60'000, 'x');
             auto words = hello.getHost().initCommandLine(20);
             for (unsigned i = 0; i < words.size(); ++i) {
                 words.set(i, word.c_str());
             }
         },
         "bytes", kTooLarge},
    };
}

INSTANTIATE_TEST_SUITE_P(AdmitHello, RefusedHello, testing::ValuesIn(refusals()),
                         [](const auto& refusal) { return refusal.param.name; });

}  // namespace
}  // namespace perfleet::admit_hello_test
