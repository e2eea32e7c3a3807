#include "schemas/gzip/gzip.h"

#include <zlib.h>

#include <array>

namespace perfleet {
namespace {

constexpr int kGzip = 16 + MAX_WBITS;  // of a gzip member, not of a zlib stream
constexpr std::size_t kPieceSizeBytes = 64U << 10;

void set_input(z_stream& stream, std::string_view bytes) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
}

// Runs zlib once; the output that it made is appended.
template <class Run>
int step(z_stream& stream, std::string& output, Run run) {
    std::array<char, kPieceSizeBytes> piece;
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = piece.size();
    const int status = run(stream);
    output.append(piece.data(), piece.size() - stream.avail_out);
    return status;
}

}  // namespace

struct GzipBody::State {
    z_stream stream{};

    State() {
        constexpr int kMemoryLevel = 8;
        if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
            throw std::bad_alloc{};
        }
    }
    ~State() { deflateEnd(&stream); }
    State(const State&) = delete;
    State& operator=(const State&) = delete;
};

GzipBody::GzipBody() : state_{std::make_unique<State>()} {}
GzipBody::~GzipBody() = default;

std::string GzipBody::add(std::string_view bytes, bool is_last) {
    std::string output;
    set_input(state_->stream, bytes);
    do {
        (void)step(state_->stream, output,
                   [&](z_stream& stream) { return deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH); });
    } while (state_->stream.avail_out == 0);
    return output;
}

Result<std::string> gunzip(std::string_view bytes, std::size_t size_bytes_max) {
    struct Inflate {
        z_stream stream{};
        ~Inflate() { inflateEnd(&stream); }
    } inflating;
    if (inflateInit2(&inflating.stream, kGzip) != Z_OK) {
        throw std::bad_alloc{};
    }
    set_input(inflating.stream, bytes);
    std::string output;
    for (;;) {
        const int status =
            step(inflating.stream, output, [](z_stream& stream) { return inflate(&stream, Z_NO_FLUSH); });
        if (output.size() > size_bytes_max) {
            return Error{ErrorCode::kTooLarge,
                         "the body unpacks to more than " + std::to_string(size_bytes_max) + " bytes"};
        }
        if (status == Z_STREAM_END && inflating.stream.avail_in == 0) {
            return output;
        }
        if (status == Z_STREAM_END) {  // another member follows
            (void)inflateReset(&inflating.stream);
        } else if (status != Z_OK || (inflating.stream.avail_in == 0 && inflating.stream.avail_out != 0)) {
            return Error{ErrorCode::kInvalid, "the body isn't a whole gzip file"};
        }
    }
}

}  // namespace perfleet
