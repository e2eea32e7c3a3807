// The samples of a function by instruction: the output of `perfleet annotate`.
//
// Only code of the recorded build is disassembled. Without such a file, each address with samples is a line, relative
// to the function's start.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "query-engine/statistic/answer/answer.h"
#include "query-engine/statistic/number/sum.h"
#include "query-engine/symbol/symbolizer.h"
#include "schemas/vocabulary/error.h"

namespace perfleet {

// A function of one build of an image.
struct AnnotatedFunction {
    std::string image;
    std::string build_id;  // hexadecimal; empty: none was recorded
    std::string symbol;
    bool is_file_offset = false;
    std::uint64_t start = 0;      // offset or address of the symbol
    std::uint64_t first = ~0ULL;  // offsets or addresses, both included
    std::uint64_t last = 0;
    std::map<std::uint64_t, Sum> samples;  // by offset or address
    Sum total;
};

struct AnnotatedLine {
    std::string address;  // empty: a source line
    Sum self;
    double percent = 0;
    std::string text;
};

// The functions in the answer of the query `annotate` (query-engine/statistic/profile/annotate.h), the greatest first.
[[nodiscard]] std::vector<AnnotatedFunction> functions_of(const Answer& answer);

struct AnnotateTools {
    SymbolPaths paths;
    std::string objdump = "objdump";
    bool has_source = true;
    bool has_inlines = false;
};

// Ascending by address. Without code, adds the reason to the warnings. Errors: those of objdump.
[[nodiscard]] Result<std::vector<AnnotatedLine>> annotate(const AnnotatedFunction& function, const AnnotateTools& tools,
                                                          std::vector<std::string>& warnings);

}  // namespace perfleet
