// Where an export goes, and what is reported when it is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "query-engine/statistic/answer/answer.h"
#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/time.h"

namespace perfleet {

class ExportSink {
public:
    virtual ~ExportSink() = default;
    // Bytes come in order; formats that aren't sequential write their header last, at offset 0.
    [[nodiscard]] virtual Result<Done> write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
};

struct ExportOutcome {
    std::optional<UtcNs> modified;  // what the file's modification time should be
    std::string summary;            // what was written: "1611 samples"
    Ledger ledger;
    std::vector<std::string> warnings;
};

}  // namespace perfleet
