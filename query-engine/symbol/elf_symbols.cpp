#include "query-engine/symbol/elf_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query-engine/symbol/demangle.h"
#include "query-engine/symbol/function_starts.h"
#include "query-engine/symbol/go_functions.h"
#include "query-engine/symbol/symbol_places.h"
#include "query-engine/symbol/symbol_rank.h"

namespace perfleet {
namespace {

bool is_function(const ElfSymbol& symbol) {
    return (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC) && symbol.named && symbol.section != SHN_UNDEF;
}

bool is_object(const ElfSymbol& symbol) {
    return symbol.type == STT_OBJECT && symbol.named && symbol.section != SHN_UNDEF;
}

bool is_label(const ElfSymbol& symbol) {
    return symbol.type == STT_NOTYPE && symbol.named && symbol.section != SHN_UNDEF && symbol.section != SHN_ABS &&
           symbol.visibility != STV_HIDDEN && symbol.visibility != STV_INTERNAL;
}

// Names that only separate code from data on Arm and RISC-V; RISC-V appends the instruction set to that of code.
bool is_mapping_symbol(std::uint16_t machine, std::string_view name) {
    if (machine == EM_RISCV) {
        return name.starts_with("$x") || name == "$d" || name.starts_with("$d.");
    }
    return (machine == EM_ARM || machine == EM_AARCH64) && name.size() >= 2 && name[0] == '$' &&
           std::strchr("adtx", name[1]) != nullptr && (name.size() == 2 || name[2] == '.');
}

class Builder {
public:
    Builder(const ElfFile& names, const ElfFile& running, bool is_rest)
        : names_file_{names}, running_file_{running}, is_rest_{is_rest} {}

    SymbolTable build() {
        if (const auto symtab = names_file_.find_section(".symtab", SHT_SYMTAB)) {
            load(names_file_, *symtab);
        }
        const ElfFile& dynamic = is_rest_ ? running_file_ : names_file_;
        if (const auto dynsym = dynamic.find_section(".dynsym", SHT_DYNSYM)) {
            load(dynamic, *dynsym);
        }
        // perf names the PLT only in files with symbols; in other files its names can't clash with any.
        add_plt();
        add_plt_without_perf();
        if (!names_file_.find_section(".symtab", SHT_SYMTAB)) {
            add_functions_without_names();
        }
        add_go_functions();
        flatten();
        return std::move(table_);
    }

private:
    void load(const ElfFile& file, std::size_t section_index) {
        const ElfFile::Symbols symbols{file, section_index};
        bool added = false;
        for (std::size_t index = 0; index < symbols.size(); ++index) {
            const ElfSymbol symbol = symbols[index];
            const bool label = is_label(symbol);
            if ((!label && !is_function(symbol) && !is_object(symbol)) ||
                is_mapping_symbol(file.machine(), symbol.name) || symbol.section == SHN_ABS) {
                continue;
            }
            if (symbol.section >= file.sections().size()) {
                return;  // perf stops reading here, without fixing up symbols
            }
            const ElfSection* section = &file.sections()[symbol.section];
            if ((section->flags & SHF_ALLOC) == 0) {
                continue;
            }
            // In a debug file, code has no content and thus no valid file offset.
            if (section->type == SHT_NOBITS) {
                if (symbol.section >= running_file_.sections().size()) {
                    return;
                }
                section = &running_file_.sections()[symbol.section];
            }
            if (label && section->name.find("text") == std::string::npos &&
                section->name.find("data") == std::string::npos) {
                continue;
            }
            std::uint64_t value = symbol.value;
            if (file.machine() == EM_ARM && symbol.type == STT_FUNC) {
                value &= ~std::uint64_t{1};  // the lowest bit marks Thumb code
            }
            const auto offset = file_offset_of(running_file_.segments(), value);
            const std::uint64_t start = offset ? *offset : value - (section->address - section->file_offset);
            if (!insert(start, start + symbol.size_bytes, symbol.binding, symbol.name)) {
                break;
            }
            added = true;
        }
        if (added) {
            places_.resolve([this](const SymbolPlace& first, const SymbolPlace& second) {
                return first_is_better(ranked(first), ranked(second));
            });
        }
    }

    bool insert(std::uint64_t start, std::uint64_t end, std::uint8_t binding, std::string_view name) {
        if (places_.size() >= kImageSymbolsMax || name.size() > kImageNamesSizeBytesMax - names_size_bytes_) {
            return false;
        }
        places_.add({start, end, binding, add_name(name)});
        return true;
    }

    // `name` must outlive the builder.
    std::uint32_t add_name(std::string_view name) {
        names_size_bytes_ += name.size();
        names_.push_back(name);
        return static_cast<std::uint32_t>(names_.size() - 1);
    }

    [[nodiscard]] RankedSymbol ranked(const SymbolPlace& place) const {
        return {place.end - place.start, place.binding, names_[place.name_number], true};
    }

    // Entries of .plt in the order of its relocations.
    void add_plt() {
        const auto plt = running_file_.find_section(".plt");
        const auto dynsym = running_file_.find_section(".dynsym", SHT_DYNSYM);
        auto relocations_index = running_file_.find_section(".rela.plt");
        if (!relocations_index) {
            relocations_index = running_file_.find_section(".rel.plt");
        }
        if (!plt || !dynsym || !relocations_index || running_file_.sections()[*relocations_index].link != *dynsym) {
            return;
        }
        const ElfSection& section = running_file_.sections()[*plt];
        std::uint64_t header_size_bytes = section.entry_size_bytes;
        std::uint64_t entry_size_bytes = section.entry_size_bytes;
        if (running_file_.machine() == EM_ARM) {
            header_size_bytes = 20;
            entry_size_bytes = 12;
        } else if (running_file_.machine() == EM_AARCH64) {
            header_size_bytes = 32;
            entry_size_bytes = 16;
        }
        const ElfFile::Symbols symbols{running_file_, *dynsym};
        std::uint64_t offset = section.file_offset + header_size_bytes;
        for (const ElfFile::Relocation& relocation : running_file_.relocations(*relocations_index)) {
            if (!insert(offset, offset + entry_size_bytes, STB_GLOBAL, plt_name(symbols[relocation.symbol_index]))) {
                return;
            }
            offset += entry_size_bytes;
        }
    }

    std::string_view plt_name(const ElfSymbol& symbol) {
        constexpr std::size_t kPltNameSizeMax = 1'023;  // perf's limit
        std::string& name = plt_names_.emplace_back(demangled_name(symbol.name) + "@plt");
        if (name.size() > kPltNameSizeMax) {
            name.resize(kPltNameSizeMax);
        }
        return name;
    }

    // Entries that perf 6.1 leaves unnamed: .plt.sec and .plt.got on x86-64 jump through a GOT slot, whose relocation
    // names the function. They only fill gaps.
    void add_plt_without_perf() {
        const auto dynsym = running_file_.find_section(".dynsym", SHT_DYNSYM);
        if (running_file_.machine() != EM_X86_64 || !dynsym) {
            return;
        }
        const ElfFile::Symbols symbols{running_file_, *dynsym};
        std::optional<std::vector<ElfFile::Relocation>> slots;
        for (const char* section_name : {".plt.sec", ".plt.got"}) {
            const auto index = running_file_.find_section(section_name);
            if (!index) {
                continue;
            }
            if (!slots) {
                slots = jump_slots();
            }
            const ElfSection& section = running_file_.sections()[*index];
            const std::string_view code = running_file_.section_bytes(*index);
            const std::uint64_t step = section.entry_size_bytes != 0 ? section.entry_size_bytes : 16;
            for (std::uint64_t at = 0; at < code.size(); at += step) {
                const auto slot_address = jump_slot(code.substr(at, step), section.address + at);
                if (!slot_address) {
                    continue;
                }
                const auto slot =
                    std::lower_bound(slots->begin(), slots->end(), *slot_address,
                                     [](const auto& some, std::uint64_t address) { return some.address < address; });
                if (slot == slots->end() || slot->address != *slot_address) {
                    continue;
                }
                // Located by address: in kept symbols the section has another file offset.
                const std::uint64_t start =
                    file_offset_of(running_file_.segments(), section.address + at).value_or(section.file_offset + at);
                const std::string_view name = plt_name(symbols[slot->symbol_index]);
                if (name.size() > kImageNamesSizeBytesMax - names_size_bytes_) {
                    return;
                }
                extra_.add({start, start + step, STB_GLOBAL, add_name(name)});
            }
        }
    }

    // perf leaves functions of stripped Go programs unnamed. These names only fill gaps.
    void add_go_functions() {
        const auto index = running_file_.find_section(".gopclntab");
        for (const GoFunction& function :
             index ? go_functions(running_file_.section_bytes(*index)) : std::vector<GoFunction>{}) {
            const auto start = file_offset_of(running_file_.segments(), function.address);
            if (!start) {
                continue;
            }
            if (extra_.size() >= kImageSymbolsMax ||
                function.name.size() > kImageNamesSizeBytesMax - names_size_bytes_) {
                return;
            }
            extra_.add({*start, *start + (function.end - function.address), STB_GLOBAL, add_name(function.name)});
        }
    }

    // All relocations with a symbol, by address.
    [[nodiscard]] std::vector<ElfFile::Relocation> jump_slots() const {
        std::vector<ElfFile::Relocation> slots;
        for (const char* name : {".rela.dyn", ".rela.plt"}) {
            if (const auto index = running_file_.find_section(name)) {
                const auto some = running_file_.relocations(*index);
                std::copy_if(some.begin(), some.end(), std::back_inserter(slots),
                             [](const ElfFile::Relocation& one) { return one.symbol_index != 0; });
            }
        }
        std::sort(slots.begin(), slots.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
        return slots;
    }

    // `jmp *slot(%rip)`, possibly after endbr64 and a bnd prefix.
    static std::optional<std::uint64_t> jump_slot(std::string_view code, std::uint64_t address) {
        constexpr std::string_view kEndbr64{"\xf3\x0f\x1e\xfa"};
        std::size_t at = 0;
        if (code.starts_with(kEndbr64)) {
            at += kEndbr64.size();
        }
        if (at < code.size() && code[at] == '\xf2') {
            ++at;
        }
        if (code.size() < at + 6 || code.substr(at, 2) != "\xff\x25") {
            return std::nullopt;
        }
        std::int32_t distance = 0;
        std::memcpy(&distance, code.data() + at + 2, sizeof(distance));
        return address + at + 6 + static_cast<std::uint64_t>(static_cast<std::int64_t>(distance));
    }

    // Each reaches up to the next one, the last of a segment to its end. Segments ascend; if those of a hostile file
    // overlap, a function is in the first.
    void add_functions_without_names() {
        const std::vector<std::uint64_t> starts = function_starts(running_file_);
        auto at = starts.begin();
        for (const ElfSegment& segment : running_file_.segments()) {
            const std::uint64_t end = segment.address + segment.size_bytes;
            const std::uint64_t to_offset = segment.file_offset - segment.address;
            for (at = std::lower_bound(at, starts.end(), segment.address); at != starts.end() && *at < end; ++at) {
                const std::uint64_t next = at + 1 != starts.end() ? std::min(at[1], end) : end;
                functions_.add({*at + to_offset, next + to_offset, STB_LOCAL, 0});
            }
        }
    }

    // Between two borders every address has the same answer. The table gets only the names in use.
    void flatten() {
        constexpr std::uint32_t kNone = ~0U;
        std::vector<std::uint32_t> name_numbers(names_.size(), kNone);
        std::vector<std::uint64_t> borders;
        borders.reserve((places_.size() + extra_.size() + functions_.size()) * 2);
        places_.add_borders(borders);
        extra_.add_borders(borders);
        functions_.add_borders(borders);
        std::sort(borders.begin(), borders.end());
        borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
        table_.reserve(borders.size(), names_.size(), names_size_bytes_);
        SymbolPlaces::Finder first{places_};
        SymbolPlaces::Finder second{extra_};
        SymbolPlaces::Finder nameless{functions_};
        for (const std::uint64_t border : borders) {
            const SymbolPlace* place = first.find(border);
            place = place != nullptr ? place : second.find(border);
            if (place == nullptr) {
                const SymbolPlace* const function = nameless.find(border);
                table_.add_gap(border, function != nullptr ? function->start : 0);
                continue;
            }
            std::uint32_t& name_number = name_numbers[place->name_number];
            if (name_number == kNone) {
                name_number = table_.add_name(names_[place->name_number]);
            }
            table_.add_range(border, place->start, name_number);
        }
        table_.shrink_to_fit();
    }

    const ElfFile& names_file_;
    const ElfFile& running_file_;
    bool is_rest_;
    SymbolPlaces places_;
    SymbolPlaces extra_;
    SymbolPlaces functions_;               // without names
    std::vector<std::string_view> names_;  // by the name number of a place; texts are in the files and plt_names_
    std::deque<std::string> plt_names_;
    SymbolTable table_;
    std::size_t names_size_bytes_ = 0;
};

}  // namespace

SymbolTable symbols_of_elf(const ElfFile& names, const ElfFile& running, bool is_rest) {
    return Builder{names, running, is_rest}.build();
}

}  // namespace perfleet
