#include "exporters/timeline/json_file.h"

#include <span>
#include <utility>

namespace perfleet {

JsonFile::JsonFile(ExportSink& sink, bool is_compressed)
    : sink_{sink}, gzip_{is_compressed ? std::make_unique<GzipStream>(sink) : nullptr} {}

JsonFile& JsonFile::raw(std::string_view json) {
    buffer_ += json;
    if (buffer_.size() >= kBufferSizeBytes) {
        flush();
    }
    return *this;
}

JsonFile& JsonFile::text(std::string_view text) {
    buffer_ += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            buffer_ += '\\';
            buffer_ += c;
        } else if (c == '<') {
            buffer_ += "\\u003c";  // the file may be embedded in a page
        } else {
            buffer_ += c;
        }
    }
    return raw("\"");
}

JsonFile& JsonFile::number(std::uint64_t value) { return raw(std::to_string(value)); }

JsonFile& JsonFile::decimal(std::uint64_t value, unsigned decimals) {
    std::string digits = std::to_string(value);
    if (digits.size() <= decimals) {
        digits.insert(0, decimals + 1 - digits.size(), '0');
    }
    digits.insert(digits.size() - decimals, 1, '.');
    digits.resize(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') {
        digits.pop_back();
    }
    return raw(digits);
}

JsonFile& JsonFile::signed_decimal(std::int64_t value, unsigned decimals) {
    const auto bits = static_cast<std::uint64_t>(value);
    return raw(value < 0 ? "-" : "").decimal(value < 0 ? -bits : bits, decimals);
}

void JsonFile::flush() {
    if (!error_) {
        auto written =
            gzip_ != nullptr ? gzip_->write(buffer_) : sink_.write_at(offset_, std::as_bytes(std::span{buffer_}));
        if (!written.ok()) {
            error_ = std::move(written).error();
        }
    }
    offset_ += buffer_.size();
    buffer_.clear();
}

Result<Done> JsonFile::finish() {
    flush();
    if (error_) {
        return Error{*error_};
    }
    return gzip_ != nullptr ? gzip_->finish() : Result<Done>{Done{}};
}

}  // namespace perfleet
