#include "exporters/perf-data/record_writer.h"

#include <gtest/gtest.h>

#include <string>

namespace perfleet {
namespace {

class TextSink : public ExportSink {
public:
    Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        if (text.size() + bytes.size() > room) {
            return Error{ErrorCode::kFull, "no room"};
        }
        EXPECT_EQ(offset, first + text.size());
        text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return Done{};
    }
    std::string text;
    std::uint64_t first = 0;
    std::size_t room = ~std::size_t{0};
};

TEST(RecordWriter, PadsRecordsAndNamesToEightBytes) {
    TextSink sink;
    PerfRecordWriter writer{sink, 0};
    writer.begin(perf::RecordType::kComm, 0x1234);
    writer.put_name("12345678");
    writer.put(std::uint8_t{0xff});
    writer.end();
    writer.flush();
    EXPECT_EQ(sink.text, std::string("\x03\0\0\0\x34\x12\x20\0"
                                     "12345678\0\0\0\0\0\0\0\0"
                                     "\xff\0\0\0\0\0\0\0",
                                     32));
}

TEST(RecordWriter, WritesInOrderFromItsOffsetOn) {
    TextSink sink;
    sink.first = 104;
    PerfRecordWriter writer{sink, 104};
    const std::string large(3 * PerfRecordWriter::kBufferSizeBytes + 5, 'x');
    writer.put_raw(large);
    EXPECT_EQ(writer.offset(), 104 + large.size());
    writer.flush();
    EXPECT_EQ(sink.text, large);
}

TEST(RecordWriter, KeepsTheFirstErrorAndGoesOnCounting) {
    TextSink sink;
    sink.room = 10;
    PerfRecordWriter writer{sink, 0};
    writer.put_raw(std::string(100, 'x'));
    writer.flush();
    ASSERT_TRUE(writer.error());
    EXPECT_EQ(writer.error()->code, ErrorCode::kFull);
    sink.room = ~std::size_t{0};
    writer.put_raw("more");
    writer.flush();
    EXPECT_EQ(writer.offset(), 104U);
    EXPECT_EQ(sink.text, "");
}

}  // namespace
}  // namespace perfleet
