#include "target-collector/process/unwind/unwind_table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <gtest/gtest.h>
#include <libelf.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace perfleet {
namespace unwind_table_test {

std::vector<std::byte> bytes_of(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    const std::vector<char> text{std::istreambuf_iterator<char>{file}, {}};
    std::vector<std::byte> bytes(text.size());
    std::transform(text.begin(), text.end(), bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
    return bytes;
}

ReadImage reader_of(const std::vector<std::byte>& bytes) {
    return [&bytes](std::uint64_t offset, std::span<std::byte> into) {
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return true;
    };
}

Result<UnwindTable> table_of(const std::vector<std::byte>& bytes) {
    return UnwindTable::of_image(reader_of(bytes), bytes.size());
}

// Rules as text: from the table, and from what libdw says of the same place.
std::string offset_text(std::int64_t offset) { return (offset < 0 ? "" : "+") + std::to_string(offset); }

std::string place_text(SavedAt place, std::int32_t offset) {
    switch (place) {
        case SavedAt::kSame: return "same";
        case SavedAt::kCfa: return "*(cfa" + offset_text(offset) + ")";
        case SavedAt::kStack: return "*(sp" + offset_text(offset) + ")";
        case SavedAt::kFrame: return "*(fp" + offset_text(offset) + ")";
        case SavedAt::kUnknown: return "unknown";
    }
    return "?";
}

std::string rule_text(const UnwindRule& rule) {
    std::string cfa;
    switch (rule.cfa_base) {
        case CfaBase::kNone: return "none";
        case CfaBase::kOutermost: return "outermost";
        case CfaBase::kStackPointer: cfa = "sp" + offset_text(rule.cfa_offset); break;
        case CfaBase::kFramePointer: cfa = "fp" + offset_text(rule.cfa_offset); break;
        case CfaBase::kAtStack: cfa = "*(sp" + offset_text(rule.cfa_offset) + ")" + offset_text(rule.cfa_addend); break;
        case CfaBase::kAtFrame: cfa = "*(fp" + offset_text(rule.cfa_offset) + ")" + offset_text(rule.cfa_addend); break;
        case CfaBase::kProcedureStub: cfa = "stub" + std::to_string(rule.cfa_offset); break;
        case CfaBase::kRbx: cfa = "rbx" + offset_text(rule.cfa_offset); break;
    }
    return cfa + " ra=" + place_text(rule.return_address, rule.return_address_offset) +
           " fp=" + place_text(rule.frame_pointer, rule.frame_pointer_offset) +
           " rbx=" + place_text(rule.rbx, rule.rbx_offset) + (rule.is_signal_frame ? " signal" : "");
}

struct Registers {
    int sp, fp, ra;
};

// What libdw reads of an image.
class Reference {
public:
    explicit Reference(const std::string& path) : fd_{::open(path.c_str(), O_RDONLY | O_CLOEXEC)} {
        ::elf_version(EV_CURRENT);
        elf_ = ::elf_begin(fd_, ELF_C_READ_MMAP, nullptr);
        cfi_ = ::dwarf_getcfi_elf(elf_);
        GElf_Ehdr header;
        ::gelf_getehdr(elf_, &header);
        is_x86_ = header.e_machine == EM_X86_64;
        registers_ = is_x86_ ? Registers{7, 6, 16} : Registers{31, 29, 30};
    }
    ~Reference() {
        ::dwarf_cfi_end(cfi_);
        ::elf_end(elf_);
        ::close(fd_);
    }
    Reference(const Reference&) = delete;
    Reference& operator=(const Reference&) = delete;

    [[nodiscard]] Elf* elf() const { return elf_; }

    // Where the program begins.
    [[nodiscard]] std::uint64_t entry() const {
        GElf_Ehdr header{};
        ::gelf_getehdr(elf_, &header);
        return header.e_entry;
    }

    // Executable parts of the file.
    [[nodiscard]] std::vector<GElf_Phdr> code() const {
        std::vector<GElf_Phdr> found;
        std::size_t count = 0;
        ::elf_getphdrnum(elf_, &count);
        for (std::size_t i = 0; i < count; ++i) {
            GElf_Phdr segment;
            ::gelf_getphdr(elf_, static_cast<int>(i), &segment);
            if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
                found.push_back(segment);
            }
        }
        return found;
    }

    struct Row {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
        std::string text;
        bool is_simple = false;  // what a rule can say
    };
    // Empty start and end: there is none.
    Row at(std::uint64_t address) {
        Row row;
        Dwarf_Frame* frame = nullptr;
        if (::dwarf_cfi_addrframe(cfi_, address, &frame) != 0) {
            return row;
        }
        const std::unique_ptr<Dwarf_Frame, void (*)(void*)> owner{frame, std::free};
        bool is_signal = false;
        Dwarf_Addr start = 0;
        Dwarf_Addr end = 0;
        const int ra = ::dwarf_frame_info(frame, &start, &end, &is_signal);
        row.start = start;
        row.end = end;
        row.is_simple = ra == registers_.ra;  // some of AArch64's C library return to another register
        const std::string ra_text = place(frame, registers_.ra, row.is_simple);
        if (ra_text == "undefined") {
            row.text = "outermost";
            return row;
        }
        row.is_simple = row.is_simple && !(is_x86_ && ra_text == "same");
        std::string fp_text = place(frame, registers_.fp, row.is_simple);
        fp_text = fp_text == "undefined" ? "same" : fp_text;
        row.text = cfa(frame, row.is_simple) + " ra=" + ra_text + " fp=" + fp_text + " rbx=" + rbx(frame) +
                   (is_signal ? " signal" : "");
        return row;
    }

private:
    std::string name(std::uint64_t number, bool& is_simple) const {
        if (static_cast<int>(number) == registers_.sp) {
            return "sp";
        }
        is_simple = is_simple && static_cast<int>(number) == registers_.fp;
        return static_cast<int>(number) == registers_.fp ? "fp" : "r" + std::to_string(number);
    }

    std::string rbx(Dwarf_Frame* frame) const {
        bool is_known = is_x86_;
        const std::string text = is_known ? place(frame, kRbx, is_known) : "same";
        return text == "undefined" ? "same" : is_x86_ && !is_known ? "unknown" : text;
    }

    // "" where it isn't a register plus an offset.
    std::string base(const Dwarf_Op& op, bool& is_simple) const {
        if (op.atom == DW_OP_bregx) {
            return name(op.number, is_simple) + offset_text(static_cast<std::int64_t>(op.number2));
        }
        if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
            return name(op.atom - DW_OP_breg0, is_simple) + offset_text(static_cast<std::int64_t>(op.number));
        }
        return "";
    }

    std::string cfa(Dwarf_Frame* frame, bool& is_simple) const {
        Dwarf_Op* ops = nullptr;
        std::size_t count = 0;
        if (::dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0) {
            is_simple = false;
            return "?";
        }
        if (is_x86_ && count == 1 && ops[0].atom == DW_OP_breg0 + kRbx) {
            return "rbx" + offset_text(static_cast<std::int64_t>(ops[0].number));
        }
        if (is_x86_ && count == 1 && ops[0].atom == DW_OP_bregx && ops[0].number == kRbx) {
            return "rbx" + offset_text(static_cast<std::int64_t>(ops[0].number2));
        }
        const std::string first = base(ops[0], is_simple);
        if (count == 1 && !first.empty()) {
            return first;
        }
        if (count == 2 && !first.empty() && ops[1].atom == DW_OP_deref) {
            return "*(" + first + ")+0";
        }
        if (count == 3 && !first.empty() && ops[1].atom == DW_OP_deref && ops[2].atom == DW_OP_plus_uconst) {
            return "*(" + first + ")+" + std::to_string(ops[2].number);
        }
        if (count == 9 && first == "sp+8" && ops[1].atom == DW_OP_breg16 && ops[2].atom == DW_OP_lit15 &&
            ops[3].atom == DW_OP_and && ops[5].atom == DW_OP_ge && ops[6].atom == DW_OP_lit3 &&
            ops[7].atom == DW_OP_shl && ops[8].atom == DW_OP_plus) {
            return "stub" + std::to_string(ops[4].atom - DW_OP_lit0);
        }
        is_simple = false;
        return "?";
    }

    std::string place(Dwarf_Frame* frame, int number, bool& is_simple) const {
        Dwarf_Op memory[3];
        Dwarf_Op* ops = nullptr;
        std::size_t count = 0;
        if (::dwarf_frame_register(frame, number, memory, &ops, &count) != 0) {
            is_simple = false;
            return "?";
        }
        if (count == 0) {
            return ops == nullptr ? "same" : "undefined";
        }
        if (ops[0].atom == DW_OP_call_frame_cfa && count == 1) {
            return "*(cfa+0)";
        }
        if (ops[0].atom == DW_OP_call_frame_cfa && count == 2 && ops[1].atom == DW_OP_plus_uconst) {
            return "*(cfa" + offset_text(static_cast<std::int64_t>(ops[1].number)) + ")";
        }
        // libdw writes an offset from the CFA as it is, and puts the CFA before an expression.
        const std::size_t skipped = ops[0].atom == DW_OP_call_frame_cfa ? 1 : 0;
        if (count == skipped + 1) {
            if (const std::string text = base(ops[skipped], is_simple); !text.empty()) {
                return "*(" + text + ")";
            }
        }
        is_simple = false;
        return "?";
    }

    static constexpr int kRbx = 3;

    int fd_;
    Elf* elf_ = nullptr;
    Dwarf_CFI* cfi_ = nullptr;
    bool is_x86_ = false;
    Registers registers_{};
};

struct Comparison {
    std::uint64_t rows = 0;
    std::uint64_t refused = 0;  // which can't be said in a rule
};

// Each row of libdw is in the table, and each row of the table is libdw's.
Comparison compare(const std::string& path) {
    Comparison comparison;
    const std::vector<std::byte> bytes = bytes_of(path);
    const auto table = table_of(bytes);
    EXPECT_TRUE(table.ok()) << path;
    if (!table.ok()) {
        return comparison;
    }
    Reference reference{path};
    std::uint64_t wrong = 0;
    const auto expect_equal = [&](const Reference::Row& row, std::uint64_t file_offset) {
        const std::string ours = rule_text(table->find(file_offset));
        const std::string theirs = row.is_simple ? row.text : "none";
        if (ours != theirs && ++wrong <= 5) {
            ADD_FAILURE() << path << " at 0x" << std::hex << file_offset << ": " << ours << " is not " << theirs << " ("
                          << row.text << ")";
        }
    };
    for (const GElf_Phdr& segment : reference.code()) {
        for (std::uint64_t address = segment.p_vaddr; address < segment.p_vaddr + segment.p_filesz;) {
            const Reference::Row row = reference.at(address);
            if (row.end <= address) {
                ++address;  // between functions
                continue;
            }
            ++comparison.rows;
            comparison.refused += row.is_simple ? 0 : 1;
            expect_equal(row, address - segment.p_vaddr + segment.p_offset);
            address = row.end;
        }
        for (std::size_t i = 0; i < table->row_count(); ++i) {
            const std::uint64_t offset = table->place(i);
            if (offset < segment.p_offset || offset - segment.p_offset >= segment.p_filesz) {
                continue;
            }
            const Reference::Row row = reference.at(offset - segment.p_offset + segment.p_vaddr);
            if (row.end != 0) {
                expect_equal(row, offset);
            } else {
                const bool is_entry = offset - segment.p_offset + segment.p_vaddr == reference.entry();
                EXPECT_EQ(rule_text(table->rule(i)), is_entry ? "outermost" : "none")
                    << path << " at 0x" << std::hex << offset;
            }
        }
    }
    EXPECT_EQ(wrong, 0U) << path;
    EXPECT_LE(table->size_bytes(), 512 + (table->row_count() * 6) + (table->rule_count() * sizeof(UnwindRule)));
    std::printf("%s: %llu rows of libdw, %zu of ours, %zu rules, %llu refused, %zu bytes\n", path.c_str(),
                static_cast<unsigned long long>(comparison.rows), table->row_count(), table->rule_count(),
                static_cast<unsigned long long>(comparison.refused), table->size_bytes());
    return comparison;
}

class UnwindTableOf : public testing::TestWithParam<const char*> {};

TEST_P(UnwindTableOf, EqualsWhatLibdwReadsRowByRow) {
    if (!std::filesystem::exists(GetParam())) {
        GTEST_SKIP() << GetParam() << " isn't installed";
    }
    const Comparison comparison = compare(GetParam());
    EXPECT_GT(comparison.rows, 100U);
    EXPECT_LE(comparison.refused * 100, comparison.rows * 2);
}

INSTANTIATE_TEST_SUITE_P(
    Files, UnwindTableOf,
    testing::Values("/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
                    "/usr/bin/python3.11", "/usr/bin/git", "/usr/bin/xz", "/usr/bin/sqlite3",
                    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
                    "/usr/aarch64-linux-gnu/lib/libc.so.6", "/usr/aarch64-linux-gnu/lib/libstdc++.so.6"),
    [](const auto& file) {
        std::string name = file.param;
        std::replace_if(
            name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
        return name;
    });

// ld.so has no rule for its entry.
TEST(UnwindTable, TheEntryOfAProgramHasNoCaller) {
    const char* const path = "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";
    if (!std::filesystem::exists(path)) {
        GTEST_SKIP() << path << " isn't there";
    }
    const Reference reference{path};
    const auto table = table_of(bytes_of(path));
    ASSERT_TRUE(table.ok());
    bool is_found = false;
    for (const GElf_Phdr& segment : reference.code()) {
        const std::uint64_t offset = reference.entry() - segment.p_vaddr;
        if (offset < segment.p_filesz) {
            is_found = true;
            EXPECT_EQ(rule_text(table->find(offset + segment.p_offset)), "outermost");
        }
    }
    EXPECT_TRUE(is_found);
}

TEST(UnwindTable, AnEntryBeyond32BitsHasNoRow) {
    ElfFrames frames;
    frames.machine = UnwindMachine::kX86_64;
    frames.code.push_back({.address = 0x1000, .size_bytes = 0x1000, .file_offset = std::uint64_t{1} << 32U});
    frames.entry = 0x1800;
    const auto table = UnwindTable::compile(frames);
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(table->row_count(), 0U);
}

TEST(UnwindTable, ReadsTheVdsoFromMemory) {
    const auto* const start = reinterpret_cast<const std::byte*>(::getauxval(AT_SYSINFO_EHDR));
    if (start == nullptr) {
        GTEST_SKIP() << "this kernel gives no vdso";
    }
    const std::vector<std::byte> bytes(start, start + 4096);  // its headers and unwind information stand at the front
    const auto table = table_of(bytes);
    ASSERT_TRUE(table.ok());
    EXPECT_GT(table->row_count(), 10U);
}

}  // namespace unwind_table_test
}  // namespace perfleet
