// Unwinds its own stack by the table of its own image: with the collector's loop over a copy of the stack, and with the
// BPF program, built as C. Both are held against libgcc's unwinder: of calls with and without a frame pointer, of a
// recursion, and of a leaf that a signal interrupted. Built for x86-64 and AArch64, there with signed return addresses.
// Prints what is wrong, and exits with 1.
#include <alloca.h>
#include <elf.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "target-collector/process/stack_unwinder.h"
#include "target-collector/source/linux/bpf/arena_table.h"
#include "target-collector/source/linux/bpf/testing/program_as_c.h"

namespace perfleet {
namespace {

#if defined(__aarch64__)
constexpr UnwindMachine kMachine = UnwindMachine::kAarch64;
#else
constexpr UnwindMachine kMachine = UnwindMachine::kX86_64;
#endif
constexpr std::uint64_t kAddressMask = kMachine == UnwindMachine::kAarch64 ? (1ULL << 48U) - 1 : ~0ULL;

std::string image;        // the file of this program
std::uint64_t stack_end;  // what is above it isn't looked at
bool is_right = true;
volatile bool is_over = false;

void expect(bool holds, const char* name, const char* what) {
    if (!holds) {
        std::printf("%s: %s\n", name, what);
        is_right = false;
    }
}

// Where the code of this program stands, which isn't moved when it is loaded.
Mapping own_code() {
    const auto* const segments = reinterpret_cast<const Elf64_Phdr*>(::getauxval(AT_PHDR));
    for (std::size_t i = 0; i < ::getauxval(AT_PHNUM); ++i) {
        if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X) != 0) {
            return {segments[i].p_vaddr, segments[i].p_vaddr + segments[i].p_memsz, segments[i].p_offset, 0, 0, 0};
        }
    }
    return {};
}

std::optional<UnwindTable> own_table() {
    auto table = UnwindTable::of_image(
        [](std::uint64_t offset, std::span<std::byte> into) {
            std::memcpy(into.data(), image.data() + offset, into.size());
            return true;
        },
        image.size());
    return table.ok() ? std::optional{std::move(*table)} : std::nullopt;
}

UnwindRegisters registers_of(const ucontext_t& context) {
    const auto& machine = context.uc_mcontext;
    UnwindRegisters registers;
#if defined(__aarch64__)
    registers.pc = machine.pc;
    registers.sp = machine.sp;
    registers.fp = machine.regs[29];
    registers.lr = machine.regs[30];
#else
    registers.pc = static_cast<std::uint64_t>(machine.gregs[REG_RIP]);
    registers.sp = static_cast<std::uint64_t>(machine.gregs[REG_RSP]);
    registers.fp = static_cast<std::uint64_t>(machine.gregs[REG_RBP]);
    registers.rbx = static_cast<std::uint64_t>(machine.gregs[REG_RBX]);
#endif
    return registers;
}

struct Walked {
    std::vector<std::uint64_t> addresses;
    UnwindEnd end{};
};

Walked walk_copy(const UnwindRegisters& registers) {
    MappingList mappings;
    mappings.add(own_code());
    StackUnwinder unwinder{kMachine, [](ImageIndex, std::uint32_t, const Mapping&) { return own_table(); }};
    const auto chain = std::make_unique<StackUnwinder::Chain>();
    const StackCopy stack{
        registers.sp, {reinterpret_cast<const std::byte*>(registers.sp), stack_end - registers.sp}, false};
    unwinder.unwind(registers, stack, 1, mappings, limits::kCallChainDepthMax, *chain);
    return {{chain->addresses.begin(), chain->addresses.begin() + chain->count}, chain->end};
}

// What changes between two runs of the program, which keeps rules that it has found.
struct Given {
    std::uint64_t generation = 1;
    std::uint32_t mapping_count = 1;
    std::uint32_t tables_epoch = 0;
    unwind_table_state table_state = UNWIND_TABLE_READY;
    std::uint32_t clock = 1;
};

// What the BPF program emits; no addresses where it emits nothing.
Walked walk_by_program(const UnwindRegisters& registers, bool is_in_kernel, const Given& given = {}) {
    const auto table = own_table();
    const Mapping code = own_code();
    const std::uint64_t size_bytes = arena_table_bytes(*table);
    std::vector<std::vector<std::byte>> slabs((size_bytes + UNWIND_SLAB_BYTES - 1) / UNWIND_SLAB_BYTES);
    std::vector<std::byte*> slab_bytes;
    for (auto& slab : slabs) {
        slab.resize(UNWIND_SLAB_BYTES);
        slab_bytes.push_back(slab.data());
    }
    unwind_table entry{};
    write_arena_table(*table, 0, slab_bytes, entry);
    entry.state = given.table_state;
    const unwind_mapping mapping{code.start, code.end, code.file_offset, 0, 0};
    program_input input{};
    input.process = {0, given.mapping_count, given.generation, code.start, code.end, 0};
    input.state = {given.tables_epoch, given.clock};
    input.mappings = &mapping;
    input.tables = &entry;
    input.table_count = 1;
    input.slabs = reinterpret_cast<char* const*>(slab_bytes.data());
    input.slab_count = static_cast<unsigned>(slab_bytes.size());
    input.readable[0] = {registers.sp, (stack_end | (UNWIND_PAGE_BYTES - 1)) + 1};
    input.readable[1] = {code.start, code.end};
    input.pc = registers.pc;
    input.sp = registers.sp;
    input.fp = registers.fp;
    input.lr = registers.lr;
    input.bx = registers.rbx.value_or(0);
    input.is_in_kernel = is_in_kernel ? 1 : 0;
    const auto sample = std::make_unique<unwind_sample>();
    const int count = run_unwind_program(&input, sample.get());
    expect(given.clock == 1 || entry.used == given.clock, "program", "a table of known rules isn't in use");
    return {{sample->words, sample->words + std::max(count, 0)}, static_cast<UnwindEnd>(sample->status)};
}

std::vector<std::uint64_t> walk_by_libgcc() {
    std::vector<std::uint64_t> addresses;
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* into) {
            static_cast<std::vector<std::uint64_t>*>(into)->push_back(_Unwind_GetIP(context));
            return _URC_NO_REASON;
        },
        &addresses);
    return addresses;
}

// `expected`: from the frame behind `skipped` of the chain on.
void check(const char* name, const UnwindRegisters& registers, const std::vector<std::uint64_t>& expected,
           std::size_t skipped) {
    const Walked copied = walk_copy(registers);
    expect(copied.end == UnwindEnd::kOutermost, name, "the chain of the copy isn't whole");
    expect(copied.addresses.size() >= skipped + expected.size(), name, "the chain of the copy is too short");
    for (std::size_t i = 0; i < expected.size() && skipped + i < copied.addresses.size(); ++i) {
        if (copied.addresses[skipped + i] != expected[i]) {
            std::printf("%s: frame %zu is %#llx, not %#llx\n", name, skipped + i,
                        static_cast<unsigned long long>(copied.addresses[skipped + i]),
                        static_cast<unsigned long long>(expected[i]));
            is_right = false;
            return;
        }
    }
    for (const bool is_in_kernel : {false, true}) {
        const Walked program = walk_by_program(registers, is_in_kernel);
        expect(program.end == copied.end && program.addresses == copied.addresses, name,
               is_in_kernel ? "the BPF program differs, from within the kernel" : "the BPF program differs");
    }
    expect(walk_by_program(registers, false, {.clock = 2}).addresses == copied.addresses, name, "known rules differ");
    expect(walk_by_program(registers, false, {.generation = 2, .mapping_count = 0}).addresses.empty(), name,
           "a rule outlives its mapping");
    expect(walk_by_program(registers, false, {.tables_epoch = 1, .table_state = UNWIND_TABLE_WANTED}).addresses.empty(),
           name, "a rule outlives its table");
    std::printf("%s: %zu frames\n", name, copied.addresses.size());
}

// On AArch64 return addresses lie on the stack signed.
std::size_t signed_count(std::uint64_t sp, const std::vector<std::uint64_t>& returns) {
    std::size_t count = 0;
    for (; sp + 8 <= stack_end; sp += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, reinterpret_cast<const void*>(sp), sizeof(word));
        const bool is_return = std::find(returns.begin(), returns.end(), word & kAddressMask) != returns.end();
        count += is_return && (word & kAddressMask) != word ? 1 : 0;
    }
    return count;
}

[[gnu::noinline]] void look(const char* name) {
    ucontext_t here;
    ::getcontext(&here);
    const UnwindRegisters registers = registers_of(here);
    std::vector<std::uint64_t> expected = walk_by_libgcc();
    expected.erase(expected.begin(), std::find_if(expected.begin(), expected.end(), [](std::uint64_t address) {
                       return address == reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
                   }));
    expect(expected.size() > 3, name, "libgcc found no chain");
    check(name, registers, expected, 1);
    const std::size_t count = signed_count(registers.sp, expected);
    expect((count > 0) == (kMachine == UnwindMachine::kAarch64), name, "no return address is signed");
}

[[gnu::noinline, gnu::noclone]] void plain(const char* name) {
    look(name);
    asm volatile("");  // no tail call
}

// Its frame is found by a frame pointer.
[[gnu::noinline, gnu::noclone]] void with_array(const char* name, std::size_t size) {
    auto* const array = static_cast<volatile char*>(::alloca(size));
    array[size - 1] = 1;
    plain(name);
    asm volatile("");
}

[[gnu::noinline, gnu::noclone]] int recursion(int depth) {
    if (depth == 0) {
        with_array("recursion", 100);
        return 1;
    }
    const int found = recursion(depth - 1);
    asm volatile("");
    return found + 1;
}

void on_signal(int /*signal*/, siginfo_t* /*info*/, void* context);

std::vector<std::uint64_t> returns_of_spin;

[[gnu::noinline, gnu::noclone]] void spin() {
    while (!is_over) {
    }
}

[[gnu::noinline, gnu::noclone]] void call_spin() {
    returns_of_spin = walk_by_libgcc();
    const auto own = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
    returns_of_spin.erase(returns_of_spin.begin(), std::find(returns_of_spin.begin(), returns_of_spin.end(), own));
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGALRM, &action, nullptr);
    const itimerval soon{{0, 10'000}, {0, 10'000}};
    ::setitimer(ITIMER_REAL, &soon, nullptr);
    spin();
    asm volatile("");
}

// The leaf has no frame; call_spin() is behind it.
void on_signal(int /*signal*/, siginfo_t* /*info*/, void* context) {
    if (!is_over) {
        check("interrupted leaf", registers_of(*static_cast<const ucontext_t*>(context)), returns_of_spin, 2);
        is_over = true;
    }
}

}  // namespace
}  // namespace perfleet

int main(int /*argument_count*/, char** arguments) {
    using namespace perfleet;
    std::ifstream file{arguments[0], std::ios::binary};
    image.assign(std::istreambuf_iterator<char>{file}, {});
    stack_end = reinterpret_cast<std::uint64_t>(arguments);  // which the kernel has put behind all frames
    if (const auto table = own_table(); !table || table->row_count() == 0) {
        std::printf("%s: no unwind table\n", arguments[0]);
        return 1;
    }
    plain("calls");
    with_array("calls with a frame pointer", 1'000);
    (void)recursion(500);
    call_spin();
    return is_right ? 0 : 1;
}
