// A program for compilers with a profile: an interpreter whose hot instructions are few and stand between rare ones.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Machine {
    std::uint64_t registers[16] = {};
    std::uint64_t errors = 0;
    std::uint64_t trace[64] = {};
};

struct Instruction {
    unsigned char code;
    unsigned char a;
    unsigned char b;
    unsigned char c;
};

// Runs never; keeps its callers large.
__attribute__((noinline)) void report(Machine& machine, const char* what, unsigned value) {
    std::fprintf(stderr, "%s %u\n", what, value);
    machine.errors += value;
}

inline std::uint64_t mixed(std::uint64_t value) {
    value ^= value >> 33U;
    value *= 0xff51afd7ed558ccdULL;
    value ^= value >> 29U;
    return value;
}

// A local function, of which there may be several with one name.
static __attribute__((noinline)) std::uint64_t turned(std::uint64_t value) {
    for (int i = 0; i < 4; ++i) {
        value = value << 9U ^ value >> 55U ^ 0x9e37U;
    }
    return value;
}

// Larger than functions that are inlined without a profile, because of its checks.
std::uint64_t combined(Machine& machine, const Instruction& one) {
    if (one.a > 15) {
        report(machine, "a", one.a);
        machine.trace[one.a & 63U] += machine.registers[0] / (one.a | 1U);
        machine.trace[(one.a + 1U) & 63U] += machine.registers[1] / (one.a | 3U);
        machine.trace[(one.a + 2U) & 63U] += machine.registers[2] / (one.a | 5U);
        return 0;
    }
    if (one.b > 15) {
        report(machine, "b", one.b);
        machine.trace[one.b & 63U] += machine.registers[3] / (one.b | 1U);
        machine.trace[(one.b + 1U) & 63U] += machine.registers[4] / (one.b | 3U);
        machine.trace[(one.b + 2U) & 63U] += machine.registers[5] / (one.b | 5U);
        return 0;
    }
    if (one.c > 15) {
        report(machine, "c", one.c);
        machine.trace[one.c & 63U] += machine.registers[6] / (one.c | 1U);
        machine.trace[(one.c + 1U) & 63U] += machine.registers[7] / (one.c | 3U);
        machine.trace[(one.c + 2U) & 63U] += machine.registers[8] / (one.c | 5U);
        return 0;
    }
    return mixed(machine.registers[one.b] + machine.registers[one.c] + one.a);
}

void step(Machine& machine, const Instruction& one) {
    auto* const r = machine.registers;
    switch (one.code) {
        case 0: r[one.a & 15U] = combined(machine, one); break;
        case 1: r[one.a & 15U] += turned(r[one.b & 15U]) ^ one.c; break;
        case 2: r[one.a & 15U] = (r[one.b & 15U] << 7U) | (r[one.c & 15U] >> 57U); break;
        case 3: r[one.a & 15U] -= combined(machine, one); break;
        case 4: r[one.a & 15U] = r[one.b & 15U] / (r[one.c & 15U] | 1U); break;
        case 5: r[one.a & 15U] = r[one.b & 15U] % (r[one.c & 15U] | 1U); break;
        case 6: report(machine, "trap", one.a); break;
        case 7: std::exit(one.a);
        default: report(machine, "unknown", one.code); break;
    }
}

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 60'000;
    Machine machine;
    std::vector<Instruction> program;
    std::uint32_t seed = 7;
    for (int i = 0; i < 500; ++i) {
        seed = seed * 1'664'525U + 1'013'904'223U;
        const unsigned pick = seed >> 24U;
        const unsigned char code = pick < 150 ? 0 : pick < 200 ? 3 : pick < 230 ? 1 : 2;
        program.push_back({code, static_cast<unsigned char>(seed >> 4U & 15U),
                           static_cast<unsigned char>(seed >> 8U & 15U),
                           static_cast<unsigned char>(seed >> 12U & 15U)});
    }
    for (int round = 0; round < rounds; ++round) {
        for (const Instruction& one : program) {
            step(machine, one);
        }
    }
    std::printf("%llx\n", static_cast<unsigned long long>(machine.registers[3] + machine.errors));
    return 0;
}
