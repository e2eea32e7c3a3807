#include "schemas/columns/bit_width.h"
#include "schemas/columns/bit_writer.h"
#include "schemas/columns/codec.h"
#include "schemas/columns/dictionary_column.h"
#include "schemas/columns/encode_workspace.h"
#include "schemas/columns/patched_chunk.h"

namespace perfleet {
namespace {

constexpr std::size_t kChunkValues = 256;

// Frame of reference over values given by index, so that deltas need no second array.
template <class ValueAt>
struct FrameOfReference {
    std::size_t value_count;
    ValueAt value_at;

    struct Chunk {
        std::uint64_t minimum;
        unsigned width;
    };

    [[nodiscard]] Chunk chunk(std::size_t begin, std::size_t end) const {
        std::uint64_t minimum = value_at(begin);
        std::uint64_t maximum = minimum;
        for (std::size_t i = begin + 1; i < end; ++i) {
            const std::uint64_t value = value_at(i);
            minimum = value < minimum ? value : minimum;
            maximum = value > maximum ? value : maximum;
        }
        return {minimum, bit_width(maximum - minimum)};
    }

    [[nodiscard]] std::size_t chunk_size_bytes(std::size_t begin) const {
        const std::size_t end = begin + kChunkValues < value_count ? begin + kChunkValues : value_count;
        const Chunk part = chunk(begin, end);
        return 1 + varint_size_bytes(part.minimum) + packed_size_bytes(end - begin, part.width);
    }

    // Exact up to `enough`; above that only some larger number, since another codec is used then.
    [[nodiscard]] std::size_t size_bytes(std::size_t enough) const {
        std::size_t size = 0;
        for (std::size_t begin = 0; begin < value_count && size <= enough; begin += kChunkValues) {
            size += chunk_size_bytes(begin);
        }
        return size;
    }

    void write(BitWriter& writer) const {
        for (std::size_t begin = 0; begin < value_count; begin += kChunkValues) {
            const std::size_t end = begin + kChunkValues < value_count ? begin + kChunkValues : value_count;
            const Chunk part = chunk(begin, end);
            writer.byte(static_cast<std::uint8_t>(part.width));
            writer.varint(part.minimum);
            if (part.width > 0) {
                writer.packed(end - begin, part.width,
                              [&](std::size_t i) { return value_at(begin + i) - part.minimum; });
            }
        }
    }
};
struct Runs {
    std::span<const std::uint64_t> values;

    // Visits (length, value) of each run while the visitor returns true.
    template <class Visit>
    void each(Visit visit) const {
        for (std::size_t begin = 0; begin < values.size();) {
            std::size_t end = begin + 1;
            while (end < values.size() && values[end] == values[begin]) {
                ++end;
            }
            if (!visit(end - begin, values[begin])) {
                return;
            }
            begin = end;
        }
    }

    // Exact up to `enough`, as FrameOfReference::size_bytes().
    [[nodiscard]] std::size_t size_bytes(std::size_t enough) const {
        std::size_t size = 0;
        each([&](std::size_t length, std::uint64_t value) {
            size += varint_size_bytes(length) + varint_size_bytes(value);
            return size <= enough;
        });
        return size;
    }
};

struct Patched {
    std::span<const std::uint64_t> values;
    PatchedChunkBuffer differences;

    [[nodiscard]] std::span<const std::uint64_t> chunk(std::size_t begin) const {
        return values.subspan(begin, values.size() - begin < kChunkValues ? values.size() - begin : kChunkValues);
    }

    [[nodiscard]] std::size_t chunk_size_bytes(std::size_t begin) const {
        return patched_chunk_size_bytes(chunk(begin), begin == 0 ? 0 : values[begin - 1], differences);
    }

    // False: it needs more than `size_bytes_max`, and the bytes written so far are invalid.
    [[nodiscard]] bool write(BitWriter& writer, std::size_t size_bytes_max) const {
        const std::byte* const start = writer.at();
        std::uint64_t previous = 0;
        for (std::size_t begin = 0; begin < values.size(); begin += kChunkValues) {
            const auto written = static_cast<std::size_t>(writer.at() - start);
            if (!write_patched_chunk(chunk(begin), previous, size_bytes_max - written, differences, writer)) {
                return false;
            }
        }
        return true;
    }
};

std::size_t run_count_of(std::span<const std::uint64_t> values) {
    std::size_t count = 1;
    for (std::size_t i = 1; i < values.size(); ++i) {
        count += values[i] != values[i - 1] ? 1 : 0;
    }
    return count;
}

// Encodes a column with the codecs that every reader knows.
class ClassicEncoder {
public:
    explicit ClassicEncoder(std::span<const std::uint64_t> values) : values_{values} {}

    [[nodiscard]] Encoded encode(std::byte* out) const {
        // The order plain, delta, runs decides between equal sizes.
        const std::size_t plain_size = plain_.size_bytes(~std::size_t{0});
        const std::size_t runs_size = Runs{values_}.size_bytes(plain_size);
        const std::size_t least_size = plain_size < runs_size ? plain_size : runs_size;
        const std::size_t delta_size = varint_size_bytes(values_[0]) + delta_.size_bytes(least_size);
        if (plain_size <= delta_size && plain_size <= runs_size) {
            return write(Codec::kFrameOfReference, out);
        }
        return write(delta_size <= runs_size ? Codec::kDelta : Codec::kRuns, out);
    }

    [[nodiscard]] Encoded write(Codec codec, std::byte* out) const {
        BitWriter writer{out};
        if (codec == Codec::kFrameOfReference) {
            plain_.write(writer);
        } else if (codec == Codec::kDelta) {
            writer.varint(values_[0]);
            delta_.write(writer);
        } else {
            Runs{values_}.each([&](std::size_t length, std::uint64_t value) {
                writer.varint(length);
                writer.varint(value);
                return true;
            });
        }
        return {codec, static_cast<std::size_t>(writer.at() - out)};
    }

    // Sizes of the chunk of up to 256 values that begins at this index.
    [[nodiscard]] std::size_t plain_chunk_size_bytes(std::size_t begin) const { return plain_.chunk_size_bytes(begin); }
    [[nodiscard]] std::size_t delta_chunk_size_bytes(std::size_t begin) const {
        return begin < values_.size() - 1 ? delta_.chunk_size_bytes(begin) : 0;
    }

private:
    struct ValueAt {
        const std::uint64_t* values;
        std::uint64_t operator()(std::size_t i) const { return values[i]; }
    };
    struct DifferenceAt {
        const std::uint64_t* values;
        std::uint64_t operator()(std::size_t i) const { return zigzag(values[i + 1] - values[i]); }
    };

    std::span<const std::uint64_t> values_;
    FrameOfReference<ValueAt> plain_{values_.size(), {values_.data()}};
    FrameOfReference<DifferenceAt> delta_{values_.size() - 1, {values_.data()}};
};

// Encodes a column with any codec. For long columns the choice is based on a part of the chunks: computing the size of
// all of them in three ways would cost more than writing them.
class ColumnEncoder {
public:
    ColumnEncoder(std::span<const std::uint64_t> values, std::byte* out, const EncodeWorkspace& workspace)
        : values_{values}, out_{out}, workspace_{workspace}, run_count_{run_count_of(values)} {}

    [[nodiscard]] Encoded encode() const {
        if (run_count_ * 2 > values_.size()) {
            return write_dictionary(write_chunks(choose_chunks().codec));
        }
        Encoded best;
        if (Runs{values_}.size_bytes(room()) <= room()) {
            best = classic_.write(Codec::kRuns, out_);
        }
        best = write_dictionary(best);
        if (best.size_bytes != 0 && best.size_bytes * 8 <= values_.size() * kFewBits && values_.size() > kJudgedWhole) {
            return best;
        }
        const Encoded chunks = choose_chunks();
        return best.size_bytes == 0 || chunks.size_bytes < best.size_bytes ? write_chunks(chunks.codec) : best;
    }

private:
    static constexpr std::size_t kJudgedWhole = 4 * kChunkValues;
    static constexpr std::size_t kJudgedStep = 8;  // every 8th chunk of longer columns is measured
    static constexpr std::size_t kFewBits = 2;     // per value: below that, chunks would gain little

    [[nodiscard]] std::size_t room() const { return encoded_size_bytes_max(values_.size()); }

    // The smallest codec for chunks, and its estimated size.
    [[nodiscard]] Encoded choose_chunks() const {
        const std::size_t step = values_.size() <= kJudgedWhole ? 1 : kJudgedStep;
        std::size_t plain = 0;
        std::size_t delta = varint_size_bytes(values_[0]);
        std::size_t patched = 0;
        std::size_t judged = 0;
        const std::size_t chunk_count = (values_.size() + kChunkValues - 1) / kChunkValues;
        for (std::size_t i = 0; i < chunk_count; i += step, ++judged) {
            plain += classic_.plain_chunk_size_bytes(i * kChunkValues);
            delta += classic_.delta_chunk_size_bytes(i * kChunkValues);
            patched += Patched{values_, workspace_.differences}.chunk_size_bytes(i * kChunkValues);
        }
        // The order plain, delta, patched decides between equal sizes.
        Encoded least{Codec::kFrameOfReference, plain};
        least = delta < least.size_bytes ? Encoded{Codec::kDelta, delta} : least;
        least = patched < least.size_bytes ? Encoded{Codec::kPatched, patched} : least;
        return {least.codec, least.size_bytes * chunk_count / judged};
    }

    [[nodiscard]] Encoded write_chunks(Codec codec) const {
        if (codec != Codec::kPatched) {
            return classic_.write(codec, out_);
        }
        BitWriter writer{out_};
        if (!Patched{values_, workspace_.differences}.write(writer, room())) {
            return classic_.write(Codec::kFrameOfReference, out_);
        }
        return {codec, static_cast<std::size_t>(writer.at() - out_)};
    }

    // Replaces the written encoding by a dictionary if that is smaller. Both must fit into the buffer for a moment: if
    // one of them doesn't shrink a column much, the other gains little.
    [[nodiscard]] Encoded write_dictionary(Encoded best) const {
        const std::size_t free = room() - best.size_bytes;
        const std::size_t size_max = best.size_bytes == 0 || free < best.size_bytes ? free : best.size_bytes - 1;
        std::byte* const at = out_ + best.size_bytes;
        BitWriter writer{at};
        if (!write_dictionary_column(values_, size_max, workspace_, writer)) {
            return best;
        }
        const auto size = static_cast<std::size_t>(writer.at() - at);
        std::memmove(out_, at, size);
        return {Codec::kDictionary, size};
    }

    std::span<const std::uint64_t> values_;
    std::byte* out_;
    const EncodeWorkspace& workspace_;
    std::size_t run_count_;
    ClassicEncoder classic_{values_};
};

}  // namespace

Checked<Encoded> encode_integers(std::span<const std::uint64_t> values, std::span<std::byte> out,
                                 std::span<std::uint64_t> workspace, Codec newest) {
    if (out.size() < encoded_size_bytes_max(values.size()) ||
        workspace.size() < encode_workspace_words(values.size())) {
        return Fault{ErrorCode::kFull, out.size(), values.size()};
    }
    if (values.empty()) {
        return Encoded{Codec::kFrameOfReference, 0};
    }
    if (newest < kNewestCodec) {
        return ClassicEncoder{values}.encode(out.data());
    }
    return ColumnEncoder{values, out.data(), EncodeWorkspace{workspace, values.size()}}.encode();
}

}  // namespace perfleet
