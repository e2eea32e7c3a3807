#include "query-engine/statistic/latency/option_text.h"

#include "query-engine/statistic/latency/tracepoint_rows.h"

namespace perfleet {
namespace {

constexpr std::size_t kPercentilesMax = 32;

}  // namespace

Result<long double> parse_fraction_option(const std::string& name, const std::string& text) {
    const auto quantile = parse_percentile(text);
    if (!quantile || quantile->billionths == 0 || quantile->billionths == Quantile::kWhole) {
        return option_error(name, text, "a percentage between 0 and 100");
    }
    return quantile->fraction();
}

Result<std::vector<Quantile>> parse_percentiles_option(const std::string& name, const std::string& text) {
    std::vector<Quantile> quantiles;
    for (const std::string& part : split_list(text)) {
        const auto quantile = parse_percentile(part);
        if (!quantile || quantiles.size() == kPercentilesMax) {
            return option_error(name, text, "a list of at most 32 numbers from 0 to 100, such as 50,99.9");
        }
        quantiles.push_back(*quantile);
    }
    return quantiles;
}

Result<std::vector<std::string>> parse_pair_option(const std::string& text) {
    const std::size_t comma = text.find(',');
    if (comma == std::string::npos || comma == 0 || comma + 1 == text.size() ||
        text.find(',', comma + 1) != std::string::npos) {
        return option_error("pair", text, "two events with a comma between");
    }
    std::vector<std::string> pair{text.substr(0, comma), text.substr(comma + 1)};
    const auto event_of = [](const std::string& one) {
        return one.substr(0, one.size() - (one.ends_with(kEntrySuffix) ? kEntrySuffix.size() : 0));
    };
    if (event_of(pair[0]) == event_of(pair[1])) {
        return option_error("pair", text, "two events; what the rows of one carry is shown without it");
    }
    return pair;
}

}  // namespace perfleet
