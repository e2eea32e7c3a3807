#include "query-engine/statistic/option_text.h"

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

}  // namespace perfleet
