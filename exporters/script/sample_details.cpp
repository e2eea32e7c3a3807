#include "exporters/script/sample_details.h"

#include <fmt/format.h>

#include <cstring>

#include "schemas/perf/perf_event.h"
#include "schemas/perf/recorded_attr.h"
#include "schemas/perf/registers.h"

namespace perfleet {
namespace {

std::vector<std::uint64_t> words_of(std::string_view bytes) {
    std::vector<std::uint64_t> words(bytes.size() / sizeof(std::uint64_t));
    if (!words.empty()) {
        std::memcpy(words.data(), bytes.data(), words.size() * sizeof(std::uint64_t));
    }
    return words;
}

std::uint64_t sample_field_of(ScriptField field) {
    namespace type = perf::sample_type;
    switch (field) {
        case ScriptField::kAddr: return type::kAddr;
        case ScriptField::kDataSrc: return type::kDataSrc;
        case ScriptField::kWeight: return type::kWeight | type::kWeightStruct;
        case ScriptField::kIregs: return type::kRegsIntr;
        case ScriptField::kUregs: return type::kRegsUser;
        case ScriptField::kBrstack: return type::kBranchStack;
        case ScriptField::kPhysAddr: return type::kPhysAddr;
        default: return 0;
    }
}

// As perf: predicted or mispredicted, in a transaction, aborted, cycles since the branch before.
std::string branch_text(const SampleDetails::Branch& branch) {
    const auto bit = [&](unsigned number) { return (branch.flags >> number & 1U) != 0; };
    const char prediction = bit(1) ? 'P' : bit(0) ? 'M' : '-';
    return fmt::format(" {:#x}/{:#x}/{}/{}/{}/{} ", branch.from, branch.to, prediction, bit(2) ? 'X' : '-',
                       bit(3) ? 'A' : '-', branch.flags >> 4U & 0xffffU);
}

}  // namespace

std::string option_of(ScriptField field) {
    const char* option = "-d";
    switch (field) {
        case ScriptField::kWeight: option = "-W"; break;
        case ScriptField::kIregs: option = "-I"; break;
        case ScriptField::kUregs: option = "--user-regs"; break;
        case ScriptField::kBrstack: option = "-b"; break;
        case ScriptField::kPhysAddr: option = "--phys-data"; break;
        default: break;
    }
    return std::string{"perfleet record "} + option;
}

bool is_detail(ScriptField field) { return sample_field_of(field) != 0; }

SampleDetails::SampleDetails(const SessionRecord& session, EventNumber event) : architecture_{session.architecture} {
    namespace offset = perf::attr_offset;
    if (const EventRecord* const record = session.event_at(event)) {
        sample_type_ = perf::attr_field(record->attr, offset::kSampleType);
        branch_type_ = perf::attr_field(record->attr, offset::kBranchSampleType);
        user_registers_ = perf::attr_field(record->attr, offset::kSampleRegsUser);
        interrupt_registers_ = perf::attr_field(record->attr, offset::kSampleRegsIntr);
    }
}

bool SampleDetails::has(ScriptField field) const { return (sample_type_ & sample_field_of(field)) != 0; }

std::uint64_t SampleDetails::number(ScriptField field, const MergedRow& row) const {
    constexpr std::uint64_t kWeight = 0xffff'ffff;  // of WEIGHT_STRUCT, whose other half has two other latencies
    const DetailColumns& details = *row.details;
    switch (field) {
        case ScriptField::kAddr: return details.data_address[row.row];
        case ScriptField::kDataSrc: return details.data_source[row.row];
        case ScriptField::kPhysAddr: return details.physical_address[row.row];
        default:
            return details.access_cost[row.row] &
                   ((sample_type_ & perf::sample_type::kWeight) != 0 ? ~std::uint64_t{0} : kWeight);
    }
}

SampleDetails::Values SampleDetails::registers(ScriptField field, const MergedRow& row) const {
    const bool is_user = field == ScriptField::kUregs;
    const std::vector<std::uint64_t> words =
        words_of(row.rows.bytes(is_user ? ColumnId::kUserRegistersBytes : ColumnId::kInterruptRegistersBytes, row.row));
    if (words.empty() || words.front() == 0) {
        return {};
    }
    Values values{{"ABI", words.front()}};
    const std::span registers = std::span{words}.subspan(1);
    const std::uint64_t mask = is_user ? user_registers_ : interrupt_registers_;
    const auto names = perf::registers_of(architecture_);
    for (unsigned bit = 0; bit < 64; ++bit) {
        if (const auto value = perf::register_at(registers, mask, bit)) {
            values.emplace_back(bit < names.size() ? std::string{names[bit]} : fmt::format("r{}", bit), *value);
        }
    }
    return values;
}

std::vector<SampleDetails::Branch> SampleDetails::branches(const MergedRow& row) const {
    constexpr std::size_t kBranchWords = 3;
    const std::vector<std::uint64_t> words = words_of(row.rows.bytes(ColumnId::kBranchesBytes, row.row));
    const std::size_t first = (branch_type_ & perf::branch_sample_type::kHwIndex) != 0 ? 2 : 1;
    std::vector<Branch> branches;
    for (std::size_t at = first; !words.empty() && branches.size() < words.front() && at + kBranchWords <= words.size();
         at += kBranchWords) {
        branches.push_back({words[at], words[at + 1], words[at + 2]});
    }
    return branches;
}

std::string SampleDetails::text(ScriptField field, const MergedRow& row) const {
    if (row.details == nullptr || !has(field)) {
        return {};
    }
    std::string text;
    switch (field) {
        case ScriptField::kWeight: return fmt::format("{:16}", number(field, row));
        case ScriptField::kIregs:
        case ScriptField::kUregs:
            for (const auto& [name, value] : registers(field, row)) {
                text += name == "ABI" ? fmt::format(" ABI:{} ", value) : fmt::format("{:>5}:{:#x} ", name, value);
            }
            return text;
        case ScriptField::kBrstack:
            for (const Branch& branch : branches(row)) {
                text += branch_text(branch);
            }
            return text;
        default: return fmt::format("{:16x}", number(field, row));
    }
}

}  // namespace perfleet
