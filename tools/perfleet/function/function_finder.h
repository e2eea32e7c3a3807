// Finds a function of an image by its name, and where its calls begin and end.
//
// Files are read as they are now; everything in them is untrusted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "query-engine/symbol/symbolizer.h"
#include "schemas/vocabulary/error.h"
#include "target-collector/source/linux/bpf/function_tracer.h"
#include "tools/perfleet/function/function_image.h"
#include "tools/perfleet/function/function_overhead.h"

namespace perfleet {

struct FunctionSearch {
    SymbolPaths paths;
    std::string objdump = "objdump";
    bool uses_uretprobes = false;  // TracedFunction::exits stay empty
};

struct FoundFunction {
    TracedFunction traced;  // its name: "libc.so.6:malloc"
    ProbedWay way;
};

// `name` as in the symbol table, or demangled ("ns::Class::f", without parameters), or an address of the file
// ("0x1234"). Errors: kNotFound (names near ones; says that the file is stripped), kUsage (several functions have this
// name), kUnsupported (where its calls end can't be told), those of reading the file.
[[nodiscard]] Result<FoundFunction> find_function(const FunctionImage& image, const std::string& name,
                                                  const FunctionSearch& search);

}  // namespace perfleet
