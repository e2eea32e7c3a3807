// Metrics of a perfleet-collector that was started with --metrics.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "daemon/metrics/testing/scrape.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end {

// The address of the metrics that standard error shows.
inline std::string metrics_of(Process& process) {
    constexpr std::string_view kBefore = "perfleet-collector: metrics are at http://";
    const auto line = process.wait_for_error(kBefore);
    EXPECT_TRUE(line.has_value()) << process.error_output();
    const std::string address = line.value_or("").substr(std::min(kBefore.size(), line.value_or("").size()));
    return address.substr(0, address.find('/'));
}

// Scrapes until `is_enough` or the timeout is over.
template <class Condition>
ScrapedPage scrape_until(const std::string& address, const Condition& is_enough) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{kTimeoutS};
    ScrapedPage page = scrape(address);
    while (!is_enough(page) && page.problems.empty() && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        page = scrape(address);
    }
    EXPECT_EQ(page.all_problems(), "");
    return page;
}

}  // namespace perfleet::end_to_end
