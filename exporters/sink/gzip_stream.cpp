#include "exporters/sink/gzip_stream.h"

#include <zlib.h>

#include <array>
#include <new>

namespace perfleet {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // zlib's way to ask for a gzip header
constexpr int kMemoryLevel = 8;
constexpr std::size_t kChunkSizeBytes = 64U << 10U;

}  // namespace

class GzipStream::Deflate {
public:
    Deflate() {
        if (::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits, kMemoryLevel,
                           Z_DEFAULT_STRATEGY) != Z_OK) {
            throw std::bad_alloc{};
        }
    }
    ~Deflate() { ::deflateEnd(&stream); }
    Deflate(const Deflate&) = delete;
    Deflate& operator=(const Deflate&) = delete;

    z_stream stream{};
    std::array<std::byte, kChunkSizeBytes> chunk{};
};

GzipStream::GzipStream(ExportSink& sink) : sink_{sink}, deflate_{std::make_unique<Deflate>()} {}
GzipStream::~GzipStream() = default;

Result<Done> GzipStream::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::string_view part = bytes.substr(0, kChunkSizeBytes);
        bytes.remove_prefix(part.size());
        PERFLEET_TRY(run(part, false));
    }
    return Done{};
}

Result<Done> GzipStream::finish() { return run({}, true); }

Result<Done> GzipStream::run(std::string_view bytes, bool is_last) {
    z_stream& stream = deflate_->stream;
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib only reads there
    stream.avail_in = static_cast<uInt>(bytes.size());
    do {
        stream.next_out = reinterpret_cast<Bytef*>(deflate_->chunk.data());
        stream.avail_out = kChunkSizeBytes;
        ::deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
        const std::size_t size = kChunkSizeBytes - stream.avail_out;
        if (size != 0) {
            PERFLEET_TRY(sink_.write_at(offset_, std::span{deflate_->chunk}.first(size)));
            offset_ += size;
        }
    } while (stream.avail_out == 0);
    return Done{};
}

}  // namespace perfleet
