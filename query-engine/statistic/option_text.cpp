#include "query-engine/statistic/option_text.h"

#include <algorithm>

namespace perfleet {
namespace {

constexpr std::size_t kPercentilesMax = 32;

}  // namespace

Error option_error(const std::string& name, const std::string& text, const std::string& expected) {
    return Error{ErrorCode::kUsage, "--" + name + ": \"" + text.substr(0, 64) + "\" is not " + expected};
}

Result<long double> parse_fraction_option(const std::string& name, const std::string& text) {
    const auto quantile = parse_percentile(text);
    if (!quantile || quantile->billionths == 0 || quantile->billionths == Quantile::kWhole) {
        return option_error(name, text, "a percentage between 0 and 100");
    }
    return quantile->fraction();
}

Result<std::vector<Quantile>> parse_percentiles_option(const std::string& name, const std::string& text) {
    std::vector<Quantile> quantiles;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(',', start), text.size());
        const auto quantile = parse_percentile(std::string_view{text}.substr(start, end - start));
        if (!quantile || quantiles.size() == kPercentilesMax) {
            return option_error(name, text, "a list of at most 32 numbers from 0 to 100, such as 50,99.9");
        }
        quantiles.push_back(*quantile);
        start = end + 1;
    }
    return quantiles;
}

}  // namespace perfleet
