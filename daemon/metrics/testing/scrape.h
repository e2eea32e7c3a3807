// A scrape as Prometheus makes it, for tests: HTTP over a plain socket, and a reader of the text format 0.0.4 that
// accepts nothing else.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace perfleet {

struct ScrapedFamily {
    std::string type;
    std::string help;
    // By name and labels as they were written: `x_bucket{le="0.5"}`.
    std::map<std::string, double> samples;
};

struct ScrapedPage {
    std::map<std::string, ScrapedFamily> families;
    std::vector<std::string> problems;  // each names its line; empty: the text keeps every rule

    // Of a sample as it was written, `name{label="value"}`.
    [[nodiscard]] std::optional<double> value(const std::string& sample) const;
    // Over all samples of a family.
    [[nodiscard]] double sum(const std::string& family) const;
    [[nodiscard]] std::string all_problems() const;
};

// Rules: each family once, HELP and TYPE before its samples, nothing of another in between; names, labels, escapes and
// numbers well-formed; no sample twice; counters not below 0 and called `…_total`; histograms with ascending bounds up
// to +Inf, counts that never fall, and as many in all as the last bucket says.
[[nodiscard]] ScrapedPage read_exposition(std::string_view text);

struct HttpAnswer {
    int status = 0;  // 0: none came
    std::string content_type;
    std::string body;
};

// `address` is HOST:PORT.
[[nodiscard]] HttpAnswer http_get(const std::string& address, const std::string& path);

// Fetches and reads /metrics; errors are among the problems.
[[nodiscard]] ScrapedPage scrape(const std::string& address);

}  // namespace perfleet
