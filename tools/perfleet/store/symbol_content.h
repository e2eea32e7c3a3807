// Makes the stored form of an image's symbols from files, as a collector would send it.
#pragma once

#include <string>
#include <string_view>

#include "query-engine/symbol/debuginfod.h"
#include "schemas/vocabulary/error.h"
#include "storage/store/store.h"

namespace perfleet {

struct BuildSymbols {
    std::string build_id;  // raw
    ImageContent content;
    bool is_whole = false;  // it has the .symtab of the build
};

// The symbols of a program or library with its debug file: the given one, else the one that it names or that
// /usr/lib/debug has. A debug file alone isn't enough, because it lacks the file offsets of code. Errors: those of
// reading; kInvalid if there are no symbols or no build-id; kConflict: different builds.
[[nodiscard]] Result<BuildSymbols> symbols_of_files(const std::string& program, const std::string& debug_file);

// The symbols of a build from debuginfod servers. Errors: those of Debuginfod::find() and of symbols_of_files().
[[nodiscard]] Result<BuildSymbols> symbols_of_servers(Debuginfod& servers, std::string_view build_id);

}  // namespace perfleet
