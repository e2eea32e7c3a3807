// Writing and bounded reading of the bytes of a record: varints (LEB128), fixed integers, strings, lists.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/kind.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// Of every record. Stored: another layout of any of them makes another one.
inline constexpr std::uint8_t kRecordVersion = 1;

// Starts with the version; finish() adds the checksum.
class RecordWriter {
public:
    RecordWriter();

    void fixed_u8(std::uint8_t value);
    void fixed_u32(std::uint32_t value);
    void varint(std::uint64_t value);
    void signed_varint(std::int64_t value);  // zigzag
    void text(std::string_view value);       // varint size, the bytes
    void series(Series value);
    void entry(const CountEntry& value);
    void seq_range(const SeqRange& value);
    void clock_point(const ClockPoint& value);

    template <class List, class Write>
    void list(const List& values, Write write) {
        varint(values.size());
        for (const auto& value : values) {
            write(value);
        }
    }

    [[nodiscard]] std::string finish();

private:
    std::string bytes_;
};

// Checks checksum and version at once; after a fault everything reads as zero and end() tells the first fault.
class RecordReader {
public:
    // Refuses other versions by name.
    RecordReader(std::string_view bytes_untrusted, std::string_view what);

    [[nodiscard]] std::uint8_t fixed_u8();
    [[nodiscard]] std::uint32_t fixed_u32();
    [[nodiscard]] std::uint64_t varint(std::uint64_t max = ~0ULL);
    [[nodiscard]] std::int64_t signed_varint();
    [[nodiscard]] std::string text();
    [[nodiscard]] Series series();
    [[nodiscard]] CountEntry entry();
    [[nodiscard]] SeqRange seq_range();
    [[nodiscard]] ClockPoint clock_point();

    // Every element takes at least one byte, so a list is never longer than what is left.
    template <class List, class Read>
    void list(List& values, Read read) {
        const std::uint64_t count = varint(rest_.size());
        values.clear();
        for (std::uint64_t i = 0; i < count && !failed_; ++i) {
            values.push_back(read());
        }
    }

    void fail(ErrorCode code, const std::string& what);
    [[nodiscard]] bool has_failed() const { return failed_; }

    // Ok when nothing failed and nothing is left over.
    [[nodiscard]] Result<Done> end();

private:
    std::string_view what_;  // a literal
    std::string_view all_;
    std::string_view rest_;
    bool failed_ = false;
    Error error_;
};

// The sum; the reader fails when it takes more than 64 bits.
[[nodiscard]] std::uint64_t sum_of(RecordReader& reader, std::uint64_t a, std::uint64_t b);

}  // namespace perfleet
