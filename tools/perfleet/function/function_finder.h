// Finds a function of an image by name, and the addresses at which its calls begin and end.
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
    bool uses_uretprobes = false;  // TracedFunction::exits stays empty
};

struct FoundFunction {
    TracedFunction traced;  // its name: "libc.so.6:malloc"
    ProbedWay way;
};

// `name` is that of the symbol table, or demangled ("ns::Class::f", without parameters), or an address of the file
// ("0x1234"). Errors: kNotFound (the message names similar functions, or says that the file is stripped), kUsage
// (several functions have this name), kUnsupported (exits can't be found), those of reading the file.
[[nodiscard]] Result<FoundFunction> find_function(const FunctionImage& image, const std::string& name,
                                                  const FunctionSearch& search);

}  // namespace perfleet
