#include "schemas/columns/seal.h"

#include <array>

#include "schemas/columns/crc32c.h"

namespace perfleet {
namespace {

// Adds integers to the checksum in little-endian order on every machine.
class Seal {
public:
    template <class... Integers>
    void integers(Integers... values) {
        (integer(values), ...);
    }
    void bytes(std::span<const std::byte> bytes) { crc_ = crc32c(crc_, bytes); }

    [[nodiscard]] std::uint32_t value() const { return crc_; }

private:
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

    std::uint32_t crc_ = 0;
};

}  // namespace

std::uint32_t seal_of(const BatchHeader& header, std::span<const SeriesView> series, std::span<const CountEntry> counts,
                      std::span<const SeqRange> dropped, std::span<const ClockPoint> clock_points) {
    Seal seal;
    seal.integers(header.session.high, header.session.low, header.seq.value, header.epoch.value, header.bucket.value);
    for (const SeriesView& rows : series) {
        seal.integers(static_cast<std::uint8_t>(rows.series.kind), rows.series.event.value, rows.row_count,
                      rows.first_ticks.value, rows.last_ticks.value, static_cast<std::uint16_t>(rows.columns.size()));
        for (const ColumnView& column : rows.columns) {
            seal.integers(static_cast<std::uint16_t>(column.id), static_cast<std::uint8_t>(column.codec),
                          static_cast<std::uint32_t>(column.bytes.size()));
            seal.bytes(column.bytes);
        }
    }
    for (const CountEntry& entry : counts) {
        seal.integers(static_cast<std::uint8_t>(entry.series.kind), entry.series.event.value,
                      static_cast<std::uint16_t>(entry.name), entry.value);
    }
    for (const SeqRange& range : dropped) {
        seal.integers(range.first.value, range.last.value);
    }
    for (const ClockPoint& point : clock_points) {
        seal.integers(point.ticks.value, static_cast<std::uint64_t>(point.utc_ns.value), point.uncertainty_ns);
    }
    return seal.value();
}

}  // namespace perfleet
