#include "exporters/perf-data/record_writer.h"

#include <algorithm>
#include <span>

namespace perfleet {

PerfRecordWriter::PerfRecordWriter(ExportSink& sink, std::uint64_t offset)
    : sink_{sink}, buffer_(kBufferSizeBytes + kRecordSizeBytesMax + 8), flushed_to_{offset} {}

void PerfRecordWriter::begin(perf::RecordType type, std::uint16_t misc) {
    if (used_ >= kBufferSizeBytes) {
        flush();
    }
    record_first_ = used_;
    put(perf::RecordHeader{static_cast<std::uint32_t>(type), misc, 0});
}

void PerfRecordWriter::end() {
    constexpr std::uint64_t kZero = 0;
    put_bytes(&kZero, (8 - (used_ - record_first_) % 8) % 8);
    const std::size_t size_bytes = used_ - record_first_;
    PERFLEET_ASSERT(size_bytes <= kRecordSizeBytesMax);
    const auto size = static_cast<std::uint16_t>(size_bytes);
    std::memcpy(buffer_.data() + record_first_ + offsetof(perf::RecordHeader, size_bytes), &size, sizeof(size));
}

void PerfRecordWriter::put_name(std::string_view name) {
    constexpr std::uint64_t kZero = 0;
    put_bytes(name.data(), name.size());
    put_bytes(&kZero, 8 - name.size() % 8);
}

void PerfRecordWriter::put_raw(std::string_view bytes) {
    while (!bytes.empty()) {
        if (used_ >= kBufferSizeBytes) {
            flush();
        }
        const std::size_t size = std::min(bytes.size(), kBufferSizeBytes - used_);
        put_bytes(bytes.data(), size);
        bytes.remove_prefix(size);
    }
}

void PerfRecordWriter::flush() {
    if (!error_ && used_ > 0) {
        if (auto written = sink_.write_at(flushed_to_, std::span{buffer_}.first(used_)); !written) {
            error_ = std::move(written).error();
        }
    }
    flushed_to_ += used_;
    used_ = 0;
}

}  // namespace perfleet
