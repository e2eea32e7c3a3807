// What a store keeps of an image's symbols, made of files: what a collector would have sent of them.
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

// Of a program or library, with its separate debug file: the one that is named, else the one that it names itself or
// that /usr/lib/debug has. A debug file by itself isn't enough, for it doesn't say where code lies. Errors: those of
// reading; kInvalid for what has no symbols or no build-id; kConflict: two builds.
[[nodiscard]] Result<BuildSymbols> symbols_of_files(const std::string& program, const std::string& debug_file);

// What debuginfod servers have of a build. Errors: those of Debuginfod::find() and of symbols_of_files().
[[nodiscard]] Result<BuildSymbols> symbols_of_servers(Debuginfod& servers, std::string_view build_id);

}  // namespace perfleet
