#include "exporters/pprof/profile_writer.h"

namespace perfleet {
namespace {

constexpr std::size_t kBufferSizeBytes = 64U << 10U;
constexpr std::size_t kStringSizeBytes = 80;  // of memory, beside the text

}  // namespace

ProfileWriter::ProfileWriter(ExportSink& sink, QueryMemory& memory) : gzip_{sink}, share_{memory} { (void)string(""); }

std::int64_t ProfileWriter::string(std::string_view text) {
    const auto [entry, is_new] = numbers_.try_emplace(std::string{text}, static_cast<std::int64_t>(texts_.size()));
    if (is_new) {
        texts_.push_back(&entry->first);
        share_.add(text.size() + kStringSizeBytes);
    }
    return entry->second;
}

void ProfileWriter::value_type(pprof::Profile field, std::string_view type, std::string_view unit) {
    protozero::pbf_builder<pprof::ValueType> message{profile_, field};
    message.add_int64(pprof::ValueType::kType, string(type));
    message.add_int64(pprof::ValueType::kUnit, string(unit));
}

void ProfileWriter::text(pprof::Profile field, std::string_view text) {
    if (!text.empty()) {
        profile_.add_int64(field, string(text));
    }
}

void ProfileWriter::number(pprof::Profile field, std::int64_t number) {
    if (number != 0) {
        profile_.add_int64(field, number);
    }
}

void ProfileWriter::flush_if_full() {
    if (buffer_.size() >= kBufferSizeBytes) {
        flush();
    }
}

void ProfileWriter::flush() {
    if (!failure_) {
        if (Result<Done> written = gzip_.write(buffer_); !written.ok()) {
            failure_ = written.error();
        }
    }
    buffer_.clear();
}

Result<Done> ProfileWriter::finish() {
    for (const std::string* text : texts_) {
        profile_.add_string(pprof::Profile::kStringTable, *text);
        flush_if_full();
    }
    flush();
    return failure_ ? Result<Done>{*failure_} : gzip_.finish();
}

}  // namespace perfleet
