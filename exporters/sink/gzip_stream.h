// Compresses all output to a sink: one gzip member without a time or a name.
//
// One thread; borrows the sink. Errors: those of the sink.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "query-engine/service/query.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {

class GzipStream : NonCopyable {
public:
    explicit GzipStream(ExportSink& sink);
    ~GzipStream();

    [[nodiscard]] Result<Done> write(std::string_view bytes);
    // To be called once, after the last write.
    [[nodiscard]] Result<Done> finish();

private:
    class Deflate;
    [[nodiscard]] Result<Done> run(std::string_view bytes, bool is_last);

    ExportSink& sink_;
    std::unique_ptr<Deflate> deflate_;
    std::uint64_t offset_ = 0;
};

}  // namespace perfleet
