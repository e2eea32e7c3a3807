#include "schemas/peers/transport_counts.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

TEST(TransportCounts, AreTheSameAfterBeingWrittenAsALine) {
    TransportCounts counts;
    counts.connections_now = 1;
    counts.refused_revoked = 2;
    counts.handshakes_unknown_key = ~std::uint64_t{0};
    counts.key_files_refused = 4;
    const std::string line = format_counts(counts);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    EXPECT_EQ(parse_counts(line), counts);
    EXPECT_EQ(parse_counts(format_counts({})), TransportCounts{});
}

TEST(TransportCounts, OtherLinesAreNone) {
    const std::string line = format_counts({});
    for (const std::string& other :
         {std::string{}, std::string{"ready query=tcp://127.0.0.1:1"}, line + "x", line + " 1", "x" + line,
          line.substr(0, line.size() - 2), line.substr(0, line.size() - 1) + "-1",
          line.substr(0, line.size() - 1) + "18446744073709551616"}) {
        EXPECT_EQ(parse_counts(other), std::nullopt) << other;
    }
}

}  // namespace
}  // namespace perfleet
