#include "schemas/columns/seal.h"

#include <array>

#include "schemas/columns/crc32c.h"

namespace perfleet {
namespace {

// Adds integers to the checksum in little-endian order on every machine.
class Seal {
public:
    template <class Integer>
    void integer(Integer value) {
        std::array<std::byte, sizeof(Integer)> bytes{};
        auto rest = static_cast<std::uint64_t>(value);
        for (auto& byte : bytes) {
            byte = static_cast<std::byte>(rest & 0xff);
            rest >>= 8;
        }
        crc_ = crc32c(crc_, bytes);
    }

    void bytes(std::span<const std::byte> bytes) { crc_ = crc32c(crc_, bytes); }

    [[nodiscard]] std::uint32_t value() const { return crc_; }

private:
    std::uint32_t crc_ = 0;
};

}  // namespace

std::uint32_t seal_of(const BatchHeader& header, std::span<const SeriesView> series, std::span<const CountEntry> counts,
                      std::span<const SeqRange> dropped, std::span<const ClockPoint> clock_points) {
    Seal seal;
    seal.integer(header.session.high);
    seal.integer(header.session.low);
    seal.integer(header.seq.value);
    seal.integer(header.epoch.value);
    seal.integer(header.bucket.value);
    for (const SeriesView& rows : series) {
        seal.integer(static_cast<std::uint8_t>(rows.series.kind));
        seal.integer(rows.series.event.value);
        seal.integer(rows.row_count);
        seal.integer(rows.first_ticks.value);
        seal.integer(rows.last_ticks.value);
        seal.integer(static_cast<std::uint16_t>(rows.columns.size()));
        for (const ColumnView& column : rows.columns) {
            seal.integer(static_cast<std::uint16_t>(column.id));
            seal.integer(static_cast<std::uint8_t>(column.codec));
            seal.integer(static_cast<std::uint32_t>(column.bytes.size()));
            seal.bytes(column.bytes);
        }
    }
    for (const CountEntry& entry : counts) {
        seal.integer(static_cast<std::uint8_t>(entry.series.kind));
        seal.integer(entry.series.event.value);
        seal.integer(static_cast<std::uint16_t>(entry.name));
        seal.integer(entry.value);
    }
    for (const SeqRange& range : dropped) {
        seal.integer(range.first.value);
        seal.integer(range.last.value);
    }
    for (const ClockPoint& point : clock_points) {
        seal.integer(point.ticks.value);
        seal.integer(static_cast<std::uint64_t>(point.utc_ns.value));
        seal.integer(point.uncertainty_ns);
    }
    return seal.value();
}

}  // namespace perfleet
