#include "storage/engine/rados/loaded_librados.h"

#include <dlfcn.h>

#include <optional>

namespace perfleet {
namespace {

std::optional<Librados> load() {
    void* const file = ::dlopen(kLibradosFile, RTLD_NOW | RTLD_LOCAL);  // never unloaded: its threads run on
    Librados functions;
    bool has_all = file != nullptr;
#define PERFLEET_LIBRADOS_LOAD(name)                                                                       \
    functions.name = has_all ? reinterpret_cast<decltype(functions.name)>(::dlsym(file, #name)) : nullptr; \
    has_all = has_all && functions.name != nullptr;
    PERFLEET_LIBRADOS(PERFLEET_LIBRADOS_LOAD)
#undef PERFLEET_LIBRADOS_LOAD
    return has_all ? std::optional{functions} : std::nullopt;
}

}  // namespace

const Librados* librados() {
    static const std::optional<Librados> loaded = load();
    return loaded ? &*loaded : nullptr;
}

}  // namespace perfleet
