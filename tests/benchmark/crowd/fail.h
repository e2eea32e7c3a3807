// A program that can't continue prints why and ends.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace perfleet {

[[noreturn]] inline void fail(const std::string& what) {
    std::fprintf(stderr, "crowd_targets: %s\n", what.c_str());
    std::exit(1);
}

}  // namespace perfleet
