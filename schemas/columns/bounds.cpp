#include "schemas/columns/bounds.h"

#include <array>

#include "schemas/columns/bit_reader.h"
#include "schemas/columns/dictionary_column.h"
#include "schemas/columns/visit_column.h"

namespace perfleet {
namespace {

void add(std::span<const std::uint64_t> values, ValueBounds& bounds) {
    std::uint64_t min = bounds.min;
    std::uint64_t max = bounds.max;
    for (const std::uint64_t value : values) {
        min = value < min ? value : min;
        max = value > max ? value : max;
    }
    bounds = {min, max};
}

// The bounds of the dictionary values that rows use; each value is compared once, however often it occurs.
Checked<ValueBounds> bounds_of_dictionary(std::span<const std::byte> bytes_untrusted, std::size_t value_count) {
    BitReader reader{bytes_untrusted};
    ValueBounds bounds;
    if (value_count != 0) {
        std::array<bool, kDictionaryValuesMax> used{};
        DictionaryRuns runs{reader, value_count};
        while (runs.next()) {
            for (const std::uint64_t index : runs.indices()) {
                used[index] = true;
            }
        }
        for (std::size_t i = 0; i < runs.values().size(); ++i) {
            if (used[i]) {
                add(runs.values().subspan(i, 1), bounds);
            }
        }
    }
    if (reader.failed()) {
        return reader.fault();
    }
    if (reader.left_bytes() != 0) {
        return Fault{ErrorCode::kInvalid, bytes_untrusted.size() - reader.left_bytes(), reader.left_bytes()};
    }
    return bounds;
}

// Keeps the bounds of the decoded values.
class BoundsSink {
public:
    std::span<std::uint64_t> room(std::size_t count) { return std::span{chunk_}.first(count); }
    void values(std::span<const std::uint64_t> values) { add(values, bounds_); }
    void run(std::uint64_t /*length*/, std::uint64_t value) { add({&value, 1}, bounds_); }
    [[nodiscard]] const ValueBounds& bounds() const { return bounds_; }

protected:
    ValueBounds bounds_;

private:
    std::array<std::uint64_t, kPatchedChunkValues> chunk_;
};

class LimitedBoundsSink : public BoundsSink {
public:
    explicit LimitedBoundsSink(ValueBounds limits) : limits_{limits} {}

    bool passes_over(std::uint64_t min, std::uint64_t max) {
        if (min < limits_.min || max > limits_.max) {
            return false;
        }
        add(std::array{min, max}, bounds_);
        return true;
    }

private:
    ValueBounds limits_;
};

template <class Sink>
Checked<ValueBounds> bounds_by(Codec codec, std::span<const std::byte> bytes_untrusted, std::size_t value_count,
                               Sink& sink) {
    if (codec == Codec::kDictionary) {
        return bounds_of_dictionary(bytes_untrusted, value_count);
    }
    PERFLEET_TRY(ColumnReader{bytes_untrusted, value_count, sink}.read(codec));
    return sink.bounds();
}

}  // namespace

Checked<ValueBounds> bounds_of_integers(Codec codec, std::span<const std::byte> bytes_untrusted,
                                        std::size_t value_count) {
    BoundsSink sink;
    return bounds_by(codec, bytes_untrusted, value_count, sink);
}

Checked<ValueBounds> bounds_within(Codec codec, std::span<const std::byte> bytes_untrusted, std::size_t value_count,
                                   ValueBounds limits) {
    LimitedBoundsSink sink{limits};
    return bounds_by(codec, bytes_untrusted, value_count, sink);
}

}  // namespace perfleet
