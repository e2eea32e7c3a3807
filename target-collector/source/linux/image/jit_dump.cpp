#include "target-collector/source/linux/image/jit_dump.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace perfleet {
namespace {

constexpr std::uint32_t kMagic = 0x4a69'5444;
constexpr std::size_t kHeaderSizeBytes = 40;
constexpr std::size_t kHeaderSizeBytesMax = 4'096;
constexpr std::size_t kRecordHeaderSizeBytes = 16;
constexpr std::uint32_t kLoad = 0;
constexpr std::uint32_t kMove = 1;
constexpr std::size_t kLoadSizeBytes = 56;  // before the name
constexpr std::size_t kMoveSizeBytes = 64;
constexpr std::size_t kNeededSizeBytesMax = kLoadSizeBytes + PerfMap::kNameSizeBytesMax;  // per record

template <class Number>
Number number_at(std::span<const std::byte> bytes, std::size_t at) {
    Number number{};
    std::memcpy(&number, bytes.data() + at, sizeof(number));
    return number;
}

}  // namespace

bool is_jit_dump_path(std::string_view path) {
    path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
    constexpr std::string_view kFirst = "jit-";
    constexpr std::string_view kLast = ".dump";
    if (path.size() <= kFirst.size() + kLast.size() || !path.starts_with(kFirst) || !path.ends_with(kLast)) {
        return false;
    }
    const std::string_view number = path.substr(kFirst.size(), path.size() - kFirst.size() - kLast.size());
    return number.find_first_not_of("0123456789") == std::string_view::npos;
}

std::uint64_t JitDump::take_record(std::span<const std::byte> bytes, PerfMap& functions) {
    const auto type = number_at<std::uint32_t>(bytes, 0);
    const auto size_bytes = number_at<std::uint32_t>(bytes, 4);
    if (size_bytes < kRecordHeaderSizeBytes) {
        is_broken_ = true;
        return 0;
    }
    const std::span<const std::byte> record = bytes.first(std::min<std::size_t>(bytes.size(), size_bytes));
    if (record.size() < std::min<std::size_t>(size_bytes, kNeededSizeBytesMax)) {
        return 0;
    }
    if (type == kLoad && record.size() > kLoadSizeBytes) {
        const auto* const name = reinterpret_cast<const char*>(record.data() + kLoadSizeBytes);
        const std::size_t length =
            ::strnlen(name, std::min(record.size() - kLoadSizeBytes, PerfMap::kNameSizeBytesMax));
        functions.add_function(number_at<std::uint64_t>(record, 32), number_at<std::uint64_t>(record, 40),
                               {name, length});
    } else if (type == kMove && record.size() >= kMoveSizeBytes) {
        if (const auto moved = functions.find(number_at<std::uint64_t>(record, 32))) {
            const std::string name{moved->name};
            functions.add_function(number_at<std::uint64_t>(record, 40), number_at<std::uint64_t>(record, 48), name);
        }
    }
    return size_bytes;
}

bool JitDump::read(PerfMap& functions) {
    struct stat status {};
    if (!open_ && !file_.path().empty()) {
        open_ = file_.open(status);
    }
    if (is_broken_ || !open_ || ::fstat(open_.get(), &status) != 0) {
        return false;
    }
    const auto file_size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    const std::uint64_t begin = offset_;
    for (std::size_t read_size = 0; !is_broken_ && offset_ < file_size && read_size < kReadSizeBytesMax;) {
        buffer_.resize(kReadSizeBytesMax);
        const ssize_t count = ::pread(open_.get(), buffer_.data(), buffer_.size(), static_cast<off_t>(offset_));
        if (count <= 0) {
            break;
        }
        read_size += static_cast<std::size_t>(count);
        std::span<const std::byte> rest{buffer_.data(), static_cast<std::size_t>(count)};
        if (offset_ == 0) {
            if (rest.size() < kHeaderSizeBytes) {
                break;
            }
            const auto header_size = number_at<std::uint32_t>(rest, 8);
            is_broken_ = number_at<std::uint32_t>(rest, 0) != kMagic || header_size < kHeaderSizeBytes ||
                         header_size > kHeaderSizeBytesMax;
            if (is_broken_ || header_size > rest.size()) {
                break;
            }
            offset_ = header_size;
            rest = rest.subspan(header_size);
        }
        const std::uint64_t before = offset_;
        while (rest.size() >= kRecordHeaderSizeBytes) {
            const std::uint64_t done = take_record(rest, functions);
            offset_ += done;
            if (done == 0 || done >= rest.size()) {
                break;
            }
            rest = rest.subspan(static_cast<std::size_t>(done));
        }
        if (offset_ == before) {
            break;  // the rest of the record isn't written yet
        }
    }
    buffer_.clear();
    buffer_.shrink_to_fit();
    return offset_ != begin;
}

}  // namespace perfleet
