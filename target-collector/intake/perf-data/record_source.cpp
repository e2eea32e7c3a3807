#include "target-collector/intake/perf-data/record_source.h"

#include <zstd.h>

#include <algorithm>

#include "schemas/perf/perf_event.h"
#include "target-collector/intake/perf-data/simpleperf.h"
#include "target-collector/records/byte_cursor.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kMagic2 = 0x32454c4946524550;  // "PERFILE2"
constexpr std::uint64_t kMagic1 = 0x454c494646524550;  // "PERFFILE", of the first versions
constexpr std::uint64_t kPipeHeaderSizeBytes = 16;
constexpr std::uint64_t kFileHeaderSizeBytes = 104;
constexpr unsigned kFeaturesMax = 256;

std::optional<bool> is_foreign_magic(std::span<const std::byte> bytes) {
    ByteCursor own{bytes, false};
    const std::uint64_t magic = own.u64();
    if (own.failed()) {
        return std::nullopt;
    }
    if (magic == kMagic2 || magic == kMagic1) {
        return false;
    }
    const std::uint64_t swapped = __builtin_bswap64(magic);
    return swapped == kMagic2 || swapped == kMagic1 ? std::optional{true} : std::nullopt;
}

// 256 bits in words of 64; old kernels of the other byte order used words of 32.
std::vector<unsigned> feature_numbers(std::span<const std::byte> bytes, bool is_foreign) {
    const auto read = [&](bool in_halves) {
        std::vector<unsigned> numbers;
        ByteCursor cursor{bytes, is_foreign};
        for (unsigned word = 0; word < kFeaturesMax / 64; ++word) {
            std::uint64_t bits = 0;
            if (in_halves) {
                bits = cursor.u32();
                bits |= std::uint64_t{cursor.u32()} << 32U;
            } else {
                bits = cursor.u64();
            }
            for (unsigned bit = 0; bit < 64; ++bit) {
                if ((bits >> bit & 1U) != 0) {
                    numbers.push_back(word * 64 + bit);
                }
            }
        }
        return numbers;
    };
    std::vector<unsigned> numbers = read(false);
    const auto hostname = static_cast<unsigned>(perf::Feature::kHostname);
    if (is_foreign && std::find(numbers.begin(), numbers.end(), hostname) == numbers.end()) {
        std::vector<unsigned> other = read(true);
        if (std::find(other.begin(), other.end(), hostname) != other.end()) {
            return other;
        }
    }
    return numbers;
}

}  // namespace

bool is_perf_data(std::span<const std::byte> first_bytes) { return is_foreign_magic(first_bytes).has_value(); }

Result<PerfDataHeader> read_perf_data_header(const FileBytes& file) {
    const std::vector<std::byte> bytes = file.piece(0, kFileHeaderSizeBytes);
    const auto is_foreign = is_foreign_magic(bytes);
    if (!is_foreign) {
        return Error{ErrorCode::kInvalid, file.path() + ": not a perf.data file"};
    }
    PerfDataHeader header;
    header.is_foreign = *is_foreign;
    ByteCursor cursor{bytes, *is_foreign};
    cursor.skip(8);
    const std::uint64_t header_size = cursor.u64();
    if (header_size == kPipeHeaderSizeBytes) {
        header.is_pipe = true;
        header.records = {kPipeHeaderSizeBytes, ~0ULL - kPipeHeaderSizeBytes};
        return header;
    }
    header.attr_entry_size_bytes = cursor.u64();
    header.attrs = {cursor.u64(), cursor.u64()};
    header.records = {cursor.u64(), cursor.u64()};
    cursor.skip(16);
    const auto features = cursor.bytes(kFeaturesMax / 8);
    if (cursor.failed()) {
        return Error{ErrorCode::kTruncated, file.path() + ": the file ends at offset " + std::to_string(bytes.size()) +
                                                ", within its header of " + std::to_string(kFileHeaderSizeBytes) +
                                                " bytes"};
    }
    if (header.records.size_bytes > ~0ULL - header.records.offset) {
        return Error{ErrorCode::kInvalid, file.path() + ": its records lie outside any file (offset 40)"};
    }
    const auto numbers = feature_numbers(features, *is_foreign);
    const std::uint64_t table = header.records.offset + header.records.size_bytes;
    const std::vector<std::byte> entries = file.piece(table, numbers.size() * 16);
    ByteCursor entry{entries, *is_foreign};
    // perf writes the sizes, and the sections right behind their table, at the end.
    header.is_unfinished =
        header.records.size_bytes == 0 && ByteCursor{entries, *is_foreign}.u64() != table + numbers.size() * 16;
    if (header.is_unfinished) {
        return header;
    }
    for (const unsigned number : numbers) {
        const PerfDataHeader::Section section{entry.u64(), entry.u64()};
        if (entry.failed()) {
            break;  // the records were cut short, or the file was never finished
        }
        header.features.emplace_back(number, section);
    }
    return header;
}

struct RecordSource::Decompression {
    std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream{ZSTD_createDStream(), &ZSTD_freeDStream};
};

RecordSource::RecordSource(FileBytes& file, const PerfDataHeader& header)
    : file_{file}, header_{header}, end_{header.records.offset + header.records.size_bytes} {
    file_.seek(header.records.offset);
    if (!header.is_pipe && header.records.size_bytes == 0) {
        end_ = file.size_bytes();
    }
}

RecordSource::~RecordSource() = default;

void RecordSource::damage(std::uint64_t offset, const std::string& what) {
    damage_ = "damaged at offset " + std::to_string(offset) + ": " + what;
}

RecordBytes RecordSource::header_of(std::span<const std::byte> bytes, std::uint64_t offset,
                                    std::size_t& size_bytes) const {
    ByteCursor cursor{bytes, header_.is_foreign};
    RecordBytes record;
    record.type = cursor.u32();
    record.misc = cursor.u16();
    size_bytes = cursor.u16();
    record.file_offset = offset;
    return record;
}

std::optional<RecordBytes> RecordSource::next() {
    for (;;) {
        if (auto record = next_decompressed()) {
            return record;
        }
        if (damage_) {
            return std::nullopt;
        }
        auto record = next_of_file();
        if (!record) {
            return std::nullopt;
        }
        const auto type = static_cast<perf::RecordType>(record->type);
        if (record->type == simpleperf::kSplit) {
            return merge(*record);
        }
        if (type != perf::RecordType::kCompressed && type != perf::RecordType::kCompressed2) {
            return record;
        }
        decompress(*record);
    }
}

std::optional<RecordBytes> RecordSource::next_of_file() {
    const std::uint64_t offset = file_.offset();
    if (offset >= end_) {
        return std::nullopt;
    }
    auto bytes = file_.peek(sizeof(perf::RecordHeader));
    const auto is_expected_end = [&](std::size_t size_bytes) {
        return header_.is_unfinished && bytes.size() < size_bytes;
    };
    if ((bytes.empty() && header_.is_pipe) || is_expected_end(sizeof(perf::RecordHeader))) {
        return std::nullopt;
    }
    if (bytes.size() < sizeof(perf::RecordHeader)) {
        damage(offset, "the file ends, " + std::to_string(header_.is_pipe ? 0 : end_ - offset) +
                           " bytes before the end of its records");
        return std::nullopt;
    }
    std::size_t size_bytes = 0;
    RecordBytes record = header_of(bytes, offset, size_bytes);
    if (size_bytes < sizeof(perf::RecordHeader)) {
        damage(offset, "a record of " + std::to_string(size_bytes) + " bytes");
        return std::nullopt;
    }
    bytes = file_.peek(size_bytes);
    if (is_expected_end(size_bytes)) {
        return std::nullopt;
    }
    if (bytes.size() < size_bytes) {
        damage(offset, "the file ends within a record of " + std::to_string(size_bytes) + " bytes");
        return std::nullopt;
    }
    record.bytes = bytes.first(size_bytes);
    file_.skip(size_bytes);
    return record;
}

std::optional<RecordBytes> RecordSource::merge(const RecordBytes& first) {
    merged_.clear();
    const std::uint64_t offset = first.file_offset;
    for (std::optional<RecordBytes> piece = first; piece; piece = next_of_file()) {
        if (piece->type == simpleperf::kSplitEnd) {
            std::size_t low_size = 0;
            RecordBytes record = header_of(merged_, offset, low_size);
            if (merged_.size() < sizeof(perf::RecordHeader) ||
                (low_size | std::size_t{record.misc} << 16U) != merged_.size()) {
                break;
            }
            record.misc = 0;
            record.bytes = merged_;
            return record;
        }
        const auto body = piece->bytes.subspan(sizeof(perf::RecordHeader));
        if (piece->type != simpleperf::kSplit || body.size() > simpleperf::kMergedSizeBytesMax - merged_.size()) {
            break;
        }
        merged_.insert(merged_.end(), body.begin(), body.end());
    }
    if (!damage_) {
        damage(offset, "SPLIT records that make no record");
    }
    return std::nullopt;
}

std::optional<RecordBytes> RecordSource::next_decompressed() {
    const std::span<const std::byte> rest = std::span{plain_}.subspan(plain_at_);
    if (rest.size() < sizeof(perf::RecordHeader)) {
        return std::nullopt;
    }
    std::size_t size_bytes = 0;
    RecordBytes record = header_of(rest, file_.offset(), size_bytes);
    if (size_bytes < sizeof(perf::RecordHeader)) {
        damage(file_.offset(), "a record of " + std::to_string(size_bytes) + " bytes in the compressed one before it");
        return std::nullopt;
    }
    if (rest.size() < size_bytes) {
        return std::nullopt;  // continued in the next compressed record
    }
    record.bytes = rest.first(size_bytes);
    plain_at_ += size_bytes;
    return record;
}

void RecordSource::decompress(const RecordBytes& record) {
    if (decompression_ == nullptr) {
        decompression_ = std::make_unique<Decompression>();
    }
    plain_.erase(plain_.begin(), plain_.begin() + static_cast<std::ptrdiff_t>(plain_at_));
    plain_at_ = 0;
    ByteCursor cursor{record.bytes.subspan(sizeof(perf::RecordHeader)), header_.is_foreign};
    if (static_cast<perf::RecordType>(record.type) == perf::RecordType::kCompressed2) {
        const std::uint64_t size = cursor.u64();  // without the padding
        cursor = ByteCursor{cursor.bytes(std::min<std::uint64_t>(size, cursor.rest().size())), header_.is_foreign};
    }
    ZSTD_inBuffer in{cursor.rest().data(), cursor.rest().size(), 0};
    const std::size_t step = ZSTD_DStreamOutSize();
    for (bool is_full = true; in.pos < in.size || is_full;) {
        const std::size_t used = plain_.size();
        if (used + step > kDecompressedSizeBytesMax) {
            damage(record.file_offset, "a compressed record that grows beyond " +
                                           std::to_string(kDecompressedSizeBytesMax >> 20U) + " MiB");
            return;
        }
        plain_.resize(used + step);
        ZSTD_outBuffer out{plain_.data() + used, step, 0};
        const std::size_t result = ZSTD_decompressStream(decompression_->stream.get(), &out, &in);
        plain_.resize(used + out.pos);
        if (ZSTD_isError(result) != 0U) {
            damage(record.file_offset,
                   std::string{"a compressed record that can't be decompressed ("} + ZSTD_getErrorName(result) + ")");
            return;
        }
        is_full = out.pos == step;
        if (out.pos == 0 && in.pos == in.size) {
            break;
        }
    }
}

std::vector<std::byte> RecordSource::take_payload(std::uint64_t size_bytes) {
    auto bytes = file_.piece(file_.offset(), size_bytes);
    skip_payload(size_bytes);
    return bytes;
}

void RecordSource::skip_payload(std::uint64_t size_bytes) {
    const std::uint64_t left = file_.size_bytes() - std::min(file_.size_bytes(), file_.offset());
    if (size_bytes > left) {
        damage(file_.offset(), "the file ends within " + std::to_string(size_bytes) + " bytes of data");
    }
    file_.skip(std::min(size_bytes, left));
}

}  // namespace perfleet
