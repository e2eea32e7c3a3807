#include "exporters/figure/figure_text.h"

#include <array>
#include <variant>

#include "exporters/report/report_parts.h"
#include "schemas/text/layout.h"
#include "schemas/text/utf8.h"

namespace perfleet {
namespace {

constexpr std::uint64_t kTicksMax = 8;

using Wide = unsigned __int128;

}  // namespace

std::uint64_t whole(const AnswerValue& value) {
    const auto* number = std::get_if<std::uint64_t>(&value);
    return number == nullptr ? 0 : *number;
}

Tenths scaled(std::uint64_t part, std::uint64_t total, Tenths length) {
    return total == 0 ? 0
                      : static_cast<Tenths>((Wide{part} * static_cast<Wide>(length) * 2 + total) / (Wide{total} * 2));
}

std::uint64_t step_for(std::uint64_t range) {
    for (std::uint64_t power = 1;; power *= 10) {
        for (const std::uint64_t factor : {1U, 2U, 5U}) {
            if (power > ~0ULL / 50 || range / (power * factor) < kTicksMax) {
                return power * factor;
            }
        }
    }
}

std::string in_unit(std::uint64_t parts, unsigned decimals) {
    if (decimals == 0) {
        return std::to_string(parts);
    }
    std::string text = std::to_string(parts);
    if (text.size() <= decimals) {
        text.insert(0, decimals + 1 - text.size(), '0');
    }
    text.insert(text.size() - decimals, ".");
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

std::string share_text(std::uint64_t part, std::uint64_t total) {
    const auto tenths = static_cast<std::uint64_t>((Wide{part} * 2'000 + total) / (Wide{total} * 2));
    return tenths == 0 && part != 0 ? "< 0.1 %"
                                    : std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

std::string shortened_title(const std::string& text, std::size_t size_max) {
    return shortened(printable(text), size_max);
}

std::string duration_text(std::uint64_t ns, std::uint64_t range) {
    struct Unit {
        const char* name;
        unsigned decimals;
    };
    constexpr std::array kUnits{Unit{" s", 9}, Unit{" ms", 6}, Unit{" us", 3}, Unit{" ns", 0}};
    const auto unit = range >= 2'000'000'000 ? 0U : range >= 2'000'000 ? 1U : range >= 2'000 ? 2U : 3U;
    return in_unit(ns, kUnits[unit].decimals) + kUnits[unit].name;
}

std::optional<AnswerValue> figure_of(const Answer& summary, const std::string& name) {
    for (std::size_t i = 0; i < summary.columns.size() && summary.rows.size() == 1; ++i) {
        if (summary.columns[i].name == name && !std::holds_alternative<std::monostate>(summary.rows[0][i])) {
            return summary.rows[0][i];
        }
    }
    return std::nullopt;
}

std::string figure_text(const Answer& summary, const std::string& name) {
    const auto value = figure_of(summary, name);
    if (!value) {
        return "";
    }
    const std::string text = text_cell({name, ""}, *value);
    return text.ends_with(".00") ? text.substr(0, text.size() - 3) : text;
}

}  // namespace perfleet
