#include "tools/perfleet/import/perf-data/recorded_sample.h"

#include <bit>
#include <string_view>

#include "schemas/perf/perf_event.h"
#include "tools/perfleet/import/perf-data/byte_cursor.h"

namespace perfleet {
namespace {

namespace type = perf::sample_type;
namespace read_format = perf::read_format;
constexpr std::size_t kHeaderSizeBytes = sizeof(perf::RecordHeader);
constexpr std::uint64_t kBranchStackHasIndex = 1U << 17;     // PERF_SAMPLE_BRANCH_HW_INDEX
constexpr std::uint64_t kBranchStackHasCounters = 1U << 19;  // PERF_SAMPLE_BRANCH_COUNTERS

std::size_t word_count(std::uint64_t sample_type, std::uint64_t fields) {
    return static_cast<std::size_t>(std::popcount(sample_type & fields));
}

// Words of 8 that stand before the field in a sample: those of the fields in `before`.
std::optional<std::uint64_t> word_at(const RecordBytes& record, std::size_t at, bool is_foreign) {
    ByteCursor cursor{record.bytes, is_foreign};
    cursor.skip(at);
    const std::uint64_t value = cursor.u64();
    return cursor.failed() ? std::nullopt : std::optional{value};
}

constexpr std::uint64_t kTrailerFields =
    type::kTid | type::kTime | type::kId | type::kStreamId | type::kCpu | type::kIdentifier;

std::size_t trailer_size_bytes(const RecordedEvent& event) {
    return event.is(attr_flags::kSampleIdAll) ? word_count(event.sample_type, kTrailerFields) * 8 : 0;
}

}  // namespace

std::string sample_field_name(unsigned bit) {
    constexpr std::array<std::string_view, 25> kNames{"IP",
                                                      "TID",
                                                      "TIME",
                                                      "ADDR",
                                                      "READ",
                                                      "CALLCHAIN",
                                                      "ID",
                                                      "CPU",
                                                      "PERIOD",
                                                      "STREAM_ID",
                                                      "RAW",
                                                      "BRANCH_STACK",
                                                      "REGS_USER",
                                                      "STACK_USER",
                                                      "WEIGHT",
                                                      "DATA_SRC",
                                                      "IDENTIFIER",
                                                      "TRANSACTION",
                                                      "REGS_INTR",
                                                      "PHYS_ADDR",
                                                      "AUX",
                                                      "CGROUP",
                                                      "DATA_PAGE_SIZE",
                                                      "CODE_PAGE_SIZE",
                                                      "WEIGHT_STRUCT"};
    return bit < kNames.size() ? std::string{kNames[bit]} : "bit " + std::to_string(bit);
}

std::optional<std::uint64_t> SampleReader::id_of(const RecordBytes& record, const RecordedEvent& event) const {
    const bool is_sample = record.type == static_cast<std::uint32_t>(perf::RecordType::kSample);
    if (is_sample) {
        if (event.has(type::kIdentifier)) {
            return word_at(record, kHeaderSizeBytes, is_foreign_);
        }
        if (event.has(type::kId)) {
            constexpr std::uint64_t kBefore = type::kIp | type::kTid | type::kTime | type::kAddr;
            return word_at(record, kHeaderSizeBytes + (word_count(event.sample_type, kBefore) * 8), is_foreign_);
        }
        return std::nullopt;
    }
    if (!event.is(attr_flags::kSampleIdAll)) {
        return std::nullopt;
    }
    std::uint64_t behind = 0;  // and itself
    if (event.has(type::kIdentifier)) {
        behind = type::kIdentifier;
    } else if (event.has(type::kId)) {
        behind = type::kId | type::kStreamId | type::kCpu;
    } else {
        return std::nullopt;
    }
    const std::size_t size = word_count(event.sample_type, behind) * 8;
    return record.bytes.size() < kHeaderSizeBytes + size ? std::nullopt
                                                         : word_at(record, record.bytes.size() - size, is_foreign_);
}

std::optional<std::uint64_t> SampleReader::time_of(const RecordBytes& record, const RecordedEvent& event) const {
    if (!event.has(type::kTime)) {
        return std::nullopt;
    }
    if (record.type == static_cast<std::uint32_t>(perf::RecordType::kSample)) {
        constexpr std::uint64_t kBefore = type::kIdentifier | type::kIp | type::kTid;
        return word_at(record, kHeaderSizeBytes + (word_count(event.sample_type, kBefore) * 8), is_foreign_);
    }
    if (!event.is(attr_flags::kSampleIdAll)) {
        return std::nullopt;
    }
    constexpr std::uint64_t kFrom = kTrailerFields & ~type::kTid;
    const std::size_t size = word_count(event.sample_type, kFrom) * 8;
    return record.bytes.size() < kHeaderSizeBytes + size ? std::nullopt
                                                         : word_at(record, record.bytes.size() - size, is_foreign_);
}

std::optional<RecordedTrailer> SampleReader::trailer(const RecordBytes& record, const RecordedEvent& event) const {
    RecordedTrailer trailer;
    trailer.size_bytes = trailer_size_bytes(event);
    if (record.bytes.size() < kHeaderSizeBytes + trailer.size_bytes) {
        return std::nullopt;
    }
    if (trailer.size_bytes == 0) {
        return trailer;
    }
    ByteCursor cursor{record.bytes.last(trailer.size_bytes), is_foreign_};
    if (event.has(type::kTid)) {
        trailer.pid = cursor.u32();
        trailer.tid = cursor.u32();
    }
    if (event.has(type::kTime)) {
        trailer.time = cursor.u64();
    }
    if (event.has(type::kId)) {
        trailer.id = cursor.u64();
    }
    if (event.has(type::kStreamId)) {
        cursor.skip(8);
    }
    if (event.has(type::kCpu)) {
        trailer.cpu = cursor.u32();
        cursor.skip(4);
    }
    if (event.has(type::kIdentifier)) {
        trailer.id = cursor.u64();
    }
    return trailer;
}

// The fields of one sample, in the order in which they stand.
class SampleReader::Fields {
public:
    Fields(SampleReader& reader, const RecordBytes& record, const RecordedEvent& event)
        : reader_{reader}, event_{event}, cursor_{record.bytes.subspan(kHeaderSizeBytes), reader.is_foreign_} {}

    std::optional<RecordedSample> read() {
        read_fixed();
        if (event_.has(type::kRead)) {
            read_values();
        }
        if (event_.has(type::kCallchain)) {
            sample_.callchain = words(cursor_.u64(), reader_.chain_);
        }
        if (event_.has(type::kRaw)) {
            const std::uint32_t size = cursor_.u32();
            sample_.raw = cursor_.bytes(size);
        }
        read_tail();
        return cursor_.failed() ? std::nullopt : std::optional{sample_};
    }

private:
    void read_fixed() {
        if (event_.has(type::kIdentifier)) {
            sample_.id = cursor_.u64();
        }
        if (event_.has(type::kIp)) {
            sample_.ip = cursor_.u64();
        }
        if (event_.has(type::kTid)) {
            sample_.pid = cursor_.u32();
            sample_.tid = cursor_.u32();
        }
        if (event_.has(type::kTime)) {
            sample_.time = cursor_.u64();
        }
        if (event_.has(type::kAddr)) {
            sample_.address = cursor_.u64();
        }
        if (event_.has(type::kId)) {
            const std::uint64_t id = cursor_.u64();
            sample_.id = sample_.id ? sample_.id : id;
        }
        if (event_.has(type::kStreamId)) {
            sample_.stream_id = cursor_.u64();
        }
        if (event_.has(type::kCpu)) {
            sample_.cpu = cursor_.u32();
            cursor_.skip(4);
        }
        sample_.period = event_.has(type::kPeriod) ? cursor_.u64() : event_.period;
    }

    void read_values() {
        const auto has = [this](std::uint64_t bit) { return (event_.read_format & bit) != 0; };
        const auto read_times = [&] {
            sample_.enabled_ns = has(read_format::kTimeEnabled) ? cursor_.u64() : 0;
            sample_.running_ns = has(read_format::kTimeRunning) ? cursor_.u64() : 0;
        };
        reader_.values_.clear();
        std::uint64_t count = 1;
        RecordedSample::Value value;
        if (has(read_format::kGroup)) {
            count = cursor_.u64();
            read_times();
        } else {
            value.value = cursor_.u64();
            read_times();
        }
        for (std::uint64_t i = 0; i < count && !cursor_.failed(); ++i) {
            value.value = has(read_format::kGroup) ? cursor_.u64() : value.value;
            value.id = has(read_format::kId) ? cursor_.u64() : 0;
            cursor_.skip(has(read_format::kLost) ? 8 : 0);
            reader_.values_.push_back(value);
        }
        sample_.values = reader_.values_;
    }

    // Everything behind RAW, word by word in this machine's order.
    void read_tail() {
        reader_.tail_.clear();
        if (event_.has(type::kBranchStack)) {
            const std::uint64_t count = tail_word();
            constexpr std::uint64_t kEntryWords = 3;
            const std::uint64_t entry_words =
                kEntryWords + ((event_.branch_sample_type & kBranchStackHasCounters) != 0 ? 1U : 0U);
            tail_words((event_.branch_sample_type & kBranchStackHasIndex) != 0 ? 1 : 0);
            tail_words(count > cursor_.rest().size() ? ~0ULL : count * entry_words);
        }
        if (event_.has(type::kRegsUser)) {
            read_registers(event_.sample_regs_user, &reader_.registers_);
        }
        if (event_.has(type::kStackUser)) {
            read_stack();
        }
        tail_words(event_.has(type::kWeight | type::kWeightStruct) ? 1 : 0);
        tail_words(word_count(event_.sample_type, type::kDataSrc | type::kTransaction));
        if (event_.has(type::kRegsIntr)) {
            read_registers(event_.sample_regs_intr, nullptr);
        }
        tail_words(word_count(event_.sample_type,
                              type::kPhysAddr | type::kCgroup | type::kDataPageSize | type::kCodePageSize));
        if (event_.has(type::kAux)) {
            const std::uint64_t size = cursor_.u64();
            cursor_.skip(size);
        }
        sample_.tail = std::as_bytes(std::span{reader_.tail_});
    }

    std::uint64_t tail_word() { return reader_.tail_.emplace_back(cursor_.u64()); }

    void tail_words(std::uint64_t count) {
        for (std::uint64_t i = 0; i < count && !cursor_.failed(); ++i) {
            (void)tail_word();
        }
    }

    void read_registers(std::uint64_t mask, std::vector<std::uint64_t>* registers) {
        constexpr std::uint64_t kAbi64 = 2;
        const std::uint64_t abi = tail_word();
        if (abi == 0) {
            return;
        }
        const auto count = static_cast<std::size_t>(std::popcount(mask));
        if (registers == nullptr) {
            tail_words(count);
            return;
        }
        registers->clear();
        for (std::size_t i = 0; i < count && !cursor_.failed(); ++i) {
            registers->push_back(tail_word());
        }
        sample_.is_64_bit = abi == kAbi64;
        sample_.registers = *registers;
    }

    void read_stack() {
        const std::uint64_t size = cursor_.u64();
        if (size == 0) {
            return;
        }
        sample_.stack = cursor_.bytes(size);
        const std::uint64_t written = cursor_.u64();
        sample_.is_stack_cut = written >= size;
        sample_.stack = sample_.stack.first(std::min<std::size_t>(sample_.stack.size(), written));
    }

    // Words in this machine's order, aligned.
    std::span<const std::uint64_t> words(std::uint64_t count, std::vector<std::uint64_t>& memory) {
        if (count > cursor_.rest().size() / 8) {
            cursor_.skip(~0ULL);
            return {};
        }
        memory.resize(static_cast<std::size_t>(count));
        for (std::uint64_t& word : memory) {
            word = cursor_.u64();
        }
        return memory;
    }

    SampleReader& reader_;
    const RecordedEvent& event_;
    ByteCursor cursor_;
    RecordedSample sample_;
};

std::optional<RecordedSample> SampleReader::sample(const RecordBytes& record, const RecordedEvent& event) {
    return Fields{*this, record, event}.read();
}

}  // namespace perfleet
