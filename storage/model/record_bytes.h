// Writing and bounded reading of the bytes of a record: varints (LEB128), fixed integers, strings, lists, and tables:
// lists of which each field is a column. rows() and column() are the same for both, so that one description of a table
// writes it and reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/series.h"
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

    // Before the columns of a table.
    template <class List>
    void rows(const List& values, std::size_t /*max*/ = 0) {
        varint(values.size());
    }
    // `field` gives a pointer to an integer of a row.
    template <class List, class Field>
    void column(const List& values, Field field) {
        column(values, field, [](const auto&) { return 0; });
    }
    // Told by how much it is above `base`, another field of the row.
    template <class List, class Field, class Base>
    void column(const List& values, Field field, Base base) {
        std::vector<std::uint64_t> integers;
        integers.reserve(values.size());
        for (const auto& value : values) {
            integers.push_back(static_cast<std::uint64_t>(*field(value)) - static_cast<std::uint64_t>(base(value)));
        }
        column(integers);
    }
    // In the codec that takes least; nothing where there are no values.
    void column(std::span<const std::uint64_t> values);

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

    template <class List>
    void rows(List& values, std::size_t max) {
        values.resize(static_cast<std::size_t>(varint(max)));
    }
    template <class List, class Field>
    void column(List& values, Field field) {
        column(values, field, [](const auto&) { return 0; });
    }
    template <class List, class Field, class Base>
    void column(List& values, Field field, Base base) {
        std::size_t i = 0;
        for (const std::uint64_t above : column(values.size())) {
            auto& here = *field(values[i]);
            const std::uint64_t value = sum_of(static_cast<std::uint64_t>(base(values[i++])), above);
            here = static_cast<std::remove_reference_t<decltype(here)>>(value);
            if (static_cast<std::uint64_t>(here) != value) {
                fail(ErrorCode::kInvalid, "a value out of its column's range");
            }
        }
    }
    // One value a row: zeros after a fault.
    [[nodiscard]] std::vector<std::uint64_t> column(std::size_t row_count);

    // Fails when it takes more than 64 bits.
    [[nodiscard]] std::uint64_t sum_of(std::uint64_t a, std::uint64_t b);

    void fail(ErrorCode code, const std::string& what);
    [[nodiscard]] bool has_failed() const { return failed_; }

    // Ok when nothing failed and nothing is left over.
    [[nodiscard]] Result<Done> end();

private:
    [[nodiscard]] std::string_view sized_bytes();

    std::string_view what_;  // a literal
    std::string_view all_;
    std::string_view rest_;
    bool failed_ = false;
    Error error_;
};

}  // namespace perfleet
