// JSON text into a sink through a buffer, compressed by gzip where asked.
//
// One thread. The first error of the sink stays: finish() returns it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "exporters/sink/gzip_stream.h"
#include "query-engine/service/query.h"

namespace perfleet {

class JsonFile {
public:
    static constexpr std::size_t kBufferSizeBytes = 64U << 10;

    JsonFile(ExportSink& sink, bool is_compressed);

    // Text as it is: brackets, keys.
    JsonFile& raw(std::string_view json);
    // A string of JSON. `text` is one line of UTF-8 (schemas/text/utf8.h: printable()).
    JsonFile& text(std::string_view text);
    JsonFile& number(std::uint64_t value);
    // Nanoseconds in units of 10^decimals, exactly: 1234567 with 6 decimals is 1.234567.
    JsonFile& decimal(std::uint64_t value, unsigned decimals);
    JsonFile& signed_decimal(std::int64_t value, unsigned decimals);

    // A list: "," in front of all elements but the first. `is_first` is changed.
    JsonFile& next(bool& is_first) {
        raw(is_first ? "" : ",");
        is_first = false;
        return *this;
    }

    [[nodiscard]] Result<Done> finish();

private:
    void flush();

    ExportSink& sink_;
    std::unique_ptr<GzipStream> gzip_;  // null: it isn't compressed
    std::string buffer_;
    std::uint64_t offset_ = 0;
    std::optional<Error> error_;
};

}  // namespace perfleet
