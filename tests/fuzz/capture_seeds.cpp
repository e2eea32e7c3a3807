// Cuts the files of a real run into inputs of the fuzz targets: FOLDER/<target>/<name>.
//   capture_seeds FOLDER frames FILE   of `perfleet-collector --output`: envelopes, blocks, columns, records
//   capture_seeds FOLDER spool FILE    a spool file
//   capture_seeds FOLDER perf FILE     the records of a perf.data file, as a ring would hold them
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "gateway/admission/admit_batch.h"
#include "gateway/admission/admit_hello.h"
#include "gateway/admission/decode.h"
#include "storage/block/block.h"
#include "storage/key/key_bytes.h"
#include "storage/model/record.h"
#include "target-collector/wire/frame_file.h"
#include "tests/fuzz/spool_parts.h"

namespace perfleet {
namespace {

constexpr std::size_t kSeedSizeBytesMax = 12'000;
constexpr std::size_t kOfAKindMax = 3;

class Seeds {
public:
    explicit Seeds(std::filesystem::path folder) : folder_{std::move(folder)} {}

    // A few of each sort, none of them large.
    void write(const std::string& target, const std::string& type, const std::string& bytes) {
        const std::size_t number = counts_[target + type];
        if (bytes.size() > kSeedSizeBytesMax || number == kOfAKindMax || !known_.insert(target + bytes).second) {
            return;
        }
        ++counts_[target + type];
        std::filesystem::create_directories(folder_ / target);
        std::string name = "run-" + type;
        name += "-" + std::to_string(number);
        std::ofstream file{folder_ / target / name, std::ios::binary};
        file << bytes;
        if (!file.flush()) {
            std::fprintf(stderr, "capture_seeds: can't write to %s\n", folder_.c_str());
            std::exit(1);
        }
    }

private:
    std::filesystem::path folder_;
    std::map<std::string, std::size_t> counts_;
    std::set<std::string> known_;
};

std::string bytes_of_file(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::string bytes{std::istreambuf_iterator<char>{file}, {}};
    if (!file || bytes.empty()) {
        std::fprintf(stderr, "capture_seeds: can't read %s\n", path.c_str());
        std::exit(1);
    }
    return bytes;
}

std::string two_bytes(std::size_t value) {
    const char bytes[] = {static_cast<char>(value & 0xff), static_cast<char>(value >> 8)};
    return {bytes, sizeof bytes};
}

std::string text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_block(Seeds& seeds, const std::string& bytes) {
    const auto block = parse_block_untrusted(bytes);
    if (!block.ok()) {
        return;
    }
    const std::string kind{kind_name(block->header.series.kind)};
    seeds.write("block", kind, '\1' + bytes);
    if (is_definition(block->header.series.kind)) {
        seeds.write("dictionary", kind, two_bytes(bytes.size()) + bytes);
    }
    for (const ColumnView& column : block->columns) {
        const auto codec = static_cast<char>(column.codec);
        seeds.write("columns", "codec" + std::to_string(static_cast<int>(column.codec)),
                    codec + two_bytes(block->header.row_count) + text_of(column.bytes));
    }
}

void cut_frames(Seeds& seeds, const std::string& path) {
    auto file = FrameFile::open(path);
    if (!file.ok()) {
        std::fprintf(stderr, "capture_seeds: %s\n", file.error().message.c_str());
        std::exit(1);
    }
    Decoder decoder;
    BatchAdmission admission;
    SessionRecord session;
    for (auto frame = (*file)->next(); frame.ok() && !frame->empty(); frame = (*file)->next()) {
        const auto message = decoder.decode(*frame);
        if (!message.ok()) {
            continue;
        }
        seeds.write("envelope", "sort" + std::to_string(message->index()), text_of(*frame));
        if (const auto* hello = std::get_if<HelloUntrusted>(&*message)) {
            if (auto admitted = admit_hello(*hello); admitted.ok()) {
                session = *admitted;
                seeds.write("records", "session", '\x01' + encode_record(session));
            }
        } else if (const auto* batch = std::get_if<BatchUntrusted>(&*message)) {
            const auto admitted = admission.admit(*batch, session);
            if (!admitted.ok()) {
                continue;
            }
            seeds.write("records", "batch", '\x05' + encode_record(admitted->record));
            for (const BatchSeries& series : admitted->series) {
                write_block(seeds, series.block);
            }
        } else if (const auto* bye = std::get_if<ByeUntrusted>(&*message)) {
            if (const auto end = admit_bye(*bye, session); end.ok()) {
                seeds.write("records", "end", '\x03' + encode_record(*end));
            }
        }
    }
    seeds.write("frame_file", "whole", bytes_of_file(path));
    seeds.write("frame_file", "cut", bytes_of_file(path).substr(0, kSeedSizeBytesMax));
}

void cut_spool(Seeds& seeds, const std::string& path) {
    const std::string text = bytes_of_file(path);
    const auto file = std::as_bytes(std::span{text});
    const auto reading = read_spool(file);
    if (!reading.ok()) {
        std::fprintf(stderr, "capture_seeds: %s is no spool file\n", path.c_str());
        std::exit(1);
    }
    const auto without_zeros = [](std::string part) {
        part.resize(part.find_last_not_of('\0') + 1);
        return part;
    };
    std::string parts{'\0'};
    const auto add = [&](const std::string& part) { parts += two_bytes(part.size()) + part; };
    add(text_of((*reading)->hello));
    add(without_zeros(text.substr(kSpoolCountsOffset, kLiveCountsSizeBytes)));
    add(without_zeros(text.substr(kSpoolJournalOffset, kJournalSlotSizeBytes)));
    add(without_zeros(text.substr(kSpoolJournalOffset + kJournalSlotSizeBytes, kJournalSlotSizeBytes)));
    parts += without_zeros(text.substr((*reading)->head.records_offset()));
    for (const int flags : {0, kRightJournalChecksums | kRightRecordChecksums}) {
        parts[0] = static_cast<char>(flags);
        seeds.write("spool", "killed", parts);
    }
}

void cut_perf_data(Seeds& seeds, const std::string& path) {
    const std::string bytes = bytes_of_file(path);
    const auto word = [&](std::size_t at) {
        return load_little_endian<std::uint64_t>(std::as_bytes(std::span{bytes}).data() + at);
    };
    constexpr std::size_t kDataOffsetAt = 40;
    std::string_view data = std::string_view{bytes}.substr(word(kDataOffsetAt), word(kDataOffsetAt + 8));
    std::string all;
    while (data.size() >= 8) {
        const auto type = static_cast<unsigned char>(data[0]);
        const std::size_t size_bytes = static_cast<unsigned char>(data[6]) + 256U * static_cast<unsigned char>(data[7]);
        if (size_bytes < 8 || size_bytes > data.size()) {
            break;
        }
        const std::string round = two_bytes(size_bytes) + std::string{data.substr(0, size_bytes)};
        seeds.write("perf_ring", "type" + std::to_string(type), round);
        if (all.size() + round.size() <= kSeedSizeBytesMax) {
            all += round;
        }
        data.remove_prefix(size_bytes);
    }
    seeds.write("perf_ring", "many", all);
}

}  // namespace
}  // namespace perfleet

int main(int argument_count, char** arguments) {
    if (argument_count != 4) {
        std::fprintf(stderr, "usage: capture_seeds FOLDER frames|spool|perf FILE\n");
        return 2;
    }
    perfleet::Seeds seeds{arguments[1]};
    const std::string what = arguments[2];
    if (what == "frames") {
        perfleet::cut_frames(seeds, arguments[3]);
    } else if (what == "spool") {
        perfleet::cut_spool(seeds, arguments[3]);
    } else if (what == "perf") {
        perfleet::cut_perf_data(seeds, arguments[3]);
    } else {
        return 2;
    }
    return 0;
}
