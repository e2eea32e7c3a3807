// Writes a profile to a file: messages, which the caller builds, and the table of their strings.
//
// One thread. Errors are kept until finish().
#pragma once

#include <cstdint>
#include <optional>
#include <protozero/pbf_builder.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exporters/sink/gzip_stream.h"
#include "query-engine/scan/query_memory.h"
#include "schemas/pprof/pprof_message.h"

namespace perfleet {

class ProfileWriter {
public:
    // Borrows both.
    ProfileWriter(ExportSink& sink, QueryMemory& memory);

    // While a message in it is being built, only string() may be called.
    [[nodiscard]] protozero::pbf_builder<pprof::Profile>& profile() { return profile_; }

    // The string's number in the table.
    [[nodiscard]] std::int64_t string(std::string_view text);

    void value_type(pprof::Profile field, std::string_view type, std::string_view unit);
    void text(pprof::Profile field, std::string_view text);  // nothing if it is empty
    void number(pprof::Profile field, std::int64_t number);  // nothing if it is 0

    // Writes complete parts once there are enough of them.
    void flush_if_full();
    [[nodiscard]] bool has_failed() const { return failure_.has_value(); }

    // Writes the strings and the end.
    [[nodiscard]] Result<Done> finish();

private:
    void flush();

    GzipStream gzip_;
    MemoryShare share_;
    std::unordered_map<std::string, std::int64_t> numbers_;
    std::vector<const std::string*> texts_;  // keys of numbers_
    std::string buffer_;
    protozero::pbf_builder<pprof::Profile> profile_{buffer_};
    std::optional<Error> failure_;
};

}  // namespace perfleet
