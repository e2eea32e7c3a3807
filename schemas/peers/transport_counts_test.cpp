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

TEST(TransportCounts, AnUnknownNameIsLeftOut) {
    TransportCounts counts;
    counts.refused_first_message_timeout = 3;
    EXPECT_EQ(parse_counts("counts refused_first_message_timeout=3 of_tomorrow=4"), counts);
}

TEST(TransportCounts, OtherLinesAreNone) {
    for (const char* line : {"", "ready query=tcp://127.0.0.1:1", "countsx", "counts x",
                             "counts refused_first_message_timeout=", "counts refused_first_message_timeout=3x",
                             "counts refused_first_message_timeout=-1", "counts  refused_first_message_timeout=1",
                             "counts refused_first_message_timeout=18446744073709551616"}) {
        EXPECT_EQ(parse_counts(line), std::nullopt) << line;
    }
}

}  // namespace
}  // namespace perfleet
