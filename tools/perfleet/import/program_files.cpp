#include "tools/perfleet/import/program_files.h"

#include "query-engine/symbol/symbol_files.h"

namespace perfleet {

ProgramFiles program_files(const SymbolPaths& paths) {
    const auto paths_of = [paths](const Image& image) {
        ImageDefinition wanted;
        wanted.flags = image.flags;
        wanted.name = image.name;
        wanted.build_id.assign(reinterpret_cast<const char*>(image.content.bytes.data()), image.content.size_bytes);
        return symbol_files_of(wanted, paths);
    };
    return {paths_of, paths.build_id_cache};
}

}  // namespace perfleet
