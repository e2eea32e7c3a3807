// Holds each line of wire_layout.h against the schema itself.
#include "target-collector/message/wire_layout.h"

#include <capnp/schema.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "collector.capnp.h"

namespace perfleet::wire_layout_test {
namespace {

namespace layout = wire_layout;

unsigned bits_of(capnp::schema::Type::Reader type) {
    switch (type.which()) {
        case capnp::schema::Type::BOOL: return 1;
        case capnp::schema::Type::INT8:
        case capnp::schema::Type::UINT8: return 8;
        case capnp::schema::Type::INT16:
        case capnp::schema::Type::UINT16: return 16;
        case capnp::schema::Type::INT32:
        case capnp::schema::Type::UINT32: return 32;
        case capnp::schema::Type::INT64:
        case capnp::schema::Type::UINT64: return 64;
        default: return 0;  // a pointer
    }
}

bool is_signed(capnp::schema::Type::Reader type) {
    return type.isInt8() || type.isInt16() || type.isInt32() || type.isInt64();
}

// One struct: every field is asked for, or done() warns.
class Struct {
public:
    template <class Type>
    static Struct of(layout::Shape shape) {
        return Struct{capnp::Schema::from<Type>().asStruct(), shape};
    }

    template <class Integer>
    Struct& has(const char* name, layout::Field<Integer> field) {
        const auto slot = slot_of(name);
        EXPECT_EQ(bits_of(slot.getType()), sizeof(Integer) * 8) << name;
        EXPECT_EQ(is_signed(slot.getType()), std::is_signed_v<Integer>) << name;
        EXPECT_EQ(slot.getOffset() * sizeof(Integer), field.offset_bytes) << name;
        return *this;
    }
    Struct& has(const char* name, layout::BitField field) {
        const auto slot = slot_of(name);
        EXPECT_EQ(bits_of(slot.getType()), 1U) << name;
        EXPECT_EQ(slot.getOffset(), field.offset_bits) << name;
        return *this;
    }
    Struct& has(const char* name, layout::PointerField field) {
        const auto slot = slot_of(name);
        EXPECT_EQ(bits_of(slot.getType()), 0U) << name;
        EXPECT_EQ(slot.getOffset(), field.index) << name;
        return *this;
    }
    void done() {
        for (const auto field : schema_.getFields()) {
            EXPECT_TRUE(asked_for_.contains(field.getProto().getName().cStr()))
                << schema_.getShortDisplayName().cStr() << '.' << field.getProto().getName().cStr();
        }
    }

private:
    Struct(capnp::StructSchema schema, layout::Shape shape) : schema_{schema} {
        const auto node = schema.getProto().getStruct();
        EXPECT_EQ(node.getDataWordCount(), shape.data_words) << schema.getShortDisplayName().cStr();
        EXPECT_EQ(node.getPointerCount(), shape.pointer_count) << schema.getShortDisplayName().cStr();
    }
    capnp::schema::Field::Slot::Reader slot_of(const char* name) {
        asked_for_.insert(name);
        return schema_.getFieldByName(name).getProto().getSlot();
    }

    capnp::StructSchema schema_;
    std::set<std::string> asked_for_;
};

TEST(WireLayout, IsThatOfTheSchema) {
    Struct::of<wire::SessionId>(layout::session_id::kShape)
        .has("high", layout::session_id::kHigh)
        .has("low", layout::session_id::kLow)
        .done();
    Struct::of<wire::Label>(layout::label::kShape)
        .has("key", layout::label::kKey)
        .has("value", layout::label::kValue)
        .done();
    Struct::of<wire::ClockPoint>(layout::clock_point::kShape)
        .has("ticks", layout::clock_point::kTicks)
        .has("utcNs", layout::clock_point::kUtcNs)
        .has("uncertaintyNs", layout::clock_point::kUncertaintyNs)
        .done();
    Struct::of<wire::Clock>(layout::clock::kShape)
        .has("name", layout::clock::kName)
        .has("ticksPerSecond", layout::clock::kTicksPerSecond)
        .has("linuxClockid", layout::clock::kLinuxClockid)
        .done();
    Struct::of<wire::Event>(layout::event::kShape)
        .has("name", layout::event::kName)
        .has("kind", layout::event::kKind)
        .has("perfType", layout::event::kPerfType)
        .has("perfConfig", layout::event::kPerfConfig)
        .has("period", layout::event::kPeriod)
        .has("isFrequency", layout::event::kIsFrequency)
        .has("excludeKernel", layout::event::kExcludeKernel)
        .has("excludeUser", layout::event::kExcludeUser)
        .has("callchain", layout::event::kCallchain)
        .has("unit", layout::event::kUnit)
        .has("format", layout::event::kFormat)
        .has("group", layout::event::kGroup)
        .has("attr", layout::event::kAttr)
        .done();
    Struct::of<wire::Host>(layout::host::kShape)
        .has("osRelease", layout::host::kOsRelease)
        .has("cpuDescription", layout::host::kCpuDescription)
        .has("cpuId", layout::host::kCpuId)
        .has("cpusOnline", layout::host::kCpusOnline)
        .has("cpusConfigured", layout::host::kCpusConfigured)
        .has("memoryKib", layout::host::kMemoryKib)
        .has("commandLine", layout::host::kCommandLine)
        .has("pageSizeBytes", layout::host::kPageSizeBytes)
        .has("tracingHeaderPage", layout::host::kTracingHeaderPage)
        .has("tracingHeaderEvent", layout::host::kTracingHeaderEvent)
        .done();
    Struct::of<wire::ImageOffer>(layout::image_offer::kShape)
        .has("buildId", layout::image_offer::kBuildId)
        .has("type", layout::image_offer::kType)
        .has("sizeBytes", layout::image_offer::kSizeBytes)
        .done();
    Struct::of<wire::Hello>(layout::hello::kShape)
        .has("session", layout::hello::kSession)
        .has("targetId", layout::hello::kTargetId)
        .has("targetName", layout::hello::kTargetName)
        .has("architecture", layout::hello::kArchitecture)
        .has("labels", layout::hello::kLabels)
        .has("events", layout::hello::kEvents)
        .has("clock", layout::hello::kClock)
        .has("startPoint", layout::hello::kStartPoint)
        .has("host", layout::hello::kHost)
        .has("imageOffers", layout::hello::kImageOffers)
        .has("collectorVersion", layout::hello::kCollectorVersion)
        .has("oldestRetainedSeq", layout::hello::kOldestRetainedSeq)
        .has("clockTicks", layout::hello::kClockTicks)
        .done();
    Struct::of<wire::Welcome>(layout::welcome::kShape)
        .has("session", layout::welcome::kSession)
        .has("utcNs", layout::welcome::kUtcNs)
        .has("incarnation", layout::welcome::kIncarnation)
        .has("prefixSeq", layout::welcome::kPrefixSeq)
        .has("sendLimitSeq", layout::welcome::kSendLimitSeq)
        .has("batchSizeBytesMax", layout::welcome::kBatchSizeBytesMax)
        .has("bucketDurationS", layout::welcome::kBucketDurationS)
        .done();
    Struct::of<wire::HelloAgain>(layout::hello_again::kShape)
        .has("incarnation", layout::hello_again::kIncarnation)
        .done();
    Struct::of<wire::Column>(layout::column::kShape)
        .has("id", layout::column::kId)
        .has("codec", layout::column::kCodec)
        .has("bytes", layout::column::kBytes)
        .done();
    Struct::of<wire::SeriesRows>(layout::series_rows::kShape)
        .has("kind", layout::series_rows::kKind)
        .has("event", layout::series_rows::kEvent)
        .has("rowCount", layout::series_rows::kRowCount)
        .has("firstTicks", layout::series_rows::kFirstTicks)
        .has("lastTicks", layout::series_rows::kLastTicks)
        .has("columns", layout::series_rows::kColumns)
        .done();
    Struct::of<wire::CountEntry>(layout::count_entry::kShape)
        .has("kind", layout::count_entry::kKind)
        .has("event", layout::count_entry::kEvent)
        .has("name", layout::count_entry::kName)
        .has("value", layout::count_entry::kValue)
        .done();
    Struct::of<wire::SeqRange>(layout::seq_range::kShape)
        .has("first", layout::seq_range::kFirst)
        .has("last", layout::seq_range::kLast)
        .done();
    Struct::of<wire::Batch>(layout::batch::kShape)
        .has("session", layout::batch::kSession)
        .has("seq", layout::batch::kSeq)
        .has("oldestRetainedSeq", layout::batch::kOldestRetainedSeq)
        .has("epoch", layout::batch::kEpoch)
        .has("bucket", layout::batch::kBucket)
        .has("seal", layout::batch::kSeal)
        .has("series", layout::batch::kSeries)
        .has("counts", layout::batch::kCounts)
        .has("dropped", layout::batch::kDropped)
        .has("clockPoints", layout::batch::kClockPoints)
        .done();
    Struct::of<wire::Ack>(layout::ack::kShape)
        .has("session", layout::ack::kSession)
        .has("prefixSeq", layout::ack::kPrefixSeq)
        .has("sendLimitSeq", layout::ack::kSendLimitSeq)
        .has("incarnation", layout::ack::kIncarnation)
        .has("finished", layout::ack::kFinished)
        .done();
    Struct::of<wire::Refused>(layout::refused::kShape)
        .has("session", layout::refused::kSession)
        .has("seq", layout::refused::kSeq)
        .has("reason", layout::refused::kReason)
        .has("message", layout::refused::kMessage)
        .done();
    Struct::of<wire::Bye>(layout::bye::kShape)
        .has("session", layout::bye::kSession)
        .has("lastSeq", layout::bye::kLastSeq)
        .has("counts", layout::bye::kCounts)
        .has("dropped", layout::bye::kDropped)
        .has("endPoint", layout::bye::kEndPoint)
        .done();
    Struct::of<wire::Control>(layout::control::kShape)
        .has("session", layout::control::kSession)
        .has("command", layout::control::kCommand)
        .has("event", layout::control::kEvent)
        .has("value", layout::control::kValue)
        .has("number", layout::control::kNumber)
        .has("incarnation", layout::control::kIncarnation)
        .done();
    Struct::of<wire::Controlled>(layout::controlled::kShape)
        .has("session", layout::controlled::kSession)
        .has("number", layout::controlled::kNumber)
        .has("outcome", layout::controlled::kOutcome)
        .has("reason", layout::controlled::kReason)
        .done();
    Struct::of<wire::ImageOffers>(layout::image_offers::kShape)
        .has("session", layout::image_offers::kSession)
        .has("offers", layout::image_offers::kOffers)
        .done();
    Struct::of<wire::Elsewhere>(layout::elsewhere::kShape)
        .has("session", layout::elsewhere::kSession)
        .has("endpoint", layout::elsewhere::kEndpoint)
        .has("publicKey", layout::elsewhere::kPublicKey)
        .done();
    Struct::of<wire::NeedImage>(layout::need_image::kShape)
        .has("buildId", layout::need_image::kBuildId)
        .has("offset", layout::need_image::kOffset)
        .done();
    Struct::of<wire::Image>(layout::image::kShape)
        .has("session", layout::image::kSession)
        .has("buildId", layout::image::kBuildId)
        .has("type", layout::image::kType)
        .has("sizeBytes", layout::image::kSizeBytes)
        .has("offset", layout::image::kOffset)
        .has("bytes", layout::image::kBytes)
        .done();
}

TEST(WireLayout, TheEnvelopeIsThatOfTheSchema) {
    const auto schema = capnp::Schema::from<wire::Envelope>().asStruct();
    const auto node = schema.getProto().getStruct();
    EXPECT_EQ(node.getDataWordCount(), layout::envelope::kShape.data_words);
    EXPECT_EQ(node.getPointerCount(), layout::envelope::kShape.pointer_count);
    EXPECT_EQ(node.getDiscriminantOffset() * 2, layout::envelope::kTag.offset_bytes);
    EXPECT_EQ(schema.getFieldByName("protocolVersion").getProto().getSlot().getOffset() * 2,
              layout::envelope::kProtocolVersion.offset_bytes);
    const std::pair<const char*, layout::MessageTag> tags[] = {{"hello", layout::MessageTag::kHello},
                                                               {"welcome", layout::MessageTag::kWelcome},
                                                               {"helloAgain", layout::MessageTag::kHelloAgain},
                                                               {"batch", layout::MessageTag::kBatch},
                                                               {"ack", layout::MessageTag::kAck},
                                                               {"refused", layout::MessageTag::kRefused},
                                                               {"bye", layout::MessageTag::kBye},
                                                               {"control", layout::MessageTag::kControl},
                                                               {"needImage", layout::MessageTag::kNeedImage},
                                                               {"image", layout::MessageTag::kImage},
                                                               {"controlled", layout::MessageTag::kControlled},
                                                               {"imageOffers", layout::MessageTag::kImageOffers},
                                                               {"elsewhere", layout::MessageTag::kElsewhere}};
    EXPECT_EQ(schema.getUnionFields().size(), std::size(tags));
    for (const auto& [name, tag] : tags) {
        const auto field = schema.getFieldByName(name).getProto();
        EXPECT_EQ(field.getDiscriminantValue(), static_cast<std::uint16_t>(tag)) << name;
        EXPECT_EQ(field.getSlot().getOffset(), layout::envelope::kBody.index) << name;
    }
}

}  // namespace
}  // namespace perfleet::wire_layout_test
