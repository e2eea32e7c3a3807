#include "target-collector/intake/perf-data/recorded_event.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "schemas/perf/perf_event.h"
#include "schemas/text/counter_unit.h"
#include "schemas/vocabulary/batch_limits.h"
#include "target-collector/records/byte_cursor.h"
#include "target-collector/source/linux/event/event_table.h"

namespace perfleet {
namespace {

// Widths of perf_event_attr's fields, in bytes; later fields are words of 8.
constexpr std::array kFieldSizes{4U, 4U, 8U, 8U, 8U, 8U, 8U, 4U, 4U, 8U, 8U, 8U, 8U, 4U, 4U, 8U, 4U, 2U, 2U, 4U, 4U};
constexpr std::size_t kFlagsAt = 40;

// C's bit-fields begin at the other end of a byte on machines with the other byte order.
std::byte reversed_bits(std::byte byte) {
    auto value = static_cast<unsigned>(byte);
    value = ((value & 0xf0U) >> 4U) | ((value & 0x0fU) << 4U);
    value = ((value & 0xccU) >> 2U) | ((value & 0x33U) << 2U);
    value = ((value & 0xaaU) >> 1U) | ((value & 0x55U) << 1U);
    return static_cast<std::byte>(value);
}

std::string in_own_order(std::span<const std::byte> attr) {
    std::string own(reinterpret_cast<const char*>(attr.data()), attr.size());
    std::size_t at = 0;
    for (std::size_t i = 0; at < own.size(); ++i) {
        const std::size_t size = i < kFieldSizes.size() ? kFieldSizes[i] : 8;
        const auto first = own.begin() + static_cast<std::ptrdiff_t>(at);
        const auto end = own.begin() + static_cast<std::ptrdiff_t>(std::min(at + size, own.size()));
        if (at == kFlagsAt) {
            std::transform(first, end, first,
                           [](char byte) { return static_cast<char>(reversed_bits(static_cast<std::byte>(byte))); });
        } else {
            std::reverse(first, end);
        }
        at += size;
    }
    return own;
}

std::string hex(const char* before, std::uint64_t value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%s0x%llx", before, static_cast<unsigned long long>(value));
    return text.data();
}

const NamedEvent* named(const RecordedEvent& event) {
    const auto events = named_events();
    const auto found = std::find_if(events.begin(), events.end(), [&](const NamedEvent& one) {
        return one.type == event.type && one.config == event.config;
    });
    return found == events.end() ? nullptr : &*found;
}

}  // namespace

std::optional<RecordedEvent> read_attr(std::span<const std::byte> attr, bool is_foreign) {
    if (attr.size() < kAttrSizeBytesMin || attr.size() > limits::kEventAttrSizeBytesMax) {
        return std::nullopt;
    }
    RecordedEvent event;
    event.attr = is_foreign ? in_own_order(attr) : std::string(reinterpret_cast<const char*>(attr.data()), attr.size());
    ByteCursor cursor{std::as_bytes(std::span{event.attr}), false};
    event.type = cursor.u32();
    cursor.skip(4);
    cursor.read(event.config, event.period, event.sample_type, event.read_format, event.flags);
    event.has_trailers = event.is(attr_flags::kSampleIdAll);
    event.is_foreign = is_foreign;
    cursor.skip(8 + 8);
    // The oldest files lack the fields from here on.
    cursor.skip(8);
    cursor.read(event.branch_sample_type, event.sample_regs_user);
    cursor.skip(4);
    event.clock_id = static_cast<std::int32_t>(cursor.u32());
    event.sample_regs_intr = cursor.u64();
    return event;
}

std::string name_of_attr(const RecordedEvent& event) {
    std::string name;
    if (const NamedEvent* const known = named(event)) {
        name = known->name;
    } else {
        switch (event.type) {
            case perf::kTypeTracepoint: return {};
            case perf::kTypeRaw: name = hex("raw ", event.config); break;
            case perf::kTypeBreakpoint: name = "breakpoint"; break;
            default: name = "type-" + std::to_string(event.type) + hex("-", event.config); break;
        }
    }
    // perf's modifiers: exclusions, precision, and guests where they differ from what those two imply.
    const auto precise = static_cast<unsigned>(event.flags >> attr_flags::kPreciseShift & 3U);
    const bool is_excluding = event.is(attr_flags::kExcludeKernel) || event.is(attr_flags::kExcludeUser) ||
                              event.is(attr_flags::kExcludeHypervisor);
    std::string modifiers;
    if (is_excluding) {
        modifiers += event.is(attr_flags::kExcludeKernel) ? "" : "k";
        modifiers += event.is(attr_flags::kExcludeUser) ? "" : "u";
        modifiers += event.is(attr_flags::kExcludeHypervisor) ? "" : "h";
    }
    modifiers.append(precise, 'p');
    const bool excludes_guest_anyway = is_excluding || precise != 0;
    if (event.is(attr_flags::kExcludeHost) || event.is(attr_flags::kExcludeGuest) == excludes_guest_anyway) {
        modifiers += event.is(attr_flags::kExcludeHost) ? "" : "H";
        modifiers += event.is(attr_flags::kExcludeGuest) ? "" : "G";
    }
    return modifiers.empty() ? name : name + ":" + modifiers;
}

std::string unit_of_event(const RecordedEvent& event) {
    if (!event.unit_name.empty()) {
        return counter_unit_text({event.scale.value_or(1), event.unit_name});
    }
    const NamedEvent* const known = named(event);
    return known != nullptr ? std::string{known->unit} : "events";
}

}  // namespace perfleet
