// A session that an earlier collector left in a spool file, ready to be delivered to its end.
//
// A resource: it owns the mapped file and the delivery that works in it. One thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/vocabulary/error.h"
#include "schemas/vocabulary/non_copyable.h"
#include "target-collector/ring/spsc_ring.h"
#include "target-collector/spool/spool_file.h"
#include "target-collector/spool/spool_reading.h"
#include "target-collector/wire/delivery.h"
#include "target-collector/wire/driver.h"

namespace perfleet {

class OrphanSession : NonCopyable {
public:
    // `driver` is borrowed. Errors: SpoolFile::open()'s, and kCorrupt for a file with unreadable content; all name the
    // file. Damaged batches are no error: reading() lists them, and their rows count as killed.
    [[nodiscard]] static Result<std::unique_ptr<OrphanSession>> open(const std::string& path, NetworkDriver& driver);
    ~OrphanSession() = default;

    [[nodiscard]] const SpoolFile& file() const { return *file_; }
    [[nodiscard]] const SpoolReading& reading() const { return *reading_; }
    [[nodiscard]] Delivery& delivery() { return *delivery_; }

    // "session 0123… of an earlier run"
    [[nodiscard]] std::string name() const;

private:
    OrphanSession(std::unique_ptr<SpoolFile> file, std::unique_ptr<SpoolReading> reading, NetworkDriver& driver);

    std::unique_ptr<SpoolFile> file_;
    std::unique_ptr<SpoolReading> reading_;
    std::vector<std::byte> hello_;
    std::vector<std::uint64_t> batches_memory_;
    std::vector<std::uint64_t> losses_memory_;
    SpscRing batches_;  // stays empty
    SpscRing losses_;   // stays unread
    DeliveryJournal journal_;
    std::optional<Delivery> delivery_;
};

}  // namespace perfleet
