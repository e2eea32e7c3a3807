#include "query-engine/symbol/demangle.h"

#include <libiberty/demangle.h>

#include <csetjmp>

namespace perfleet {
namespace {

// Receives the demangler's output part by part. A name can expand without bound, each part repeating the last one
// twice; past the limit, longjmp() leaves the demangler (it owns nothing but its stack).
struct NameSink {
    std::string text;
    std::jmp_buf way_out;
};

void take_part(const char* part, std::size_t size, void* opaque) {
    auto& sink = *static_cast<NameSink*>(opaque);
    if (size > kDemangledNameSizeBytesMax - sink.text.size()) {
        std::longjmp(sink.way_out, 1);  // NOLINT(cert-err52-cpp)
    }
    sink.text.append(part, size);
}

using Demangler = int (*)(const char*, int, demangle_callbackref, void*);

// No object that needs a destructor lives in this function or is made by the demangler: the jump skips none.
bool demangles(Demangler demangler, const char* mangled, NameSink& sink) {
    sink.text.clear();
    if (setjmp(sink.way_out) != 0) {  // NOLINT(cert-err52-cpp)
        return false;
    }
    return demangler(mangled, DMGL_NO_OPTS, take_part, &sink) != 0;
}

}  // namespace

std::string demangled_name(std::string_view name) {
    if (name.size() > kMangledNameSizeBytesMax ||
        (!name.starts_with("_Z") && !name.starts_with("_R") && !name.starts_with("_GLOBAL_"))) {
        return std::string{name};
    }
    std::string mangled{name};
    NameSink sink;
    sink.text.reserve(256);
    // Rust first: its older names are valid C++ names, too.
    if (demangles(rust_demangle_callback, mangled.c_str(), sink) ||
        demangles(cplus_demangle_v3_callback, mangled.c_str(), sink)) {
        return std::move(sink.text);
    }
    return mangled;
}

}  // namespace perfleet
