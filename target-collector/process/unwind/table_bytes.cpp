#include "target-collector/process/unwind/table_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace perfleet {
namespace {

constexpr std::uint32_t kMagic = 0x5455'4650;  // "PFUT"

struct Header {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint32_t machine;
    std::uint32_t rule_count;
    std::uint64_t row_count;
    std::uint64_t refused_count;
};
static_assert(sizeof(Header) == kUnwindTableHeaderBytes);

struct RuleBytes {
    std::uint8_t cfa_base;
    std::uint8_t return_address;
    std::uint8_t frame_pointer;
    std::uint8_t is_signal_frame;
    std::uint8_t rbx;
    std::array<std::uint8_t, 3> unused;
    std::int32_t cfa_offset;
    std::int32_t cfa_addend;
    std::int32_t return_address_offset;
    std::int32_t frame_pointer_offset;
    std::int32_t rbx_offset;
};
static_assert(sizeof(RuleBytes) == kUnwindRuleBytes);

constexpr std::uint8_t number(auto value) { return static_cast<std::uint8_t>(value); }

RuleBytes encoded_rule(const UnwindRule& rule) {
    return {number(rule.cfa_base),
            number(rule.return_address),
            number(rule.frame_pointer),
            number(rule.is_signal_frame),
            number(rule.rbx),
            {},
            rule.cfa_offset,
            rule.cfa_addend,
            rule.return_address_offset,
            rule.frame_pointer_offset,
            rule.rbx_offset};
}

UnwindRule decoded_rule(const RuleBytes& bytes) {
    UnwindRule rule;
    rule.cfa_base = static_cast<CfaBase>(bytes.cfa_base);
    rule.return_address = static_cast<SavedAt>(bytes.return_address);
    rule.frame_pointer = static_cast<SavedAt>(bytes.frame_pointer);
    rule.is_signal_frame = bytes.is_signal_frame != 0;
    rule.rbx = static_cast<SavedAt>(bytes.rbx);
    rule.cfa_offset = bytes.cfa_offset;
    rule.cfa_addend = bytes.cfa_addend;
    rule.return_address_offset = bytes.return_address_offset;
    rule.frame_pointer_offset = bytes.frame_pointer_offset;
    rule.rbx_offset = bytes.rbx_offset;
    return rule;
}

bool is_rule(const RuleBytes& bytes) {
    return bytes.cfa_base <= number(CfaBase::kRbx) && bytes.return_address <= number(SavedAt::kFrame) &&
           bytes.frame_pointer <= number(SavedAt::kFrame) && bytes.rbx <= number(SavedAt::kUnknown) &&
           bytes.is_signal_frame <= 1 && bytes.unused == std::array<std::uint8_t, 3>{};
}

template <class Value>
void append(std::string& text, const Value* values, std::size_t count) {
    text.append(reinterpret_cast<const char*>(values), count * sizeof(Value));
}

// Takes `count` values from the front; the caller has checked the size.
template <class Value>
std::vector<Value> take(std::span<const std::byte>& bytes, std::size_t count) {
    std::vector<Value> values(count);
    if (count > 0) {
        std::memcpy(values.data(), bytes.data(), count * sizeof(Value));
    }
    bytes = bytes.subspan(count * sizeof(Value));
    return values;
}

Error corrupt() { return {ErrorCode::kCorrupt, "not an unwind table, or a damaged one"}; }

}  // namespace

std::string unwind_table_bytes(const UnwindTable& table) {
    const Header header{kMagic,
                        kUnwindTableVersion,
                        static_cast<std::uint32_t>(table.machine_),
                        static_cast<std::uint32_t>(table.rules_.size()),
                        table.places_.size(),
                        table.refused_count_};
    std::string bytes;
    bytes.reserve(sizeof(header) + (kUnwindRuleBytes * table.rules_.size()) + (kUnwindRowBytes * table.places_.size()));
    append(bytes, &header, 1);
    for (const UnwindRule& rule : table.rules_) {
        const RuleBytes rule_bytes = encoded_rule(rule);
        append(bytes, &rule_bytes, 1);
    }
    append(bytes, table.places_.data(), table.places_.size());
    append(bytes, table.rule_indices_.data(), table.rule_indices_.size());
    return bytes;
}

Result<UnwindTable> unwind_table_of_bytes(std::span<const std::byte> bytes) {
    if (bytes.size() < sizeof(Header)) {
        return corrupt();
    }
    const Header header = take<Header>(bytes, 1).front();
    if (header.magic != kMagic) {
        return corrupt();
    }
    if (header.version != kUnwindTableVersion) {
        return Error{ErrorCode::kUnsupported, "an unwind table of version " + std::to_string(header.version)};
    }
    if (header.machine > number(UnwindMachine::kAarch64) || header.rule_count == 0 ||
        header.rule_count > kUnwindRulesMax || header.row_count > kUnwindRowsMax ||
        bytes.size() != (kUnwindRuleBytes * header.rule_count) + (kUnwindRowBytes * header.row_count)) {
        return corrupt();
    }
    UnwindTable table;
    table.machine_ = static_cast<UnwindMachine>(header.machine);
    table.refused_count_ = header.refused_count;
    const auto rules = take<RuleBytes>(bytes, header.rule_count);
    if (!std::all_of(rules.begin(), rules.end(), [](const RuleBytes& rule) { return is_rule(rule); })) {
        return corrupt();
    }
    for (const RuleBytes& rule : rules) {
        table.rules_.push_back(decoded_rule(rule));
    }
    const auto row_count = static_cast<std::size_t>(header.row_count);
    table.places_ = take<std::uint32_t>(bytes, row_count);
    table.rule_indices_ = take<std::uint16_t>(bytes, row_count);
    if (table.rules_.front() != UnwindRule{} || !std::is_sorted(table.places_.begin(), table.places_.end()) ||
        std::any_of(table.rule_indices_.begin(), table.rule_indices_.end(),
                    [&](std::uint16_t index) { return index >= header.rule_count; })) {
        return corrupt();
    }
    return table;
}

}  // namespace perfleet
