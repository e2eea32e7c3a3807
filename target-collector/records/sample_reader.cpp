#include "target-collector/records/sample_reader.h"

#include <algorithm>
#include <bit>

#include "target-collector/records/byte_cursor.h"

namespace perfleet {
namespace {

namespace type = perf::sample_type;
namespace read_format = perf::read_format;
constexpr std::uint64_t kBranchStackHasIndex = 1U << 17;     // PERF_SAMPLE_BRANCH_HW_INDEX
constexpr std::uint64_t kBranchStackHasCounters = 1U << 19;  // PERF_SAMPLE_BRANCH_COUNTERS

}  // namespace

// The fields of one sample, in the order in which they stand.
class SampleReader::Fields {
public:
    Fields(SampleReader& reader, const RecordBytes& record, const RecordLayout& layout)
        : reader_{reader},
          layout_{layout},
          cursor_{record.bytes.subspan(std::min(record.bytes.size(), sizeof(perf::RecordHeader))), layout.is_foreign} {
        sample_.misc = record.misc;
        sample_.is_kernel = (record.misc & perf::misc::kCpumodeMask) == perf::misc::kKernel;
    }

    std::optional<SampleRecord> read() {
        read_fixed();
        if (layout_.has(type::kRead)) {
            read_values();
        }
        if (layout_.has(type::kCallchain)) {
            sample_.callchain = words(cursor_.u64(), reader_.chain_);
        }
        if (layout_.has(type::kRaw)) {
            const std::uint32_t size = cursor_.u32();
            sample_.raw = cursor_.bytes(size);
        }
        read_tail();
        return cursor_.failed() ? std::nullopt : std::optional{sample_};
    }

private:
    void read_fixed() {
        cursor_.skip(layout_.has(type::kIdentifier) ? 8 : 0);
        if (layout_.has(type::kIp)) {
            sample_.ip = cursor_.u64();
        }
        if (layout_.has(type::kTid)) {
            sample_.pid = cursor_.u32();
            sample_.tid = cursor_.u32();
        }
        if (layout_.has(type::kTime)) {
            sample_.time = cursor_.u64();
        }
        if (layout_.has(type::kAddr)) {
            sample_.address = cursor_.u64();
        }
        cursor_.skip(layout_.has(type::kId) ? 8 : 0);
        cursor_.skip(layout_.has(type::kStreamId) ? 8 : 0);
        if (layout_.has(type::kCpu)) {
            sample_.cpu = cursor_.u32();
            cursor_.skip(4);
        }
        sample_.period = layout_.has(type::kPeriod) ? cursor_.u64() : layout_.period;
    }

    void read_values() {
        const auto has = [this](std::uint64_t bit) { return (layout_.read_format & bit) != 0; };
        const bool is_group = has(read_format::kGroup);
        const std::uint64_t times_bytes =
            (has(read_format::kTimeEnabled) ? 8 : 0) + (has(read_format::kTimeRunning) ? 8 : 0);
        reader_.values_.clear();
        // Of a group their number, else the one value, stands before the times.
        const std::uint64_t first = cursor_.u64();
        cursor_.skip(times_bytes);
        const std::uint64_t count = is_group ? first : 1;
        for (std::uint64_t i = 0; i < count && !cursor_.failed(); ++i) {
            const std::uint64_t value = is_group ? cursor_.u64() : first;
            reader_.values_.push_back({value, has(read_format::kId) ? cursor_.u64() : 0});
            cursor_.skip(has(read_format::kLost) ? 8 : 0);
        }
        sample_.values = reader_.values_;
    }

    // Everything behind RAW.
    void read_tail() {
        const auto word_of = [this](std::uint64_t field, std::uint64_t& word) {
            word = layout_.has(field) ? cursor_.u64() : 0;
        };
        if (layout_.has(type::kBranchStack)) {
            read_branches();
        }
        if (layout_.has(type::kRegsUser)) {
            read_registers(layout_.sample_regs_user, reader_.user_registers_);
            constexpr std::uint64_t kAbi32 = 1;
            sample_.user_registers = reader_.user_registers_;
            sample_.registers = sample_.user_registers.subspan(1);
            sample_.registers_mask = layout_.sample_regs_user;
            sample_.is_32_bit = sample_.user_registers.front() == kAbi32;
        }
        if (layout_.has(type::kStackUser)) {
            sample_.has_stack_copy = true;
            read_stack();
        }
        word_of(type::kWeight | type::kWeightStruct, sample_.access_cost);
        word_of(type::kDataSrc, sample_.data_source);
        word_of(type::kTransaction, sample_.transaction);
        if (layout_.has(type::kRegsIntr)) {
            read_registers(layout_.sample_regs_intr, reader_.interrupt_registers_);
            sample_.interrupt_registers = reader_.interrupt_registers_;
        }
        word_of(type::kPhysAddr, sample_.physical_address);
        word_of(type::kCgroup, sample_.cgroup);
        word_of(type::kDataPageSize, sample_.data_page_size);
        word_of(type::kCodePageSize, sample_.code_page_size);
        if (layout_.has(type::kAux)) {
            const std::uint64_t size = cursor_.u64();
            cursor_.skip(size);
        }
    }

    void read_branches() {
        std::vector<std::uint64_t>& words = reader_.branches_;
        words.assign(1, cursor_.u64());
        const std::uint64_t entry_words = (layout_.branch_sample_type & kBranchStackHasCounters) != 0 ? 4 : 3;
        const std::uint64_t index_words = (layout_.branch_sample_type & kBranchStackHasIndex) != 0 ? 1 : 0;
        const std::uint64_t count = words.front() > cursor_.rest().size() ? ~0ULL : words.front() * entry_words;
        read_words(count == ~0ULL ? count : index_words + count, words);
        sample_.branches = words;
    }

    void read_registers(std::uint64_t mask, std::vector<std::uint64_t>& words) {
        words.assign(1, cursor_.u64());
        read_words(words.front() == 0 ? 0 : static_cast<std::uint64_t>(std::popcount(mask)), words);
    }

    void read_words(std::uint64_t count, std::vector<std::uint64_t>& words) {
        for (std::uint64_t i = 0; i < count && !cursor_.failed(); ++i) {
            words.push_back(cursor_.u64());
        }
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

    // Words in this machine's order, aligned: where they stand, or copied.
    std::span<const std::uint64_t> words(std::uint64_t count, std::vector<std::uint64_t>& memory) {
        if (count > cursor_.rest().size() / sizeof(std::uint64_t)) {
            cursor_.skip(~0ULL);
            return {};
        }
        const auto* const first = cursor_.rest().data();
        if (!layout_.is_foreign && reinterpret_cast<std::uintptr_t>(first) % alignof(std::uint64_t) == 0) {
            cursor_.skip(count * sizeof(std::uint64_t));
            return {reinterpret_cast<const std::uint64_t*>(first), static_cast<std::size_t>(count)};
        }
        memory.resize(static_cast<std::size_t>(count));
        for (std::uint64_t& word : memory) {
            word = cursor_.u64();
        }
        return memory;
    }

    SampleReader& reader_;
    const RecordLayout& layout_;
    ByteCursor cursor_;
    SampleRecord sample_;
};

std::optional<SampleRecord> SampleReader::read(const RecordBytes& record, const RecordLayout& layout) {
    return Fields{*this, record, layout}.read();
}

}  // namespace perfleet
