// `perfleet relay --otlp URL`: sends what a store, a file or a gateway has on as OTLP, and accounts for each row.
//
// Rows are sent session by session in answers of bounded size (exporters/otlp/otlp_frames.h), one request at a time. A
// position for each session, in whole batches, records what was sent. Later answers continue there, so that nothing is
// left out or sent twice while the relay runs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "tools/perfleet/query/query_source.h"

namespace perfleet {

struct OtlpRelayOptions {
    std::string url;  // empty: the relay doesn't send OTLP
    std::vector<std::string> headers;
    std::string header_file;
    std::string ca_file;
    std::uint64_t give_up_after_s = 300;
    bool follows = false;
    QueryOptions source;
};

// The outcome of the rows that were read.
struct OtlpLedger {
    static constexpr std::size_t kReasonsMax = 16;

    std::uint64_t read = 0;
    std::uint64_t accepted = 0;
    std::map<std::string, std::uint64_t> rejected;  // by reason; those beyond kReasonsMax together
    std::uint64_t unsent = 0;
    std::uint64_t requests = 0;
    std::uint64_t retries = 0;

    void reject(const std::string& reason, std::uint64_t rows);
    [[nodiscard]] std::uint64_t rejected_count() const;
    // "rows: 9 read = 5 accepted + 3 rejected (3: HTTP 400: too large) + 1 not sent; 2 requests, 0 retries"
    [[nodiscard]] std::string line() const;
};

// The exit status: 0 if every row was accepted. Errors: kUsage, those of reading before the first row.
[[nodiscard]] Result<int> relay_otlp(OtlpRelayOptions& options);

}  // namespace perfleet
