// Byte offsets of the fields of schemas/wire/collector.capnp, as the Cap'n Proto compiler chose them, for code that
// can't use its library. A test compares every line with the library.
//
// Freestanding. The layout of a struct: its data section (8-byte words, fields little-endian), then its pointers.
#pragma once

#include <cstdint>

namespace perfleet::wire_layout {

struct Shape {
    std::uint16_t data_words = 0;
    std::uint16_t pointer_count = 0;
};

// A number in the data section, by its byte offset.
template <class Integer>
struct Field {
    std::uint32_t offset_bytes = 0;
};

// A Bool in the data section, by its bit offset.
struct BitField {
    std::uint32_t offset_bits = 0;
};

// A pointer, by its index in the pointer section.
struct PointerField {
    std::uint16_t index = 0;
};

// Number of each message in Envelope's union.
enum class MessageTag : std::uint16_t {
    kHello = 0,
    kWelcome = 1,
    kHelloAgain = 2,
    kBatch = 3,
    kAck = 4,
    kRefused = 5,
    kBye = 6,
    kControl = 7,
    kNeedImage = 8,
    kImage = 9,
    kControlled = 10,
    kImageOffers = 11,
    kElsewhere = 12,
};

namespace envelope {
inline constexpr Shape kShape{1, 1};
inline constexpr Field<std::uint16_t> kProtocolVersion{0};
inline constexpr Field<std::uint16_t> kTag{2};
inline constexpr Field<std::uint32_t> kChecksum{4};
inline constexpr PointerField kBody{0};
}  // namespace envelope

namespace session_id {
inline constexpr Shape kShape{2, 0};
inline constexpr Field<std::uint64_t> kHigh{0};
inline constexpr Field<std::uint64_t> kLow{8};
}  // namespace session_id

namespace label {
inline constexpr Shape kShape{0, 2};
inline constexpr PointerField kKey{0};
inline constexpr PointerField kValue{1};
}  // namespace label

namespace clock_point {
inline constexpr Shape kShape{3, 0};
inline constexpr Field<std::uint64_t> kTicks{0};
inline constexpr Field<std::int64_t> kUtcNs{8};
inline constexpr Field<std::uint64_t> kUncertaintyNs{16};
}  // namespace clock_point

namespace clock {
inline constexpr Shape kShape{2, 1};
inline constexpr PointerField kName{0};
inline constexpr Field<std::uint64_t> kTicksPerSecond{0};
inline constexpr Field<std::int32_t> kLinuxClockid{8};
}  // namespace clock

namespace event {
inline constexpr Shape kShape{3, 4};
inline constexpr PointerField kName{0};
inline constexpr PointerField kUnit{1};
inline constexpr PointerField kFormat{2};
inline constexpr PointerField kAttr{3};
inline constexpr Field<std::uint8_t> kKind{0};
inline constexpr BitField kIsFrequency{8};
inline constexpr BitField kExcludeKernel{9};
inline constexpr BitField kExcludeUser{10};
inline constexpr BitField kCallchain{11};
inline constexpr Field<std::uint32_t> kPerfType{4};
inline constexpr Field<std::uint64_t> kPerfConfig{8};
inline constexpr Field<std::uint64_t> kPeriod{16};
inline constexpr Field<std::uint16_t> kGroup{2};
}  // namespace event

namespace host {
inline constexpr Shape kShape{3, 6};
inline constexpr PointerField kOsRelease{0};
inline constexpr PointerField kCpuDescription{1};
inline constexpr PointerField kCpuId{2};
inline constexpr PointerField kCommandLine{3};
inline constexpr PointerField kTracingHeaderPage{4};
inline constexpr PointerField kTracingHeaderEvent{5};
inline constexpr Field<std::uint32_t> kCpusOnline{0};
inline constexpr Field<std::uint32_t> kCpusConfigured{4};
inline constexpr Field<std::uint64_t> kMemoryKib{8};
inline constexpr Field<std::uint32_t> kPageSizeBytes{16};
}  // namespace host

namespace image_offer {
inline constexpr Shape kShape{2, 1};
inline constexpr PointerField kBuildId{0};
inline constexpr Field<std::uint16_t> kType{0};
inline constexpr Field<std::uint64_t> kSizeBytes{8};
}  // namespace image_offer

namespace hello {
inline constexpr Shape kShape{3, 10};
inline constexpr Shape kShapeWithoutClockTicks{2, 10};  // of a Hello without them
inline constexpr Field<std::uint64_t> kTargetId{0};
inline constexpr Field<std::uint64_t> kOldestRetainedSeq{8};
inline constexpr Field<std::uint64_t> kClockTicks{16};
inline constexpr PointerField kSession{0};
inline constexpr PointerField kTargetName{1};
inline constexpr PointerField kArchitecture{2};
inline constexpr PointerField kLabels{3};
inline constexpr PointerField kEvents{4};
inline constexpr PointerField kClock{5};
inline constexpr PointerField kStartPoint{6};
inline constexpr PointerField kHost{7};
inline constexpr PointerField kImageOffers{8};
inline constexpr PointerField kCollectorVersion{9};
}  // namespace hello

namespace welcome {
inline constexpr Shape kShape{5, 1};
inline constexpr Field<std::int64_t> kUtcNs{0};
inline constexpr Field<std::uint64_t> kIncarnation{8};
inline constexpr Field<std::uint64_t> kPrefixSeq{16};
inline constexpr Field<std::uint64_t> kSendLimitSeq{24};
inline constexpr Field<std::uint32_t> kBatchSizeBytesMax{32};
inline constexpr Field<std::uint32_t> kBucketDurationS{36};
inline constexpr PointerField kSession{0};
}  // namespace welcome

namespace hello_again {
inline constexpr Shape kShape{1, 0};
inline constexpr Field<std::uint64_t> kIncarnation{0};
}  // namespace hello_again

namespace column {
inline constexpr Shape kShape{1, 1};
inline constexpr Field<std::uint16_t> kId{0};
inline constexpr Field<std::uint8_t> kCodec{2};
inline constexpr PointerField kBytes{0};
}  // namespace column

namespace series_rows {
inline constexpr Shape kShape{3, 1};
inline constexpr Field<std::uint8_t> kKind{0};
inline constexpr Field<std::uint16_t> kEvent{2};
inline constexpr Field<std::uint32_t> kRowCount{4};
inline constexpr Field<std::uint64_t> kFirstTicks{8};
inline constexpr Field<std::uint64_t> kLastTicks{16};
inline constexpr PointerField kColumns{0};
}  // namespace series_rows

namespace count_entry {
inline constexpr Shape kShape{2, 0};
inline constexpr Field<std::uint8_t> kKind{0};
inline constexpr Field<std::uint16_t> kEvent{2};
inline constexpr Field<std::uint16_t> kName{4};
inline constexpr Field<std::uint64_t> kValue{8};
}  // namespace count_entry

namespace seq_range {
inline constexpr Shape kShape{2, 0};
inline constexpr Field<std::uint64_t> kFirst{0};
inline constexpr Field<std::uint64_t> kLast{8};
}  // namespace seq_range

namespace batch {
inline constexpr Shape kShape{4, 5};
inline constexpr Field<std::uint64_t> kSeq{0};
inline constexpr Field<std::uint64_t> kOldestRetainedSeq{8};
inline constexpr Field<std::uint32_t> kEpoch{16};
inline constexpr Field<std::uint32_t> kBucket{20};
inline constexpr Field<std::uint32_t> kSeal{24};
inline constexpr PointerField kSession{0};
inline constexpr PointerField kSeries{1};
inline constexpr PointerField kCounts{2};
inline constexpr PointerField kDropped{3};
inline constexpr PointerField kClockPoints{4};
}  // namespace batch

namespace ack {
inline constexpr Shape kShape{4, 1};
inline constexpr Field<std::uint64_t> kPrefixSeq{0};
inline constexpr Field<std::uint64_t> kSendLimitSeq{8};
inline constexpr Field<std::uint64_t> kIncarnation{16};
inline constexpr BitField kFinished{192};
inline constexpr PointerField kSession{0};
}  // namespace ack

namespace refused {
inline constexpr Shape kShape{2, 2};
inline constexpr Field<std::uint64_t> kSeq{0};
inline constexpr Field<std::uint16_t> kReason{8};
inline constexpr PointerField kSession{0};
inline constexpr PointerField kMessage{1};
}  // namespace refused

namespace bye {
inline constexpr Shape kShape{1, 4};
inline constexpr Field<std::uint64_t> kLastSeq{0};
inline constexpr PointerField kSession{0};
inline constexpr PointerField kCounts{1};
inline constexpr PointerField kDropped{2};
inline constexpr PointerField kEndPoint{3};
}  // namespace bye

namespace control {
inline constexpr Shape kShape{4, 1};
inline constexpr Field<std::uint16_t> kCommand{0};
inline constexpr Field<std::uint16_t> kEvent{2};
inline constexpr Field<std::uint64_t> kValue{8};
inline constexpr Field<std::uint64_t> kNumber{16};
inline constexpr Field<std::uint64_t> kIncarnation{24};
inline constexpr PointerField kSession{0};
}  // namespace control

namespace controlled {
inline constexpr Shape kShape{2, 2};
inline constexpr Field<std::uint64_t> kNumber{0};
inline constexpr Field<std::uint16_t> kOutcome{8};
inline constexpr PointerField kSession{0};
inline constexpr PointerField kReason{1};
}  // namespace controlled

namespace image_offers {
inline constexpr Shape kShape{0, 2};
inline constexpr PointerField kSession{0};
inline constexpr PointerField kOffers{1};
}  // namespace image_offers

namespace elsewhere {
inline constexpr Shape kShape{0, 3};
inline constexpr PointerField kSession{0};
inline constexpr PointerField kEndpoint{1};
inline constexpr PointerField kPublicKey{2};
}  // namespace elsewhere

namespace need_image {
inline constexpr Shape kShape{1, 1};
inline constexpr Field<std::uint64_t> kOffset{0};
inline constexpr PointerField kBuildId{0};
}  // namespace need_image

namespace image {
inline constexpr Shape kShape{3, 3};
inline constexpr Field<std::uint16_t> kType{0};
inline constexpr Field<std::uint64_t> kSizeBytes{8};
inline constexpr Field<std::uint64_t> kOffset{16};
inline constexpr PointerField kSession{0};
inline constexpr PointerField kBuildId{1};
inline constexpr PointerField kBytes{2};
}  // namespace image

}  // namespace perfleet::wire_layout
