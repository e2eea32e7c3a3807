#include "schemas/pprof/pprof_profile.h"

#include <gtest/gtest.h>

#include <string>

namespace perfleet {
namespace {

TEST(LegacyProfile, IsKnownByItsFirstBytesOnEveryMachine) {
    for (const std::size_t size : {4U, 8U}) {
        for (const bool is_big_endian : {false, true}) {
            for (const char version : {'\0', '\1'}) {  // C++ and Go, Java
                std::string head(5 * size, '\0');
                const std::size_t lowest = is_big_endian ? size - 1 : 0;
                head[size + lowest] = '\3';
                head[2 * size + lowest] = version;
                EXPECT_TRUE(is_legacy_profile(head)) << size << is_big_endian << static_cast<int>(version);
                head[2 * size + lowest] = '\2';
                EXPECT_FALSE(is_legacy_profile(head));
            }
        }
    }
    for (const char* text :
         {"heap profile: 1: 2 [3: 4] @ heapz/1", "--- contention:\ncycles/second", "goroutine profile: total 1"}) {
        EXPECT_TRUE(is_legacy_profile(text)) << text;
    }
    for (const std::string& other :
         {std::string{}, std::string(7, '\0'), std::string(64, '\0'), std::string{"\x0a\x04\x08\x01\x10\x02"}}) {
        EXPECT_FALSE(is_legacy_profile(other));
    }
}

}  // namespace
}  // namespace perfleet
