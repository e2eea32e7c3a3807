#include "schemas/columns/codec.h"
#include "schemas/columns/visit_column.h"

namespace perfleet {
namespace {

// Writes decoded values to the caller's array.
class ArraySink {
public:
    explicit ArraySink(std::span<std::uint64_t> values) : rest_{values} {}

    [[nodiscard]] std::span<std::uint64_t> room(std::size_t count) const { return rest_.first(count); }
    void values(std::span<const std::uint64_t> values) { rest_ = rest_.subspan(values.size()); }
    void run(std::uint64_t length, std::uint64_t value) {
        std::uint64_t* into = rest_.data();
        for (std::uint64_t i = 0; i < length; ++i) {
            into[i] = value;
        }
        rest_ = rest_.subspan(length);
    }

private:
    std::span<std::uint64_t> rest_;
};

}  // namespace

Checked<Done> decode_integers(Codec codec, std::span<const std::byte> bytes_untrusted,
                              std::span<std::uint64_t> values) {
    ArraySink sink{values};
    return ColumnReader{bytes_untrusted, values.size(), sink}.read(codec);
}

}  // namespace perfleet
