// Writes records of a perf.data file in sequence, buffered by kBufferSizeBytes, to an ExportSink.
//
// One thread. After an error of the sink all further output is dropped; callers check error() from time to time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "query-engine/service/query.h"
#include "schemas/perf/perf_event.h"
#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

class PerfRecordWriter {
public:
    static constexpr std::size_t kBufferSizeBytes = 1U << 20;
    static constexpr std::size_t kRecordSizeBytesMax = 65'528;  // its size is a multiple of 8 in 16 bits

    // Writes at file positions from `offset` on.
    PerfRecordWriter(ExportSink& sink, std::uint64_t offset);

    // A record: begin(), then its fields, then end(), which pads it to 8 bytes. Fields that would make it larger than
    // kRecordSizeBytesMax are a bug.
    void begin(perf::RecordType type, std::uint16_t misc);
    void end();

    template <class... Values>
    void put(Values... values) {
        static_assert((std::is_trivially_copyable_v<Values> && ...));
        (put_bytes(&values, sizeof(values)), ...);
    }
    void put_bytes(const void* bytes, std::size_t size_bytes) {
        PERFLEET_ASSERT(size_bytes <= buffer_.size() - used_);
        if (size_bytes == 0) {
            return;  // `bytes` may be null, which memcpy doesn't allow
        }
        std::memcpy(buffer_.data() + used_, bytes, size_bytes);
        used_ += size_bytes;
    }
    // NUL-terminated, padded with NULs to a multiple of 8.
    void put_name(std::string_view name);

    // Bytes that are no record (headers, features), of any length.
    void put_raw(std::string_view bytes);

    [[nodiscard]] std::uint64_t offset() const { return flushed_to_ + used_; }

    void flush();
    [[nodiscard]] const std::optional<Error>& error() const { return error_; }

private:
    ExportSink& sink_;
    std::vector<std::byte> buffer_;
    std::size_t used_ = 0;
    std::size_t record_first_ = 0;
    std::uint64_t flushed_to_;
    std::optional<Error> error_;
};

}  // namespace perfleet
