// Writes the bytes of records, and reads them within bounds: varints (LEB128), fixed integers, strings, lists, and
// tables (lists of which each field is a column). Writer and reader have the same fields(), each(), rows() and
// column(), so that one description of a record does both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "schemas/columns/seal.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/series.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

// The version of every record. Stored: a new layout of any record needs a new version.
inline constexpr std::uint8_t kRecordVersion = 1;

// Fields by their types, of RecordWriter and RecordReader alike: one byte and fixed, or a varint (signed: zigzag), a
// text (varint size, the bytes), a list, or a struct's members one after the other.
template <class Io>
class RecordFields {
public:
    template <class... Values>
    void fields(Values&... values) {
        (field(values), ...);
    }
    template <class Value>
    void field(Value& value) {
        using Type = std::remove_const_t<Value>;
        if constexpr (std::is_same_v<Type, Series>) {
            fields(value.kind, value.event);  // the kind may be unknown to this build
        } else if constexpr (std::is_same_v<Type, CountEntry>) {
            fields(value.series, value.name, value.value);
        } else if constexpr (std::is_same_v<Type, SeqRange>) {
            fields(value.first, value.last);
        } else if constexpr (std::is_same_v<Type, ClockPoint>) {
            fields(value.ticks, value.utc_ns, value.uncertainty_ns);
        } else if constexpr (std::is_same_v<Type, SessionId>) {
            fields(value.high, value.low);
        } else if constexpr (std::is_arithmetic_v<Type> || std::is_enum_v<Type> || std::is_same_v<Type, std::string>) {
            io().scalar(value);
        } else if constexpr (requires { value.second; }) {
            fields(value.first, value.second);
        } else if constexpr (requires { value.begin(); }) {
            each(value, [this](auto& one) { field(one); });
        } else {
            field(value.value);  // an id or a time
        }
    }
    template <class List, class Describe>
    void each(List& values, Describe describe) {
        io().list(values, describe);
    }

private:
    [[nodiscard]] Io& io() { return static_cast<Io&>(*this); }
};

// Starts with the version; finish() adds the checksum.
class RecordWriter : public RecordFields<RecordWriter> {
public:
    RecordWriter();

    void fixed_u8(std::uint8_t value);
    void fixed_u32(std::uint32_t value);
    void varint(std::uint64_t value);
    void signed_varint(std::int64_t value);  // zigzag
    void text(std::string_view value);

    template <class Scalar>
    void scalar(const Scalar& value) {
        if constexpr (std::is_same_v<Scalar, std::string>) {
            text(value);
        } else if constexpr (sizeof(Scalar) == 1) {
            fixed_u8(static_cast<std::uint8_t>(value));
        } else if constexpr (std::is_signed_v<Scalar>) {
            signed_varint(value);
        } else {
            varint(static_cast<std::uint64_t>(value));
        }
    }
    // Flags as the bits of a byte, from the lowest.
    template <class... Flags>
    void flags(Flags... flags) {
        unsigned byte = 0;
        unsigned bit = 1;
        ((byte |= flags ? bit : 0U, bit <<= 1U), ...);
        fixed_u8(static_cast<std::uint8_t>(byte));
    }

    template <class List, class Write>
    void list(const List& values, Write write) {
        varint(values.size());
        for (const auto& value : values) {
            write(value);
        }
    }

    // Call it before the columns of a table.
    template <class List>
    void rows(const List& values, std::size_t /*max*/ = 0) {
        varint(values.size());
    }
    // `field` returns a pointer to an integer of a row.
    template <class List, class Field>
    void column(const List& values, Field field) {
        column(values, field, [](const auto&) { return 0; });
    }
    // Stores the difference from `base`, another field of the row that isn't greater.
    template <class List, class Field, class Base>
    void column(const List& values, Field field, Base base) {
        std::vector<std::uint64_t> integers;
        integers.reserve(values.size());
        for (const auto& value : values) {
            integers.push_back(static_cast<std::uint64_t>(*field(value)) - static_cast<std::uint64_t>(base(value)));
        }
        column(integers);
    }
    // Uses the codec that gives the fewest bytes; writes nothing if there are no values.
    void column(std::span<const std::uint64_t> values);

    [[nodiscard]] std::string finish();

private:
    std::string bytes_;
};

// The constructor checks checksum and version. After a fault everything reads as zero, and end() returns the first
// fault.
class RecordReader : public RecordFields<RecordReader> {
public:
    // Refuses other versions; `what` names the record in errors.
    RecordReader(std::string_view bytes_untrusted, std::string_view what);

    [[nodiscard]] std::uint8_t fixed_u8();
    [[nodiscard]] std::uint32_t fixed_u32();
    [[nodiscard]] std::uint64_t varint(std::uint64_t max = ~0ULL);
    [[nodiscard]] std::int64_t signed_varint();
    [[nodiscard]] std::string text();

    template <class Scalar>
    void scalar(Scalar& value) {
        if constexpr (std::is_same_v<Scalar, std::string>) {
            value = text();
        } else if constexpr (sizeof(Scalar) == 1) {
            value = static_cast<Scalar>(fixed_u8());
        } else if constexpr (std::is_signed_v<Scalar>) {
            value = static_cast<Scalar>(signed_varint());
        } else {
            value = static_cast<Scalar>(varint(~0ULL >> (64 - 8 * sizeof(Scalar))));
        }
    }
    template <class... Flags>
    void flags(Flags&... flags) {
        const unsigned byte = fixed_u8();
        unsigned bit = 1;
        ((flags = (byte & bit) != 0, bit <<= 1U), ...);
    }

    // Every element takes at least one byte, so a list never has more elements than bytes that are left. `read` sets an
    // element, which isn't in the list yet.
    template <class List, class Read>
    void list(List& values, Read read) {
        const std::uint64_t count = varint(rest_.size());
        values.clear();
        for (std::uint64_t i = 0; i < count && !failed_; ++i) {
            typename List::value_type value{};
            read(value);
            values.push_back(std::move(value));
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
    // One value per row; zeros after a fault.
    [[nodiscard]] std::vector<std::uint64_t> column(std::size_t row_count);

    // Fails if the sum exceeds 64 bits.
    [[nodiscard]] std::uint64_t sum_of(std::uint64_t a, std::uint64_t b);

    void fail(ErrorCode code, const std::string& what);
    [[nodiscard]] bool has_failed() const { return failed_; }

    // Ok if nothing failed and no bytes are left.
    [[nodiscard]] Result<Done> end();

private:
    [[nodiscard]] std::string_view sized_bytes();

    std::string_view what_;  // string literal
    std::string_view all_;
    std::string_view rest_;
    bool failed_ = false;
    Error error_;
};

}  // namespace perfleet
