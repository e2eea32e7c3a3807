#include "target-collector/process/unwind/frame_entry.h"

#include <cstring>
#include <string_view>
#include <unordered_map>

#include "target-collector/process/unwind/dwarf_cursor.h"

namespace perfleet {
namespace {

// DW_EH_PE_…: the format of a pointer, and its base.
constexpr std::uint8_t kPointerAbsolute8 = 0x00;
constexpr std::uint8_t kPointerOmitted = 0xff;
constexpr std::uint8_t kPointerFormMask = 0x0f;
constexpr std::uint8_t kPointerBaseMask = 0x70;
constexpr std::uint8_t kPointerFromItself = 0x10;
constexpr std::uint8_t kPointerIndirect = 0x80;

constexpr std::uint32_t kLength64 = 0xffff'ffff;
constexpr std::uint32_t kLengthReserved = 0xffff'fff0;

std::uint64_t pointer_value(DwarfCursor& cursor, std::uint8_t form, bool& is_known) {
    switch (form & kPointerFormMask) {
        case 0x00:
        case 0x04:
        case 0x0c: return cursor.fixed<std::uint64_t>();
        case 0x01: return cursor.uleb();
        case 0x02: return cursor.fixed<std::uint16_t>();
        case 0x03: return cursor.fixed<std::uint32_t>();
        case 0x09: return static_cast<std::uint64_t>(cursor.sleb());
        case 0x0a: return static_cast<std::uint64_t>(std::int64_t{cursor.fixed<std::int16_t>()});
        case 0x0b: return static_cast<std::uint64_t>(std::int64_t{cursor.fixed<std::int32_t>()});
        default: is_known = false; return 0;
    }
}

class EntryReader {
public:
    explicit EntryReader(const FrameSection& section) : section_{section}, bytes_{section.bytes} {}

    FrameEntries read() {
        std::uint64_t at = 0;
        while (const auto entry = entry_at(at)) {
            if (!entry->is_cie) {
                take_fde(*entry);
            }
            at = entry->end;
        }
        return std::move(entries_);
    }

private:
    struct Entry {
        std::uint64_t at = 0;
        std::uint64_t end = 0;
        std::span<const std::byte> body;  // after the CIE id or pointer
        bool is_cie = false;
        std::uint64_t cie_at = 0;  // of an FDE
    };

    // Empty: end of the section.
    [[nodiscard]] std::optional<Entry> entry_at(std::uint64_t at) const {
        if (at >= bytes_.size()) {
            return std::nullopt;
        }
        DwarfCursor cursor{bytes_.subspan(static_cast<std::size_t>(at))};
        std::uint64_t length = cursor.fixed<std::uint32_t>();
        const bool is_long = length == kLength64;
        if (is_long) {
            length = cursor.fixed<std::uint64_t>();
        }
        if (cursor.failed() || length == 0 || (!is_long && length >= kLengthReserved)) {
            return std::nullopt;
        }
        DwarfCursor body{cursor.take(length)};
        if (cursor.failed()) {
            return std::nullopt;
        }
        Entry entry;
        entry.at = at;
        entry.end = bytes_.size() - cursor.rest().size();
        const std::uint64_t id_at = entry.end - length;
        // In .eh_frame the id has 4 bytes with both length formats.
        const bool is_id_long = is_long && section_.is_debug_frame;
        const std::uint64_t id = is_id_long ? body.fixed<std::uint64_t>() : body.fixed<std::uint32_t>();
        if (body.failed()) {
            return std::nullopt;
        }
        if (section_.is_debug_frame) {
            entry.is_cie = id == (is_id_long ? ~std::uint64_t{0} : std::uint64_t{0xffff'ffff});
            entry.cie_at = id;
        } else {
            entry.is_cie = id == 0;
            entry.cie_at = id_at - id;  // a wrong pointer leads outside of the section, where no entry is found
        }
        entry.body = body.rest();
        return entry;
    }

    // Empty: the CIE isn't supported.
    std::optional<std::uint32_t> cie_index(std::uint64_t at) {
        const auto [known, is_new] = cies_by_place_.try_emplace(at, std::nullopt);
        if (is_new) {
            const auto entry = entry_at(at);
            const auto cie = entry && entry->is_cie ? read_cie(*entry) : std::nullopt;
            if (cie) {
                known->second = static_cast<std::uint32_t>(entries_.cies.size());
                entries_.cies.push_back(*cie);
            }
        }
        return known->second;
    }

    [[nodiscard]] std::optional<FrameCie> read_cie(const Entry& entry) const {
        DwarfCursor cursor{entry.body};
        const auto version = cursor.fixed<std::uint8_t>();
        if (version != 1 && version != 3 && version != 4) {
            return std::nullopt;
        }
        const auto rest = cursor.rest();
        const auto* const text = reinterpret_cast<const char*>(rest.data());
        const std::string_view augmentation{text, ::strnlen(text, rest.size())};
        (void)cursor.take(augmentation.size() + 1);
        FrameCie cie;
        if (version == 4 && (cursor.fixed<std::uint8_t>() != 8 || cursor.fixed<std::uint8_t>() != 0)) {
            return std::nullopt;  // unsupported address size, or segments
        }
        cie.code_alignment = cursor.uleb();
        cie.data_alignment = cursor.sleb();
        cie.return_address_register = version == 1 ? cursor.fixed<std::uint8_t>() : cursor.uleb();
        cie.pointer_encoding = kPointerAbsolute8;
        if (!augmentation.empty() && augmentation.front() == 'z') {
            cie.has_augmentation_size = true;
            DwarfCursor values{cursor.take(cursor.uleb())};
            for (const char letter : augmentation.substr(1)) {
                if (letter == 'R') {
                    cie.pointer_encoding = values.fixed<std::uint8_t>();
                } else if (letter == 'P') {
                    bool is_known = true;
                    const auto form = values.fixed<std::uint8_t>();
                    (void)pointer_value(values, form, is_known);
                    if (!is_known) {
                        return std::nullopt;
                    }
                } else if (letter == 'L') {
                    (void)values.fixed<std::uint8_t>();
                } else if (letter == 'S') {
                    cie.is_signal_frame = true;
                } else if (letter != 'B') {  // AArch64: return addresses are signed with key B
                    return std::nullopt;
                }
            }
            if (values.failed()) {
                return std::nullopt;
            }
        } else if (!augmentation.empty()) {
            return std::nullopt;
        }
        cie.instructions = cursor.rest();
        return cursor.failed() ? std::nullopt : std::optional{cie};
    }

    void take_fde(const Entry& entry) {
        const auto index = cie_index(entry.cie_at);
        const std::uint8_t encoding = index ? entries_.cies[*index].pointer_encoding : kPointerOmitted;
        const bool is_relative = (encoding & kPointerBaseMask) == kPointerFromItself;
        if (!index || encoding == kPointerOmitted || (encoding & kPointerIndirect) != 0 ||
            (!is_relative && (encoding & kPointerBaseMask) != 0)) {
            ++entries_.refused_count;
            return;
        }
        DwarfCursor cursor{entry.body};
        FrameFde fde;
        fde.cie_index = *index;
        bool is_known = true;
        const std::uint64_t place = section_.address + static_cast<std::uint64_t>(entry.body.data() - bytes_.data());
        fde.address = pointer_value(cursor, encoding, is_known) + (is_relative ? place : 0);
        fde.size_bytes = pointer_value(cursor, encoding, is_known);
        if (entries_.cies[*index].has_augmentation_size) {
            (void)cursor.take(cursor.uleb());
        }
        fde.instructions = cursor.rest();
        if (!is_known || cursor.failed()) {
            ++entries_.refused_count;
            return;
        }
        entries_.fdes.push_back(fde);
    }

    const FrameSection& section_;
    std::span<const std::byte> bytes_;
    std::unordered_map<std::uint64_t, std::optional<std::uint32_t>> cies_by_place_;
    FrameEntries entries_;
};

}  // namespace

FrameEntries read_frame_entries(const FrameSection& section) { return EntryReader{section}.read(); }

}  // namespace perfleet
