// What --version prints.
#pragma once

#include <string>
#include <string_view>

namespace perfleet {

// "perfleet-gateway 0.1.0-dev (1f0c2d3e4b5a)": name, version, and the commit that the source is of; without the commit
// if the build doesn't know it. Defined by a source that the build writes (cmake/PerfleetCommit.cmake). It is linked
// with programs, not with modules, so that a new commit compiles only that source and links the programs.
[[nodiscard]] std::string version_line(std::string_view program);

}  // namespace perfleet
