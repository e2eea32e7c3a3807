#include "storage/engine/testing/fault_plan.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace perfleet {
namespace {

std::optional<std::uint64_t> number_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional{value} : std::nullopt;
}

template <class Value, std::size_t kCount>
bool choose(std::string_view text, const std::array<std::pair<std::string_view, Value>, kCount>& choices,
            Value& value) {
    for (const auto& [name, choice] : choices) {
        if (name == text) {
            value = choice;
            return true;
        }
    }
    return false;
}

bool parse_number(std::string_view text, std::uint64_t& value) {
    const auto number = number_of(text);
    value = number.value_or(value);
    return number.has_value();
}

bool parse_when(std::string_view text, FaultPlan::When& when) {
    using Type = FaultPlan::When::Type;
    when = {};
    if (choose<Type, 3>(text, {{{"ok", Type::kNever}, {"once", Type::kOnce}, {"always", Type::kAlways}}}, when.type)) {
        return true;
    }
    const std::size_t colon = text.find(':');
    return colon != text.npos && parse_number(text.substr(colon + 1), when.n) &&
           choose<Type, 2>(text.substr(0, colon), {{{"every", Type::kEvery}, {"after", Type::kAfter}}}, when.type) &&
           (when.n > 0 || when.type == Type::kAfter);
}

bool parse_files(std::string_view text, unsigned& files) {
    files = 0;
    while (!text.empty()) {
        const std::string_view name = text.substr(0, text.find(','));
        unsigned type = 0;
        if (!choose<unsigned, 4>(name,
                                 {{{"log", FaultPlan::kLog},
                                   {"table", FaultPlan::kTable},
                                   {"manifest", FaultPlan::kManifest},
                                   {"other", FaultPlan::kOther}}},
                                 type)) {
            return false;
        }
        files |= type;
        text.remove_prefix(std::min(text.size(), name.size() + 1));
    }
    return files != 0;
}

bool parse_word(std::string_view name, std::string_view value, FaultPlan& plan) {
    using Loss = FaultPlan::Loss;
    using Breakage = FaultPlan::Breakage;
    if (name == "seed") {
        return parse_number(value, plan.seed);
    }
    if (name == "files") {
        return parse_files(value, plan.files);
    }
    if (name == "sync") {
        return parse_when(value, plan.sync);
    }
    if (name == "write") {
        return parse_when(value, plan.write);
    }
    if (name == "room") {
        plan.room_size_bytes = FaultPlan::kAnyRoom;
        return value == "any" || parse_number(value, plan.room_size_bytes);
    }
    if (name == "crash-at") {
        return parse_number(value, plan.crash_at);
    }
    if (name == "lose") {
        return choose<Loss, 4>(
            value, {{{"cut", Loss::kCut}, {"all", Loss::kAll}, {"sectors", Loss::kSectors}, {"none", Loss::kNone}}},
            plan.loss);
    }
    return name == "break" && choose<Breakage, 6>(value,
                                                  {{{"none", Breakage::kNone},
                                                    {"ack-before-sync", Breakage::kAckBeforeSync},
                                                    {"key-without-seq", Breakage::kKeyWithoutSeq},
                                                    {"watermark-before-rows", Breakage::kWatermarkBeforeRows},
                                                    {"join-drops-block", Breakage::kCompactDropsBlock},
                                                    {"repeat-at-watermark", Breakage::kRepeatAtWatermark}}},
                                                  plan.breakage);
}

}  // namespace

bool FaultPlan::When::is_due(std::uint64_t count) const {
    switch (type) {
        case Type::kNever: return false;
        case Type::kOnce: return count == 1;
        case Type::kAlways: return true;
        case Type::kEvery: return count % n == 0;
        case Type::kAfter: return count > n;
    }
    return false;
}

Result<FaultPlan> parse_fault_plan(std::string_view text) {
    constexpr std::string_view kSeparators = " \t\r\n;";
    FaultPlan plan;
    for (std::size_t at = text.find_first_not_of(kSeparators); at < text.size();
         at = text.find_first_not_of(kSeparators, at)) {
        const std::string_view word = text.substr(at, text.find_first_of(kSeparators, at) - at);
        at += word.size();
        const std::size_t equals = word.find('=');
        if (equals == word.npos || !parse_word(word.substr(0, equals), word.substr(equals + 1), plan)) {
            return Error{ErrorCode::kUsage,
                         "fault plan: '" + std::string{word} + "' is unknown; see storage/engine/testing/fault_plan.h"};
        }
    }
    return plan;
}

FaultPlan::FileType file_type_of(std::string_view name) {
    return name.ends_with(".log")          ? FaultPlan::kLog
           : name.ends_with(".sst")        ? FaultPlan::kTable
           : name.starts_with("MANIFEST-") ? FaultPlan::kManifest
                                           : FaultPlan::kOther;
}

}  // namespace perfleet
