// Hello, Bye and Image as the library reads them, and the bytes of every message that a collector sends.
#include <capnp/serialize.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "collector.capnp.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/wire/protocol.h"
#include "target-collector/message/batch_builder.h"
#include "target-collector/message/bye.h"
#include "target-collector/message/control.h"
#include "target-collector/message/hello.h"
#include "target-collector/message/image_chunk.h"
#include "target-collector/message/image_offers.h"
#include "target-collector/message/patch.h"
#include "tests/golden/golden_file.h"

namespace perfleet::messages_test {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

class Read {
public:
    explicit Read(std::span<const std::byte> message)
        : words_(message.size() / 8),
          reader_((std::memcpy(words_.data(), message.data(), message.size()),
                   kj::arrayPtr(reinterpret_cast<const capnp::word*>(words_.data()), words_.size()))) {}
    wire::Envelope::Reader envelope() { return reader_.getRoot<wire::Envelope>(); }

private:
    std::vector<std::uint64_t> words_;
    capnp::FlatArrayMessageReader reader_;
};

std::string string_of(capnp::Data::Reader data) { return {reinterpret_cast<const char*>(data.begin()), data.size()}; }

// One of everything.
struct Everything {
    std::array<LabelDescription, 2> labels{LabelDescription{"role", "web"}, LabelDescription{"zone", ""}};
    std::array<EventDescription, 2> events{
        EventDescription{"cpu-clock", Kind::kSample, 1, 0, 999, true, false, true, true, "ns", ""},
        EventDescription{"sched:sched_switch", Kind::kTracepoint, 2, 0x1234567890, 1, false, true, false, false,
                         "events", "name: sched_switch\nID: 316\n", 0, "attr"}};
    std::array<std::string_view, 3> command_line{"perfleet-collector", "-a", ""};
    std::array<ImageOfferDescription, 1> offers{
        ImageOfferDescription{bytes_of("0123456789abcdefghij"), protocol::ImageType::kKernelSymbols, 5'000'000}};
    HelloDescription hello{
        SessionId{0x0102030405060708, 0x1112131415161718},
        TargetId{0xfeedULL << 40},
        "board-7",
        "aarch64",
        labels,
        events,
        {"monotonic", 1'000'000'000, 1},
        {Ticks{11}, UtcNs{-12}, 13},
        {"6.1.0", "Some CPU", "0x41", 3, 4, 1U << 20, command_line, 4'096, bytes_of("page"), bytes_of("event")},
        offers,
        "0.1.0",
        Seq{42}};
};

std::vector<std::byte> written(const HelloDescription& hello) {
    std::vector<std::byte> message(hello_size_bytes_max(hello));
    const auto size = write_hello(hello, message);
    EXPECT_TRUE(size.ok());
    message.resize(size.ok() ? *size : 0);
    return message;
}

TEST(Hello, IsReadByTheLibraryFieldByField) {
    const Everything all;
    Read read(written(all.hello));
    EXPECT_EQ(read.envelope().getProtocolVersion(), protocol::kVersion);
    ASSERT_EQ(read.envelope().which(), wire::Envelope::HELLO);
    const auto hello = read.envelope().getHello();
    EXPECT_EQ(hello.getSession().getHigh(), 0x0102030405060708U);
    EXPECT_EQ(hello.getSession().getLow(), 0x1112131415161718U);
    EXPECT_EQ(hello.getTargetId(), 0xfeedULL << 40);
    EXPECT_STREQ(hello.getTargetName().cStr(), "board-7");
    EXPECT_STREQ(hello.getArchitecture().cStr(), "aarch64");
    ASSERT_EQ(hello.getLabels().size(), 2U);
    EXPECT_STREQ(hello.getLabels()[0].getKey().cStr(), "role");
    EXPECT_STREQ(hello.getLabels()[0].getValue().cStr(), "web");
    EXPECT_STREQ(hello.getLabels()[1].getKey().cStr(), "zone");
    EXPECT_STREQ(hello.getLabels()[1].getValue().cStr(), "");
    ASSERT_EQ(hello.getEvents().size(), 2U);
    const auto clock_event = hello.getEvents()[0];
    EXPECT_STREQ(clock_event.getName().cStr(), "cpu-clock");
    EXPECT_EQ(clock_event.getKind(), 1);
    EXPECT_EQ(clock_event.getPerfType(), 1U);
    EXPECT_EQ(clock_event.getPerfConfig(), 0U);
    EXPECT_EQ(clock_event.getPeriod(), 999U);
    EXPECT_TRUE(clock_event.getIsFrequency());
    EXPECT_FALSE(clock_event.getExcludeKernel());
    EXPECT_TRUE(clock_event.getExcludeUser());
    EXPECT_TRUE(clock_event.getCallchain());
    EXPECT_STREQ(clock_event.getUnit().cStr(), "ns");
    EXPECT_STREQ(clock_event.getFormat().cStr(), "");
    const auto tracepoint = hello.getEvents()[1];
    EXPECT_EQ(tracepoint.getKind(), 2);
    EXPECT_EQ(tracepoint.getPerfConfig(), 0x1234567890U);
    EXPECT_FALSE(tracepoint.getIsFrequency());
    EXPECT_TRUE(tracepoint.getExcludeKernel());
    EXPECT_FALSE(tracepoint.getExcludeUser());
    EXPECT_FALSE(tracepoint.getCallchain());
    EXPECT_EQ(tracepoint.getGroup(), 0U);
    EXPECT_STREQ(tracepoint.getFormat().cStr(), "name: sched_switch\nID: 316\n");
    EXPECT_EQ(string_of(tracepoint.getAttr()), "attr");
    EXPECT_EQ(string_of(clock_event.getAttr()), "");
    EXPECT_STREQ(hello.getClock().getName().cStr(), "monotonic");
    EXPECT_EQ(hello.getClock().getTicksPerSecond(), 1'000'000'000U);
    EXPECT_EQ(hello.getClock().getLinuxClockid(), 1);
    EXPECT_EQ(hello.getStartPoint().getTicks(), 11U);
    EXPECT_EQ(hello.getStartPoint().getUtcNs(), -12);
    EXPECT_EQ(hello.getStartPoint().getUncertaintyNs(), 13U);
    const auto host = hello.getHost();
    EXPECT_STREQ(host.getOsRelease().cStr(), "6.1.0");
    EXPECT_STREQ(host.getCpuDescription().cStr(), "Some CPU");
    EXPECT_STREQ(host.getCpuId().cStr(), "0x41");
    EXPECT_EQ(host.getCpusOnline(), 3U);
    EXPECT_EQ(host.getCpusConfigured(), 4U);
    EXPECT_EQ(host.getMemoryKib(), 1U << 20);
    ASSERT_EQ(host.getCommandLine().size(), 3U);
    EXPECT_STREQ(host.getCommandLine()[0].cStr(), "perfleet-collector");
    EXPECT_STREQ(host.getCommandLine()[1].cStr(), "-a");
    EXPECT_STREQ(host.getCommandLine()[2].cStr(), "");
    EXPECT_EQ(host.getPageSizeBytes(), 4'096U);
    EXPECT_EQ(string_of(host.getTracingHeaderPage()), "page");
    EXPECT_EQ(string_of(host.getTracingHeaderEvent()), "event");
    ASSERT_EQ(hello.getImageOffers().size(), 1U);
    EXPECT_EQ(string_of(hello.getImageOffers()[0].getBuildId()), "0123456789abcdefghij");
    EXPECT_EQ(hello.getImageOffers()[0].getType(), 1);
    EXPECT_EQ(hello.getImageOffers()[0].getSizeBytes(), 5'000'000U);
    EXPECT_STREQ(hello.getCollectorVersion().cStr(), "0.1.0");
    EXPECT_EQ(hello.getOldestRetainedSeq(), 42U);
}

TEST(Hello, TellsTheGroupsOfEvents) {
    Everything all;
    all.events[1].group = 0xfedc;
    Read read(written(all.hello));
    const auto events = read.envelope().getHello().getEvents();
    EXPECT_EQ(events[0].getGroup(), 0U);
    EXPECT_EQ(events[1].getGroup(), 0xfedcU);
    EXPECT_EQ(events[1].getKind(), 2U);
    EXPECT_EQ(events[1].getPerfType(), 2U);
    EXPECT_TRUE(events[1].getExcludeKernel());
}

TEST(Hello, TheSizeBoundHoldsForManyAndEmptyParts) {
    HelloDescription hello;
    EXPECT_GE(hello_size_bytes_max(hello), written(hello).size());
    const std::vector<EventDescription> events(limits::kEventsMax, EventDescription{.name = "e", .unit = "u"});
    const std::vector<LabelDescription> labels(limits::kLabelsMax, LabelDescription{"k", "v"});
    const std::vector<std::string_view> command_line(1'000, "x");
    const std::vector<ImageOfferDescription> offers(100, ImageOfferDescription{bytes_of("b"), {}, 1});
    hello.events = events;
    hello.labels = labels;
    hello.host.command_line = command_line;
    hello.image_offers = offers;
    Read read(written(hello));
    EXPECT_EQ(read.envelope().getHello().getEvents().size(), limits::kEventsMax);
    EXPECT_EQ(read.envelope().getHello().getHost().getCommandLine().size(), 1'000U);
}

TEST(Hello, RefusesWhatIsPastItsLimits) {
    const std::vector<EventDescription> events(limits::kEventsMax + 1);
    HelloDescription hello;
    hello.events = events;
    std::vector<std::byte> out(2U << 20);
    EXPECT_EQ(write_hello(hello, out).error().code, ErrorCode::kTooLarge);
    const std::string large(limits::kHelloSizeBytesMax, 'x');
    hello.events = {};
    hello.host.tracing_header_page = bytes_of(large);
    EXPECT_EQ(write_hello(hello, out).error().code, ErrorCode::kTooLarge);
    EXPECT_EQ(write_hello(HelloDescription{}, std::span{out}.first(100)).error().code, ErrorCode::kFull);
}

TEST(Hello, ItsStateIsSetWithoutTouchingTheRest) {
    const Everything all;
    auto message = written(all.hello);
    ASSERT_TRUE(set_hello_state(message, SessionId{5, 6}, Seq{7}).ok());
    Read read(message);
    const auto hello = read.envelope().getHello();
    EXPECT_EQ(hello.getSession().getHigh(), 5U);
    EXPECT_EQ(hello.getSession().getLow(), 6U);
    EXPECT_EQ(hello.getOldestRetainedSeq(), 7U);
    EXPECT_EQ(hello.getTargetId(), 0xfeedULL << 40);
    ASSERT_TRUE(set_hello_state(message, all.hello.session, Seq{42}).ok());
    EXPECT_EQ(message, written(all.hello));
    EXPECT_FALSE(set_oldest_retained_seq(message, Seq{1}).ok());
}

TEST(Hello, ItsIdentityIsTakenOutWithoutTouchingTheRest) {
    const Everything all;
    auto message = written(all.hello);
    ASSERT_TRUE(clear_hello_identity(message));
    Read read(message);
    const auto hello = read.envelope().getHello();
    EXPECT_EQ(hello.getTargetId(), 0U);
    EXPECT_FALSE(hello.hasTargetName());
    EXPECT_STREQ(hello.getArchitecture().cStr(), "aarch64");
    EXPECT_FALSE(hello.hasLabels());
    EXPECT_EQ(hello.getEvents().size(), 2U);
    EXPECT_EQ(hello.getOldestRetainedSeq(), 42U);
    for (std::size_t size = 0; size < message.size(); ++size) {
        EXPECT_FALSE(clear_hello_identity(std::span{message}.first(size)));
    }
}

TEST(Hello, TellsTheClockOnlyWhereItIsMeantTo) {
    Everything all;
    auto silent = written(all.hello);
    ASSERT_TRUE(set_hello_state(silent, SessionId{5, 6}, Seq{7}, Ticks{8}).ok());
    EXPECT_EQ(Read(silent).envelope().getHello().getClockTicks(), 0U);
    all.hello.tells_clock = true;
    auto message = written(all.hello);
    ASSERT_TRUE(set_hello_state(message, SessionId{5, 6}, Seq{7}, Ticks{8}).ok());
    EXPECT_EQ(Read(message).envelope().getHello().getClockTicks(), 8U);
    EXPECT_EQ(Read(message).envelope().getHello().getOldestRetainedSeq(), 7U);
    EXPECT_EQ(Read(message).envelope().getHello().getTargetId(), 0xfeedULL << 40);
}

constexpr std::array kCounts{CountEntry{{Kind::kSample, EventNumber{0}}, CountName::kProduced, 1ULL << 40},
                             CountEntry{{Kind::kTask, kNoEvent}, CountName::kLostKernelRing, 2}};
constexpr std::array kDropped{SeqRange{Seq{3}, Seq{4}}, SeqRange{Seq{8}, Seq{8}}};
constexpr ByeDescription kBye{SessionId{1, 2}, Seq{99}, kCounts, kDropped, ClockPoint{Ticks{4}, UtcNs{5}, 6}};

TEST(Bye, IsReadByTheLibraryFieldByField) {
    std::vector<std::byte> out(kByeSizeBytesMax);
    const auto size = write_bye(kBye, out);
    ASSERT_TRUE(size.ok());
    Read read(std::span{out}.first(*size));
    ASSERT_EQ(read.envelope().which(), wire::Envelope::BYE);
    const auto bye = read.envelope().getBye();
    EXPECT_EQ(bye.getSession().getHigh(), 1U);
    EXPECT_EQ(bye.getSession().getLow(), 2U);
    EXPECT_EQ(bye.getLastSeq(), 99U);
    ASSERT_EQ(bye.getCounts().size(), 2U);
    EXPECT_EQ(bye.getCounts()[0].getKind(), 1);
    EXPECT_EQ(bye.getCounts()[0].getEvent(), 0);
    EXPECT_EQ(bye.getCounts()[0].getName(), 1);
    EXPECT_EQ(bye.getCounts()[0].getValue(), 1ULL << 40);
    EXPECT_EQ(bye.getCounts()[1].getEvent(), 0xffff);
    ASSERT_EQ(bye.getDropped().size(), 2U);
    EXPECT_EQ(bye.getDropped()[0].getFirst(), 3U);
    EXPECT_EQ(bye.getDropped()[0].getLast(), 4U);
    EXPECT_EQ(bye.getDropped()[1].getFirst(), 8U);
    EXPECT_EQ(bye.getEndPoint().getTicks(), 4U);
    EXPECT_EQ(bye.getEndPoint().getUtcNs(), 5);
    EXPECT_EQ(bye.getEndPoint().getUncertaintyNs(), 6U);
}

TEST(Bye, TheLargestOneFitsItsBound) {
    const std::vector<CountEntry> counts(limits::kCountsMax, kCounts[0]);
    const std::vector<SeqRange> dropped(limits::kDroppedRangesMax, kDropped[0]);
    std::vector<std::byte> out(kByeSizeBytesMax);
    EXPECT_TRUE(write_bye({SessionId{1, 2}, Seq{1}, counts, dropped, {}}, out).ok());
    const std::vector<CountEntry> too_many(limits::kCountsMax + 1, kCounts[0]);
    EXPECT_EQ(write_bye({SessionId{1, 2}, Seq{1}, too_many, dropped, {}}, out).error().code, ErrorCode::kTooLarge);
}

TEST(ImageChunkMessage, IsReadByTheLibraryFieldByField) {
    const std::string content(1'000, 'x');
    std::vector<std::byte> out(content.size() + kImageChunkOverheadBytes);
    const auto size =
        write_image_chunk({SessionId{1, 2}, bytes_of("0123456789abcdefghij"), 2, 5'000, 3'000, bytes_of(content)}, out);
    ASSERT_TRUE(size.ok());
    Read read(std::span{out}.first(*size));
    ASSERT_EQ(read.envelope().which(), wire::Envelope::IMAGE);
    const auto image = read.envelope().getImage();
    EXPECT_EQ(image.getSession().getHigh(), 1U);
    EXPECT_EQ(image.getSession().getLow(), 2U);
    EXPECT_EQ(string_of(image.getBuildId()), "0123456789abcdefghij");
    EXPECT_EQ(image.getType(), 2);
    EXPECT_EQ(image.getSizeBytes(), 5'000U);
    EXPECT_EQ(image.getOffset(), 3'000U);
    EXPECT_EQ(string_of(image.getBytes()), content);
}

// -- the bytes themselves, which must not change ----------------------------------------------------------------------

std::string hex_of(std::span<const std::byte> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        text += kDigits[static_cast<unsigned>(bytes[i]) >> 4];
        text += kDigits[static_cast<unsigned>(bytes[i]) & 15];
        text += i % 8 == 7 ? '\n' : ' ';
    }
    return text;
}

void expect_golden(std::span<const std::byte> message, const std::string& name) {
    const std::string path = "wire/" + name + ".hex";
    EXPECT_EQ(hex_of(message), golden_file(path)) << path << ": a word a line, as they travel";
}

TEST(GoldenBytes, OfHello) {
    const Everything all;
    expect_golden(written(all.hello), "hello");
}

TEST(GoldenBytes, OfAHelloThatTellsTheClock) {
    Everything all;
    all.hello.tells_clock = true;
    auto message = written(all.hello);
    ASSERT_TRUE(set_hello_state(message, all.hello.session, all.hello.oldest_retained, Ticks{0x1234'5678'9abc}).ok());
    expect_golden(message, "hello_with_clock");
}

// A batch of these samples, one stack and one image.
std::vector<std::byte> sealed_batch(std::span<const std::array<std::uint64_t, 6>> samples) {
    std::vector<std::uint64_t> values(BatchBuilder::values_count(100, 14, 4));
    std::vector<std::byte> bytes(100);
    const auto builder = std::make_unique<BatchBuilder>(values, bytes, 100);
    for (const auto& sample : samples) {
        EXPECT_TRUE(builder->append({{Kind::kSample, EventNumber{0}}, Ticks{sample[0]}, std::span{sample}.subspan(1)}));
    }
    const std::uint64_t stack[] = {1, 0, 0, 0x4321};
    EXPECT_TRUE(builder->append({{Kind::kStack, kNoEvent}, Ticks{}, stack}));
    const std::uint64_t image[] = {0, image_flags::kFileOffset, 0, 8'192, 4, 8};
    const std::span<const std::byte> image_bytes[] = {bytes_of("\x01\x02\x03\x04"), bytes_of("/bin/cat")};
    EXPECT_TRUE(builder->append({{Kind::kImage, kNoEvent}, Ticks{}, image, image_bytes}));
    std::vector<std::byte> out(builder->sealed_size_bytes_max(2, 2, 1));
    const ClockPoint points[] = {{Ticks{1'000}, UtcNs{1'700'000'000'000'000'000}, 50}};
    const auto size = builder->seal({SessionId{1, 2}, Seq{5}, EpochNumber{1}, BucketNumber{472'222}}, Ticks{1'300},
                                    kCounts, kDropped, points, out);
    EXPECT_TRUE(size.ok());
    EXPECT_TRUE(set_oldest_retained_seq(std::span{out}.first(*size), Seq{4}).ok());
    out.resize(*size);
    return out;
}

TEST(GoldenBytes, OfBatch) {
    // Two cpus in turn; one time in eight is far off, and three processes come back again and again.
    std::vector<std::array<std::uint64_t, 6>> samples;
    for (std::uint64_t i = 0; i < 64; ++i) {
        const std::uint64_t pid = 4'000'000'000 - 77'777 * (i / 6 % 3);
        samples.push_back({1'000'000 + 1'000 * i + i % 5 + (i % 8 == 7 ? 500'000 : 0), i % 2, pid, pid + 1, 1, 1'000});
    }
    expect_golden(sealed_batch(samples), "batch");
}

TEST(GoldenBytes, OfBye) {
    std::vector<std::byte> out(kByeSizeBytesMax);
    const auto size = write_bye(kBye, out);
    ASSERT_TRUE(size.ok());
    expect_golden(std::span{out}.first(*size), "bye");
}

TEST(GoldenBytes, OfImageOffers) {
    const std::array offers{OfferedImage{bytes_of("0123456789abcdefghij"), 1, 5'000'000},
                            OfferedImage{bytes_of("another"), 2, 12}};
    std::vector<std::byte> out(1'000);
    const auto size = write_image_offers({1, 2}, offers, out);
    ASSERT_TRUE(size.ok());
    expect_golden(std::span{out}.first(*size), "image_offers");
}

TEST(GoldenBytes, OfControlled) {
    std::vector<std::byte> out(kControlledSizeBytesMax);
    const auto size = write_controlled({1, 2}, 7, {protocol::ControlOutcome::kOutOfRange, "100 to 1000 us"}, out);
    ASSERT_TRUE(size.ok());
    expect_golden(std::span{out}.first(*size), "controlled");
}

TEST(Controlled, HasRoomForItsLongestReasonAndCutsALongerOne) {
    const std::string reason(2 * kControlReasonSizeBytesMax, 'x');
    std::vector<std::byte> out(kControlledSizeBytesMax);
    const auto size = write_controlled({1, 2}, 7, {protocol::ControlOutcome::kFailed, reason}, out);
    ASSERT_TRUE(size.ok());
    out.resize(*size);
    Read read(out);
    ASSERT_EQ(read.envelope().which(), wire::Envelope::CONTROLLED);
    const auto controlled = read.envelope().getControlled();
    EXPECT_EQ(controlled.getSession().getLow(), 2U);
    EXPECT_EQ(controlled.getNumber(), 7U);
    EXPECT_EQ(controlled.getOutcome(), static_cast<std::uint16_t>(protocol::ControlOutcome::kFailed));
    EXPECT_EQ(controlled.getReason().size(), kControlReasonSizeBytesMax);
}

TEST(GoldenBytes, OfImage) {
    std::vector<std::byte> out(1'000);
    const auto size =
        write_image_chunk({SessionId{1, 2}, bytes_of("build-id"), 1, 5'000, 4'096, bytes_of("content")}, out);
    ASSERT_TRUE(size.ok());
    expect_golden(std::span{out}.first(*size), "image");
}

}  // namespace
}  // namespace perfleet::messages_test
