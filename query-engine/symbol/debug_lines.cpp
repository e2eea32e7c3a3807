#include "query-engine/symbol/debug_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "schemas/host/file_descriptor.h"
#include "schemas/vocabulary/non_copyable.h"

namespace perfleet {
namespace debug_lines {

constexpr std::uint32_t kNoFunction = ~0U;
constexpr unsigned kGnuDiscriminator = 0x2136;         // DW_AT_GNU_discriminator, which dwarf.h lacks
constexpr std::size_t kNameSizeBytesMax = 64U << 10U;  // of a function or a file; longer ones are ignored

// One file with its DWARF.
class DebugFile : NonCopyable {
public:
    static Result<std::unique_ptr<DebugFile>> open(const std::string& path) {
        // Never waits where the path names a pipe.
        auto file = std::make_unique<DebugFile>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), "");
        struct stat status {};
        if (file->descriptor_.get() < 0 || ::fstat(file->descriptor_.get(), &status) != 0) {
            return error_from_errno(errno, path);
        }
        if (!S_ISREG(status.st_mode)) {
            return Error{ErrorCode::kInvalid, path + " is no file"};
        }
        ::elf_version(EV_CURRENT);
        file->elf_ = ::elf_begin(file->descriptor_.get(), ELF_C_READ, nullptr);
        return begun(std::move(file), path, static_cast<std::uint64_t>(status.st_size));
    }

    static Result<std::unique_ptr<DebugFile>> of_memory(std::string bytes, const std::string& name) {
        auto file = std::make_unique<DebugFile>(-1, std::move(bytes));
        ::elf_version(EV_CURRENT);
        file->elf_ = ::elf_memory(file->bytes_.data(), file->bytes_.size());
        const std::uint64_t size_bytes = file->bytes_.size();
        return begun(std::move(file), name, size_bytes);
    }

    DebugFile(int descriptor, std::string bytes) : descriptor_{descriptor}, bytes_{std::move(bytes)} {}
    ~DebugFile() {
        ::dwarf_end(dwarf_);
        ::elf_end(elf_);
    }

    // Drops everything that libdw has decoded.
    Result<Done> restart(const std::string& path) {
        ::dwarf_end(dwarf_);
        dwarf_ = ::dwarf_begin_elf(elf_, DWARF_C_READ, nullptr);
        if (dwarf_ == nullptr) {
            return Error{ErrorCode::kInvalid, path + ": its debug information can't be read: " + ::dwarf_errmsg(-1)};
        }
        // Without this call libdw opens the shared file that this one names.
        ::dwarf_setalt(dwarf_, shared_ == nullptr ? nullptr : shared_->dwarf());
        return Done{};
    }

    Result<Done> set_shared(std::unique_ptr<DebugFile> shared, const std::string& path) {
        shared_ = std::move(shared);
        return restart(path);
    }

    [[nodiscard]] Dwarf* dwarf() const { return dwarf_; }
    [[nodiscard]] std::uint64_t sections_size_bytes() const {
        return sections_size_bytes_ + (shared_ == nullptr ? 0 : shared_->sections_size_bytes());
    }

    // A name that libdw found in one of the sections; empty if it has no terminating NUL.
    [[nodiscard]] std::string text_at(const char* text) const {
        for (Elf_Scn* const section : sections_) {
            const Elf_Data* const data = ::elf_getdata(section, nullptr);
            const auto* const begin = data == nullptr ? nullptr : static_cast<const char*>(data->d_buf);
            if (begin != nullptr && std::less_equal<>{}(begin, text) && std::less<>{}(text, begin + data->d_size)) {
                const std::string_view rest{text, static_cast<std::size_t>(begin + data->d_size - text)};
                const std::size_t size = rest.substr(0, kNameSizeBytesMax + 1).find('\0');
                return std::string{size == std::string_view::npos ? "" : rest.substr(0, size)};
            }
        }
        return shared_ == nullptr || text == nullptr ? std::string{} : shared_->text_at(text);
    }

    // The size of the line program at this offset, with its length field; ~0 if it can't be read.
    [[nodiscard]] std::uint64_t line_program_size_bytes(std::uint64_t offset) const {
        const Elf_Data* const data = lines_ == nullptr ? nullptr : ::elf_getdata(lines_, nullptr);
        if (data == nullptr || data->d_buf == nullptr || offset > data->d_size || data->d_size - offset < 12) {
            return ~0ULL;
        }
        const auto* const start = static_cast<const unsigned char*>(data->d_buf) + offset;
        std::uint32_t size = 0;
        std::memcpy(&size, start, sizeof(size));
        if (size != 0xffff'ffff) {
            return std::uint64_t{size} + sizeof(size);
        }
        std::uint64_t long_size = 0;
        std::memcpy(&long_size, start + sizeof(size), sizeof(long_size));
        return long_size;
    }

private:
    static Result<std::unique_ptr<DebugFile>> begun(std::unique_ptr<DebugFile> file, const std::string& path,
                                                    std::uint64_t size_bytes) {
        if (file->elf_ == nullptr || ::elf_kind(file->elf_) != ELF_K_ELF) {
            return Error{ErrorCode::kInvalid, path + " is no ELF file"};
        }
        PERFLEET_TRY(file->measure(path, size_bytes));
        PERFLEET_TRY(file->restart(path));
        PERFLEET_TRY(file->check_strings(path));
        return file;
    }

    Result<Done> measure(const std::string& path, std::uint64_t file_size_bytes) {
        GElf_Ehdr header{};
        std::size_t names = 0;
        if (::gelf_getehdr(elf_, &header) == nullptr || ::elf_getshdrstrndx(elf_, &names) != 0) {
            return Error{ErrorCode::kInvalid, path + " is no ELF file"};
        }
        if (header.e_ident[EI_DATA] != ELFDATA2LSB) {
            return Error{ErrorCode::kInvalid, path + ": big-endian debug information isn't read"};
        }
        bool has_info = false;
        for (Elf_Scn* section = ::elf_nextscn(elf_, nullptr); section != nullptr;
             section = ::elf_nextscn(elf_, section)) {
            GElf_Shdr at{};
            const char* name =
                ::gelf_getshdr(section, &at) == nullptr ? nullptr : ::elf_strptr(elf_, names, at.sh_name);
            const std::string_view text{name == nullptr ? "" : name};
            if (!text.starts_with(".debug_") && !text.starts_with(".zdebug_")) {
                continue;
            }
            std::uint64_t size_bytes = at.sh_size;
            if (at.sh_type != SHT_NOBITS && size_bytes > file_size_bytes) {
                return Error{ErrorCode::kInvalid, path + ": a section ends behind the file"};
            }
            if ((at.sh_flags & SHF_COMPRESSED) != 0) {
                GElf_Chdr compressed{};
                size_bytes = ::gelf_getchdr(section, &compressed) == nullptr ? ~0ULL : compressed.ch_size;
            } else if (text.starts_with(".z")) {
                size_bytes = gnu_size_bytes(section);
            }
            sections_size_bytes_ += at.sh_type == SHT_NOBITS ? 0 : std::min(size_bytes, kDebugSectionsSizeBytesMax + 1);
            if (at.sh_type != SHT_NOBITS) {
                sections_.push_back(section);
            }
            if (at.sh_type != SHT_NOBITS && (text.ends_with("debug_str") || text.ends_with("debug_line_str"))) {
                strings_.push_back(section);
            }
            has_info = has_info || (at.sh_type != SHT_NOBITS && text.ends_with("debug_info"));
            lines_ = text == ".debug_line" && at.sh_type != SHT_NOBITS ? section : lines_;
        }
        if (!has_info) {
            return Error{ErrorCode::kNotFound, path + " has no debug information"};
        }
        if (sections_size_bytes_ > kDebugSectionsSizeBytesMax) {
            return Error{ErrorCode::kTooLarge, path +
                                                   ": no source lines are taken from it: its debug information is "
                                                   "larger than " +
                                                   std::to_string(kDebugSectionsSizeBytesMax >> 20U) + " MiB"};
        }
        return Done{};
    }

    // libdw reads strings without checking the section's end. Call this after libdw has decompressed the sections.
    Result<Done> check_strings(const std::string& path) const {
        for (Elf_Scn* const section : strings_) {
            const Elf_Data* const data = ::elf_getdata(section, nullptr);
            if (data != nullptr && data->d_buf != nullptr && data->d_size != 0 &&
                static_cast<const char*>(data->d_buf)[data->d_size - 1] != '\0') {
                return Error{ErrorCode::kInvalid, path + ": the last name of its debug information has no end"};
            }
        }
        return Done{};
    }

    // The size of a section in the old compressed format: "ZLIB" and the size, big-endian.
    static std::uint64_t gnu_size_bytes(Elf_Scn* section) {
        const Elf_Data* const data = ::elf_rawdata(section, nullptr);
        if (data == nullptr || data->d_buf == nullptr || data->d_size < 12) {
            return 0;
        }
        std::uint64_t size_bytes = 0;
        for (std::size_t i = 4; i < 12; ++i) {
            size_bytes = size_bytes << 8U | static_cast<const unsigned char*>(data->d_buf)[i];
        }
        return size_bytes;
    }

    FileDescriptor descriptor_;
    std::string bytes_;               // of a file in memory
    std::vector<Elf_Scn*> strings_;   // sections of names
    std::vector<Elf_Scn*> sections_;  // with debug information
    Elf* elf_ = nullptr;
    Dwarf* dwarf_ = nullptr;
    Elf_Scn* lines_ = nullptr;
    std::uint64_t sections_size_bytes_ = 0;
    std::unique_ptr<DebugFile> shared_;  // outlives dwarf_, which refers to it
};

// A function, or one that was inlined into its caller.
struct Function {
    Dwarf_Off entry = 0;
    std::uint32_t caller = kNoFunction;  // index
    std::uint32_t depth = 0;             // number of callers
    std::uint32_t call_file = 0;
    std::uint32_t call_line = 0;
    std::uint32_t call_discriminator = 0;
};

// Maps each address to the innermost inlined function that it belongs to.
class FunctionPlaces {
public:
    // A later range lies inside earlier ones, or replaces them.
    void add(std::uint64_t begin, std::uint64_t end, std::uint32_t function) {
        const std::uint32_t behind = find(end);
        starts_.erase(starts_.lower_bound(begin), starts_.upper_bound(end));
        starts_[begin] = function;
        starts_[end] = behind;
    }
    [[nodiscard]] std::uint32_t find(std::uint64_t address) const {
        const auto next = starts_.upper_bound(address);
        return next == starts_.begin() ? kNoFunction : std::prev(next)->second;
    }
    [[nodiscard]] std::size_t size() const { return starts_.size(); }

private:
    std::map<std::uint64_t, std::uint32_t> starts_;  // function from this address on
};

// Also of the entries that this one refers to as its declaration.
inline std::uint32_t number_of(Dwarf_Die* entry, unsigned attribute) {
    Dwarf_Attribute found{};
    Dwarf_Word value = 0;
    return ::dwarf_attr_integrate(entry, attribute, &found) != nullptr && ::dwarf_formudata(&found, &value) == 0
               ? static_cast<std::uint32_t>(value)
               : 0;
}

inline std::string text_of(const char* text) {
    const std::size_t size = text == nullptr ? 0 : ::strnlen(text, kNameSizeBytesMax + 1);
    return size > kNameSizeBytesMax ? std::string{} : std::string(text == nullptr ? "" : text, size);
}

inline std::string function_name(const DebugFile& file, Dwarf_Die* entry) {
    for (const unsigned attribute : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name}) {
        Dwarf_Attribute found{};
        if (::dwarf_attr_integrate(entry, attribute, &found) != nullptr) {
            if (std::string name = file.text_at(::dwarf_formstring(&found)); !name.empty()) {
                return name;
            }
        }
    }
    return {};
}

}  // namespace debug_lines

class DebugLines::Reader {
public:
    Reader(std::unique_ptr<debug_lines::DebugFile> file, std::string path)
        : file_{std::move(file)}, path_{std::move(path)} {
        read_units();
    }

    [[nodiscard]] std::uint64_t sections_size_bytes() const { return file_->sections_size_bytes(); }

    std::vector<SourceFrame> frames_at(std::uint64_t address) {
        const std::optional<Dwarf_Off> offset = unit_at(address);
        if (!offset || file_->dwarf() == nullptr) {
            return {};
        }
        const Unit& unit = unit_of(*offset);
        Dwarf_Die entry{};
        if (::dwarf_offdie(file_->dwarf(), *offset, &entry) == nullptr) {
            return {};
        }
        std::vector<SourceFrame> frames;
        SourceFrame frame = unit.has_lines ? line_at(&entry, address) : SourceFrame{};
        for (std::uint32_t i = unit.places.find(address);
             i != debug_lines::kNoFunction && frames.size() < kInlineDepthMax;) {
            const debug_lines::Function& function = unit.functions[i];
            std::tie(frame.function, frame.first_line) = name_of(function.entry);
            frames.push_back(std::move(frame));
            frame = {.function = {},
                     .file = unit.has_lines ? file_name(&entry, function.call_file) : "",
                     .line = function.call_line,
                     .discriminator = function.call_discriminator};
            i = function.caller;
        }
        if (frames.empty() && frame.line != 0) {
            frames.push_back(std::move(frame));
        }
        return frames;
    }

private:
    struct Range {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        Dwarf_Off unit = 0;
    };
    struct Unit {
        bool has_lines = false;
        std::vector<debug_lines::Function> functions;
        debug_lines::FunctionPlaces places;
    };

    // Code that was left out when the program was linked lies at 0, or at the last addresses.
    static bool is_code(std::uint64_t begin, std::uint64_t end) { return begin > 1 && begin < end && end < ~1ULL; }

    void read_units() {
        Dwarf_CU* unit = nullptr;
        Dwarf_Die entry{};
        std::size_t range_count = 0;
        for (std::size_t i = 0; i < kDebugUnitsMax &&
                                ::dwarf_get_units(file_->dwarf(), unit, &unit, nullptr, nullptr, &entry, nullptr) == 0;
             ++i) {
            const Dwarf_Off offset = ::dwarf_dieoffset(&entry);
            visit_ranges(&entry, range_count, [&](std::uint64_t begin, std::uint64_t end) {
                ranges_.push_back({begin, end, offset});
            });
        }
        std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    }

    // Visits at most kDebugRangesMax ranges in all; `count` were visited before.
    template <class Visit>
    static void visit_ranges(Dwarf_Die* entry, std::size_t& count, const Visit& visit) {
        Dwarf_Addr base = 0;
        Dwarf_Addr begin = 0;
        Dwarf_Addr end = 0;
        std::ptrdiff_t at = 0;
        for (; count < kDebugRangesMax && (at = ::dwarf_ranges(entry, at, &base, &begin, &end)) > 0; ++count) {
            if (is_code(begin, end)) {
                visit(begin, end);
            }
        }
    }

    [[nodiscard]] std::optional<Dwarf_Off> unit_at(std::uint64_t address) const {
        const auto next = std::upper_bound(ranges_.begin(), ranges_.end(), address,
                                           [](std::uint64_t at, const Range& range) { return at < range.begin; });
        return next == ranges_.begin() || address >= std::prev(next)->end ? std::nullopt
                                                                          : std::optional{std::prev(next)->unit};
    }

    const Unit& unit_of(Dwarf_Off offset) {
        if (const auto known = units_.find(offset); known != units_.end()) {
            return known->second;
        }
        if (functions_ > kDebugFunctionsMax) {
            forget();
        }
        Unit& unit = units_[offset];
        Dwarf_Die entry{};
        if (file_->dwarf() == nullptr || ::dwarf_offdie(file_->dwarf(), offset, &entry) == nullptr) {
            return unit;
        }
        Dwarf_Attribute program{};
        Dwarf_Word place = 0;
        if (::dwarf_attr(&entry, DW_AT_stmt_list, &program) != nullptr && ::dwarf_formudata(&program, &place) == 0) {
            const std::uint64_t size_bytes = file_->line_program_size_bytes(place);
            unit.has_lines = size_bytes <= kLineProgramSizeBytesMax;
            if (unit.has_lines && (lines_size_bytes_ += size_bytes) > kLineProgramsSizeBytesMax) {
                lines_size_bytes_ = size_bytes;
                if (!file_->restart(path_).ok() || ::dwarf_offdie(file_->dwarf(), offset, &entry) == nullptr) {
                    return unit;
                }
                // Drops the other units: libdw would decode their lines again beside this one's, one by one.
                std::erase_if(units_, [&](const auto& other) { return other.first != offset; });
                functions_ = 0;
            }
        }
        read_functions(entry, unit);
        functions_ += unit.functions.size() + unit.places.size();
        return unit;
    }

    void forget() {
        units_.clear();
        names_.clear();
        functions_ = 0;
    }

    // Goes down from the unit's entry; callers come before functions that are inlined into them.
    static void read_functions(const Dwarf_Die& unit_entry, Unit& unit) {
        struct Open {
            Dwarf_Die entry;
            std::uint32_t caller;
        };
        std::vector<Open> open{{unit_entry, debug_lines::kNoFunction}};
        if (::dwarf_child(&open.front().entry, &open.front().entry) != 0) {
            return;
        }
        std::size_t range_count = 0;
        for (std::size_t visited = 0; !open.empty() && visited < kDebugEntriesOfUnitMax; ++visited) {
            Dwarf_Die entry = open.back().entry;
            std::uint32_t caller = open.back().caller;
            const int tag = ::dwarf_tag(&entry);
            const bool is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
            if (is_function) {
                caller = add_function(&entry, tag == DW_TAG_subprogram ? debug_lines::kNoFunction : caller, unit,
                                      range_count);
            }
            if (::dwarf_siblingof(&open.back().entry, &open.back().entry) != 0) {
                open.pop_back();
            }
            const bool has_inner = is_function ? caller != debug_lines::kNoFunction
                                               : tag == DW_TAG_lexical_block || tag == DW_TAG_namespace ||
                                                     tag == DW_TAG_module || tag == DW_TAG_structure_type ||
                                                     tag == DW_TAG_class_type || tag == DW_TAG_try_block ||
                                                     tag == DW_TAG_catch_block || tag == DW_TAG_common_block;
            Dwarf_Die inner{};
            if (has_inner && open.size() < kDebugDepthMax && ::dwarf_child(&entry, &inner) == 0) {
                open.push_back({inner, caller});
            }
        }
    }

    // debug_lines::kNoFunction if it has no code.
    static std::uint32_t add_function(Dwarf_Die* entry, std::uint32_t caller, Unit& unit, std::size_t& range_count) {
        const auto index = static_cast<std::uint32_t>(unit.functions.size());
        const std::uint32_t depth = caller == debug_lines::kNoFunction ? 0 : unit.functions[caller].depth + 1;
        if (depth >= kInlineDepthMax || index >= kDebugFunctionsMax || unit.places.size() >= kDebugFunctionsMax) {
            return caller;
        }
        bool has_code = false;
        visit_ranges(entry, range_count, [&](std::uint64_t begin, std::uint64_t end) {
            if (unit.places.size() < kDebugFunctionsMax) {
                unit.places.add(begin, end, index);
                has_code = true;
            }
        });
        if (!has_code) {
            return debug_lines::kNoFunction;
        }
        unit.functions.push_back({::dwarf_dieoffset(entry), caller, depth,
                                  debug_lines::number_of(entry, DW_AT_call_file),
                                  debug_lines::number_of(entry, DW_AT_call_line),
                                  debug_lines::number_of(entry, debug_lines::kGnuDiscriminator)});
        return index;
    }

    // With the line of its declaration.
    const std::pair<std::string, std::uint32_t>& name_of(Dwarf_Off offset) {
        const auto [known, is_new] = names_.try_emplace(offset);
        Dwarf_Die entry{};
        if (is_new && ::dwarf_offdie(file_->dwarf(), offset, &entry) != nullptr) {
            known->second = {debug_lines::function_name(*file_, &entry),
                             debug_lines::number_of(&entry, DW_AT_decl_line)};
        }
        return known->second;
    }

    static std::string file_name(Dwarf_Die* unit, std::uint64_t number) {
        Dwarf_Files* files = nullptr;
        std::size_t count = 0;
        return ::dwarf_getsrcfiles(unit, &files, &count) == 0 && number < count
                   ? debug_lines::text_of(::dwarf_filesrc(files, number, nullptr, nullptr))
                   : std::string{};
    }

    static SourceFrame line_at(Dwarf_Die* unit, std::uint64_t address) {
        Dwarf_Line* const line = ::dwarf_getsrc_die(unit, address);
        int number = 0;
        if (line == nullptr || ::dwarf_lineno(line, &number) != 0) {
            return {};
        }
        unsigned discriminator = 0;
        (void)::dwarf_linediscriminator(line, &discriminator);  // stays 0 on failure
        return {.function = {},
                .file = debug_lines::text_of(::dwarf_linesrc(line, nullptr, nullptr)),
                .line = static_cast<std::uint32_t>(number),
                .discriminator = discriminator};
    }

    std::unique_ptr<debug_lines::DebugFile> file_;
    std::string path_;
    std::vector<Range> ranges_;  // ascending
    std::unordered_map<Dwarf_Off, Unit> units_;
    std::unordered_map<Dwarf_Off, std::pair<std::string, std::uint32_t>> names_;
    std::uint64_t lines_size_bytes_ = 0;  // of line programs that libdw has decoded
    std::size_t functions_ = 0;           // of all units, with their places
};

DebugLines::DebugLines(std::unique_ptr<Reader> reader) : reader_{std::move(reader)} {}

DebugLines::~DebugLines() = default;

Result<std::unique_ptr<DebugLines>> DebugLines::open(const std::string& path, const FindShared& find_shared) {
    return begin(debug_lines::DebugFile::open(path), path, find_shared);
}

Result<std::unique_ptr<DebugLines>> DebugLines::of_memory(std::string bytes, const std::string& name,
                                                          const FindShared& find_shared) {
    return begin(debug_lines::DebugFile::of_memory(std::move(bytes), name), name, find_shared);
}

Result<std::unique_ptr<DebugLines>> DebugLines::begin(Result<std::unique_ptr<debug_lines::DebugFile>> file,
                                                      const std::string& path, const FindShared& find_shared) {
    if (!file.ok()) {
        return std::move(file).error();
    }
    const char* name = nullptr;
    const void* build_id = nullptr;
    if (const ssize_t size = ::dwelf_dwarf_gnu_debugaltlink((*file)->dwarf(), &name, &build_id); size > 0) {
        const std::string shared_path = find_shared(
            debug_lines::text_of(name),
            {static_cast<const char*>(build_id), std::min<std::size_t>(static_cast<std::size_t>(size), 64)});
        if (!shared_path.empty()) {
            if (Result<std::unique_ptr<debug_lines::DebugFile>> shared = debug_lines::DebugFile::open(shared_path);
                shared.ok()) {
                PERFLEET_TRY((*file)->set_shared(std::move(shared).value(), path));
            }
        }
    }
    return std::unique_ptr<DebugLines>{new DebugLines{std::make_unique<Reader>(std::move(file).value(), path)}};
}

std::vector<SourceFrame> DebugLines::frames_at(std::uint64_t address) { return reader_->frames_at(address); }

std::uint64_t DebugLines::sections_size_bytes() const { return reader_->sections_size_bytes(); }

}  // namespace perfleet
