// `annotate`: samples by address of the selected functions. The command line disassembles the code, because it has the
// files.
//
// Rows: ascending by image, build-id, symbol, and offset. Their counts add up to the functions' self samples in `top`.
#pragma once

#include "query-engine/scan/scan.h"
#include "query-engine/statistic/answer/answer.h"
#include "query-engine/symbol/symbolizer.h"

namespace perfleet {

// Columns of an answer.
namespace annotate_column {
enum : std::size_t { kImage, kBuildId, kSymbol, kFirst, kLast, kOffset, kSelf, kIsFileOffset, kStart, kSelfSamples };
}

// The selection's filter names the functions.
[[nodiscard]] Result<Answer> make_annotate(const Scan& scan, Symbolizer& symbolizer);

}  // namespace perfleet
