// perfleet-gateway as a process, ready to serve.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end {

class GatewayProgram {
public:
    // Starts it and waits until it serves; a failure when it doesn't.
    explicit GatewayProgram(const std::string& data, const std::string& listen = "tcp://127.0.0.1:*",
                            const std::string& query = "none",
                            const std::string& program = program_path("perfleet-gateway"),
                            const Process::Options& options = {}, const std::vector<std::string>& more = {})
        : process_{joined({program, "--data", data, "--listen", listen, "--query", query}, more), options} {
        const auto line = process_.wait_for_output("ready ");
        EXPECT_TRUE(line.has_value()) << process_.error_output();
        listen_ = field_of(line.value_or(""), "listen");
        query_ = field_of(line.value_or(""), "query");
        http_ = field_of(line.value_or(""), "http");
        metrics_ = field_of(line.value_or(""), "metrics");
    }

    [[nodiscard]] const std::string& listen() const { return listen_; }
    [[nodiscard]] const std::string& query() const { return query_; }
    // Empty: it serves none.
    [[nodiscard]] const std::string& http() const { return http_; }
    // Empty: it has no metrics.
    [[nodiscard]] const std::string& metrics() const { return metrics_; }
    [[nodiscard]] Process& process() { return process_; }

    // Ends it with this signal and returns how it ended.
    Ending end(int signal) {
        process_.send_signal(signal);
        const auto ending = process_.wait();
        EXPECT_TRUE(ending.has_value()) << "still running";
        return ending.value_or(Ending{});
    }

private:
    static std::vector<std::string> joined(std::vector<std::string> words, const std::vector<std::string>& more) {
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }

    Process process_;
    std::string listen_;
    std::string query_;
    std::string http_;
    std::string metrics_;
};

}  // namespace perfleet::end_to_end
