// Every spelling that perf takes for an event: what it opens, or the sentence that says why not and what does. Checked
// against what perf 6.1 opens for the same text, where a machine has the PMU.
#include <gtest/gtest.h>
#include <linux/hw_breakpoint.h>

#include <cstdio>
#include <string>
#include <vector>

#include "target-collector/source/linux/event/event_parser.h"
#include "target-collector/source/linux/testing/event_places.h"

namespace perfleet::event_spelling_test {
namespace {

std::string hex(std::uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(value));
    return text;
}

// "NAME = TYPE:CONFIG" and what isn't as usual: !k is exclude_kernel and the like, T a period, F a frequency.
std::string text_of(const EventSpec& event) {
    std::string text = event.name + " = " + std::to_string(event.type) + ":" + hex(event.config);
    const auto add = [&](bool is_set, const std::string& word) { text += is_set ? " " + word : ""; };
    if (event.is_breakpoint()) {
        text += " at " + hex(event.config1) + "+" + std::to_string(event.config2) + " ";
        text += (event.breakpoint_type & HW_BREAKPOINT_R) != 0 ? "r" : "";
        text += (event.breakpoint_type & HW_BREAKPOINT_W) != 0 ? "w" : "";
        text += (event.breakpoint_type & HW_BREAKPOINT_X) != 0 ? "x" : "";
    } else {
        add(event.config1 != 0, "config1=" + hex(event.config1));
        add(event.config2 != 0, "config2=" + hex(event.config2));
    }
    add(event.exclude_user, "!u");
    add(event.exclude_kernel, "!k");
    add(event.exclude_hypervisor, "!h");
    add(event.exclude_idle, "!I");
    add(event.exclude_host, "!H");
    add(event.exclude_guest, "!G");
    add(event.is_precise_at_most, "at most");
    add(event.precise > 0, "precise=" + std::to_string(event.precise));
    add(event.is_pinned, "pinned");
    add(event.is_exclusive, "exclusive");
    add(event.period.has_value(), "T=" + std::to_string(event.period.value_or(0)));
    add(event.frequency_hz.has_value(), "F=" + std::to_string(event.frequency_hz.value_or(0)));
    add(event.callchain == true, "fp");
    add(event.callchain == false, "no-chain");
    add(event.callchain_depth_max > 0, "depth=" + std::to_string(event.callchain_depth_max));
    add(!event.is_inherited, "no-inherit");
    for (const std::uint32_t cpu : event.cpus) {
        text += " cpu" + std::to_string(cpu);
    }
    add(event.unit != "events" && event.type > 1, "[" + event.unit + "]");
    add(event.group > 0, "group=" + std::to_string(event.group));
    add(event.is_group_weak, "weak");
    add(event.samples_group, "samples the group");
    add(event.is_sampled_by_leader, "sampled by its leader");
    return text;
}

class EventSpelling : public testing::Test {
protected:
    EventSpelling() {
        folders_.add_tracepoint("sched", "sched_switch", "316");
        folders_.add_tracepoint("sched", "sched_wakeup", "318");
        folders_.add_tracepoint("sched", "sched_wakeup_new", "319");
        folders_.add_tracepoint("syscalls", "sys_enter_openat", "77");
        folders_.add_tracepoint("probe_xz", "lzma_code", "1900");
        folders_.add_tracepoint("kvm-s390", "kvm_s390_create_vm", "400");
        folders_.add_tracepoint("ftrace", "function", "1");
        for (const char* const pmu : {"software/type=1", "tracepoint/type=2", "breakpoint/type=5", "cpu/type=4",
                                      "intel_pt/type=8", "msr/type=9", "power/type=10", "uncore_imc_0/type=12",
                                      "uncore_imc_1/type=13", "cpu_atom/type=14", "hv_24x7/type=15"}) {
            const std::string text = pmu;
            folders_.add_pmu_file(text.substr(0, text.find('=')), text.substr(text.find('=') + 1));
        }
        folders_.add_pmu_file("cpu/format/event", "config:0-7,32-35");
        folders_.add_pmu_file("cpu/format/umask", "config:8-15");
        folders_.add_pmu_file("cpu/format/edge", "config:18");
        folders_.add_pmu_file("cpu/format/cmask", "config:24-31");
        folders_.add_pmu_file("cpu/format/ldlat", "config1:0-15");
        folders_.add_pmu_file("cpu/format/far", "config3:0-15");
        folders_.add_pmu_file("cpu/events/cache-misses", "event=0x2e,umask=0x41");
        folders_.add_pmu_file("cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3");
        folders_.add_pmu_file("msr/format/event", "config:0-63");
        folders_.add_pmu_file("msr/events/tsc", "event=0x00");
        folders_.add_pmu_file("power/format/event", "config:0-7");
        folders_.add_pmu_file("power/cpumask", "0");
        folders_.add_pmu_file("power/events/energy-pkg", "event=0x02");
        folders_.add_pmu_file("power/events/energy-pkg.scale", "2.3283064365386962890625e-10");
        folders_.add_pmu_file("power/events/energy-pkg.unit", "Joules");
        for (const std::string imc : {"uncore_imc_0", "uncore_imc_1"}) {
            folders_.add_pmu_file(imc + "/format/event", "config:0-7");
            folders_.add_pmu_file(imc + "/cpumask", "0,4");
            folders_.add_pmu_file(imc + "/events/cas_count_read", "event=0x04");
        }
        folders_.add_pmu_file("cpu_atom/cpus", "2-3");
        folders_.add_pmu_file("cpu_atom/format/event", "config:0-7");
        folders_.add_pmu_file("hv_24x7/format/domain", "config:0-3");
        folders_.add_pmu_file("hv_24x7/events/clocks", "domain=?");
    }

    // What each event is, with " + " between; or the error.
    [[nodiscard]] std::string meaning_of(const std::string& list) const {
        const auto events = parse_events({list}, folders_.places());
        if (!events.ok()) {
            return "error: " + events.error().message;
        }
        std::string text;
        for (const EventSpec& event : *events) {
            text += (text.empty() ? "" : " + ") + text_of(event);
        }
        return text;
    }

    EventFolders folders_;
};

struct Spelling {
    const char* written;
    const char* meaning;
};

constexpr Spelling kWorking[] = {
    // Names of the table, their other names, cache events.
    {"cycles", "cycles = 0:0 !G"},
    {"cpu-cycles", "cpu-cycles = 0:0 !G"},
    {"instructions", "instructions = 0:0x1 !G"},
    {"faults", "faults = 1:0x2"},
    {"cs,migrations", "cs = 1:0x3 + migrations = 1:0x4"},
    {"cpu-clock, page-faults ", "cpu-clock = 1:0 + page-faults = 1:0x2"},
    {"dummy", "dummy = 1:0x9"},
    {"cgroup-switches", "cgroup-switches = 1:0xb"},
    {"L1-dcache-load-misses", "L1-dcache-load-misses = 3:0x10000 !G"},
    {"L1-dcache-misses", "L1-dcache-misses = 3:0x10000 !G"},
    {"l1d-write", "l1d-write = 3:0x100 !G"},
    {"LLC", "LLC = 3:0x2 !G"},
    {"L2-prefetch-miss", "L2-prefetch-miss = 3:0x10202 !G"},
    {"dTLB-store-misses", "dTLB-store-misses = 3:0x10103 !G"},
    {"bpu-loads", "bpu-loads = 3:0x5 !G"},
    {"node-loads-misses", "node-loads-misses = 3:0x10006 !G"},
    // Numbers.
    {"r1a8", "r1a8 = 4:0x1a8 !G"},
    {"r1a:kp", "r1a:kp = 4:0x1a !u !h !G precise=1"},
    {"1:1", "1:1 = 1:0x1"},
    {"1:1:hp", "1:1:hp = 1:0x1 !u !k !G precise=1"},
    {"4:0x6530160/name=numpmu/", "numpmu = 4:0x6530160 !G"},
    {"r1234/name=rawpmu/", "rawpmu = 4:0x1234 !G"},
    // Breakpoints.
    {"mem:0", "mem:0 = 5:0 at 0+4 rw"},
    {"mem:0x601040:w", "mem:0x601040:w = 5:0 at 0x601040+4 w"},
    {"mem:0x601040/8:rw:u", "mem:0x601040/8:rw:u = 5:0 at 0x601040+8 rw !k !h !G"},
    {"mem:0/1", "mem:0/1 = 5:0 at 0+1 rw"},
    {"mem:0:x:k", "mem:0:x:k = 5:0 at 0+8 x !u !h"},
    {"mem:0:u", "mem:0:u = 5:0 at 0+4 rw !k !h !G"},
    {"mem:0:r:hp", "mem:0:r:hp = 5:0 at 0+4 r !u !k !G precise=1"},
    // Tracepoints and patterns of them.
    {"syscalls:sys_enter_openat", "syscalls:sys_enter_openat = 2:0x4d"},
    {"syscalls:sys_enter_openat:k", "syscalls:sys_enter_openat:k = 2:0x4d !u !h"},
    {"sched:sched_switch//u", "sched:sched_switch//u = 2:0x13c !k !h !G"},
    {"sched:sched_switch/call-graph=fp/", "sched:sched_switch/call-graph=fp/ = 2:0x13c fp"},
    {"probe_xz:lzma_code", "probe_xz:lzma_code = 2:0x76c"},
    {"kvm-s390:kvm_s390_create_vm", "kvm-s390:kvm_s390_create_vm = 2:0x190"},
    {"sched:*", "sched:sched_switch = 2:0x13c + sched:sched_wakeup = 2:0x13e + sched:sched_wakeup_new = 2:0x13f"},
    {"sched:*wakeup:u", "sched:sched_wakeup:u = 2:0x13e !k !h !G"},
    {"sc*:*sw?tch", "sched:sched_switch = 2:0x13c"},
    {"sched:sched_wakeup,sched:*_wakeup*", "sched:sched_wakeup = 2:0x13e + sched:sched_wakeup_new = 2:0x13f"},
    {"*:*open*", "syscalls:sys_enter_openat = 2:0x4d"},
    // Modifiers.
    {"cycles:u", "cycles:u = 0:0 !k !h !G"},
    {"cycles:k", "cycles:k = 0:0 !u !h !G"},
    {"instructions:h", "instructions:h = 0:0x1 !u !k !G"},
    {"instructions:G", "instructions:G = 0:0x1 !H"},
    {"instructions:H", "instructions:H = 0:0x1 !G"},
    {"instructions:GH", "instructions:GH = 0:0x1"},
    {"instructions:I", "instructions:I = 0:0x1 !I !G"},
    {"instructions:kIG", "instructions:kIG = 0:0x1 !u !h !I !H"},
    {"cycles:ppp", "cycles:ppp = 0:0 !G precise=3"},
    {"task-clock:P,cycles", "task-clock:P = 1:0x1 at most precise=3 + cycles = 0:0 !G"},
    {"instructions:uDp", "instructions:uDp = 0:0x1 !k !h !G precise=1 pinned"},
    {"instructions:uep", "instructions:uep = 0:0x1 !k !h !G precise=1 exclusive"},
    {"cycles//u", "cycles//u = 0:0 !k !h !G"},
    // Terms that every event has.
    {"cycles/period=100000,config2/", "cycles/period=100000,config2/ = 0:0 config2=0x1 !G T=100000"},
    {"instructions/name=insn/", "insn = 0:0x1 !G"},
    {"cycles/name='COMPLEX_CYCLES_NAME:orig=cycles,desc=chip-clock-ticks'/Duk",
     "COMPLEX_CYCLES_NAME:orig=cycles,desc=chip-clock-ticks = 0:0 !h !G pinned"},
    {"cpu-clock/freq=0x10/", "cpu-clock/freq=0x10/ = 1:0 F=16"},
    {"cpu-clock/call-graph=no,time/", "cpu-clock/call-graph=no,time/ = 1:0 no-chain"},
    {"cs/max-stack=4,no-inherit/", "cs/max-stack=4,no-inherit/ = 1:0x3 depth=4 no-inherit"},
    {"L1-dcache-misses/name=cachepmu/", "cachepmu = 3:0x10000 !G"},
    // PMUs.
    {"cpu/event=0xc2,umask=1/", "cpu/event=0xc2,umask=1/ = 4:0x1c2 !G"},
    {"cpu/event=0x28f,umask=3/", "cpu/event=0x28f,umask=3/ = 4:0x20000038f !G"},
    {"cpu/r1a8/", "cpu/r1a8/ = 4:0x1a8 !G"},
    {"cpu/r0x1a8/k", "cpu/r0x1a8/k = 4:0x1a8 !u !h !G"},
    {"cpu/config=10,config1,config2=3,period=1000/u",
     "cpu/config=10,config1,config2=3,period=1000/u = 4:0xa config1=0x1 config2=0x3 !k !h !G T=1000"},
    {"cpu/config=1,name=krava/u,cpu/config=2/u", "krava = 4:0x1 !k !h !G + cpu/config=2/u = 4:0x2 !k !h !G"},
    {"cpu/name='COMPLEX_CYCLES_NAME:orig=cycles,desc=chip-clock-ticks',period=0x1,event=0x2/ukp",
     "COMPLEX_CYCLES_NAME:orig=cycles,desc=chip-clock-ticks = 4:0x2 !h !G precise=1 T=1"},
    {"cpu/cache-misses,cmask=2,edge/", "cpu/cache-misses,cmask=2,edge/ = 4:0x204412e !G"},
    {"cpu/event=cache-misses/u", "cpu/event=cache-misses/u = 4:0x412e !k !h !G"},
    {"cpu/mem-loads,ldlat=50/pp", "cpu/mem-loads,ldlat=50/pp = 4:0x1cd config1=0x32 !G precise=2"},
    {"mem-loads:u", "mem-loads:u = 4:0x1cd config1=0x3 !k !h !G"},
    {"tsc", "tsc = 9:0"},
    {"msr/tsc/", "msr/tsc/ = 9:0"},
    {"power/energy-pkg/", "power/energy-pkg/ = 10:0x2 cpu0 [2.3283064365386962890625e-10 Joules]"},
    {"uncore_imc/cas_count_read/",
     "uncore_imc_0/cas_count_read/ = 12:0x4 cpu0 cpu4 + "
     "uncore_imc_1/cas_count_read/ = 13:0x4 cpu0 cpu4"},
    {"imc_1/cas_count_read,name=reads/", "reads = 13:0x4 cpu0 cpu4"},
    {"uncore_*/event=4,name=reads/", "reads/uncore_imc_0 = 12:0x4 cpu0 cpu4 + reads/uncore_imc_1 = 13:0x4 cpu0 cpu4"},
    {"cpu_atom/event=0x3c/", "cpu_atom/event=0x3c/ = 14:0x3c !G cpu2 cpu3"},
    {"hv_24x7/clocks,domain=2/", "hv_24x7/clocks,domain=2/ = 15:0x2"},
    {"software/config=1/", "software/config=1/ = 1:0x1"},
    {"software/page-faults/u", "software/page-faults/u = 1:0x2 !k !h !G"},
    {"software//", "software// = 1:0"},
    // Groups.
    {"{instructions:k,cycles:upp}",
     "instructions:k = 0:0x1 !u !h !G group=1 + "
     "cycles:upp = 0:0 !k !h !G precise=2 group=1"},
    {"{faults:k,cache-references}:u,cycles:k",
     "faults:uk = 1:0x2 !h !G group=1 + cache-references:u = 0:0x2 !k !h !G group=1 + cycles:k = 0:0 !u !h !G"},
    {"group1{syscalls:sys_enter_openat:H,cycles:kppp},group2{cs,1:3}:G,instructions:u",
     "syscalls:sys_enter_openat:H = 2:0x4d !G group=1 + cycles:kppp = 0:0 !u !h !G precise=3 group=1 + "
     "cs:G = 1:0x3 !H group=2 + 1:3:G = 1:0x3 !H group=2 + instructions:u = 0:0x1 !k !h !G"},
    {"{cycles:u,instructions:kp}:p",
     "cycles:up = 0:0 !k !h !G precise=1 group=1 + instructions:kpp = 0:0x1 !u !h !G precise=2 group=1"},
    {"{cycles,cache-misses:G}:H", "cycles:H = 0:0 !G group=1 + cache-misses:GH = 0:0x3 group=1"},
    {"{cycles:G,cache-misses:H}:uG", "cycles:uG = 0:0 !k !h !H group=1 + cache-misses:uGH = 0:0x3 !k !h group=1"},
    {"{cycles,cache-misses,branch-misses}:D",
     "cycles = 0:0 !G pinned group=1 + cache-misses = 0:0x3 !G group=1 + branch-misses = 0:0x5 !G group=1"},
    {"{cycles,branch-misses}:e", "cycles = 0:0 !G exclusive group=1 + branch-misses = 0:0x5 !G group=1"},
    {"{cycles,cs}:W", "cycles = 0:0 !G group=1 weak + cs = 1:0x3 group=1 weak"},
    {"{cycles,cache-misses}:S",
     "cycles = 0:0 !G no-inherit group=1 samples the group + "
     "cache-misses = 0:0x3 !G no-inherit group=1 sampled by its leader"},
    {"{instructions,cs}:Su",
     "instructions:u = 0:0x1 !k !h !G no-inherit group=1 samples the group + "
     "cs:u = 1:0x3 !k !h !G no-inherit group=1 sampled by its leader"},
    {"{cpu-clock}:u", "cpu-clock:u = 1:0 !k !h !G"},
    {"{cpu/event=1,umask=2/,cs}:k", "cpu/event=1,umask=2/k = 4:0x201 !u !h !G group=1 + cs:k = 1:0x3 !u !h group=1"},
};

TEST_F(EventSpelling, OpensWhatPerfOpens) {
    for (const Spelling& spelling : kWorking) {
        EXPECT_EQ(meaning_of(spelling.written), spelling.meaning) << spelling.written;
    }
}

constexpr Spelling kRefused[] = {
    {"cpu-clok", "-e cpu-clok: there is no such event; did you mean 'cpu-clock'?"},
    {"cpu-clok:u", "-e cpu-clok:u: there is no such event; did you mean 'cpu-clock'?"},
    {"sched_switch", "-e sched_switch: there is no such event; did you mean 'sched:sched_switch'?"},
    {"energy-pgk", "-e energy-pgk: there is no such event; did you mean 'energy-pkg'?"},
    {"sched:sched_swich",
     "-e sched:sched_swich: this kernel has no such tracepoint; did you mean "
     "'sched:sched_switch'?"},
    {"shed:*", "-e shed:*: no tracepoint of this kernel matches; did you mean 'sched:*'?"},
    {"cpu/evnt=1/", "-e cpu/evnt=1/: the PMU 'cpu' has no term or event 'evnt'; did you mean 'event'?"},
    {"cpu/cache-mises/",
     "-e cpu/cache-mises/: the PMU 'cpu' has no term or event 'cache-mises'; did you mean "
     "'cache-misses'?"},
    {"software/cpu-clok/",
     "-e software/cpu-clok/: the PMU 'software' has no term or event 'cpu-clok'; did you mean "
     "'cpu-clock'?"},
    {"cpu/umask=0x100/", "-e cpu/umask=0x100/: 'umask': at most 0xff"},
    {"cpu/umask=x/", "-e cpu/umask=x/: 'umask': a number must follow it, decimal or 0x…"},
    {"cpu/far=1/", "-e cpu/far=1/: 'far': the kernel requires it in 'config3', which perfleet can't fill in"},
    {"hv_24x7/clocks/", "-e hv_24x7/clocks/: 'clocks' needs a value of 'domain': write hv_24x7/clocks,domain=…/"},
    {"cpu", "-e cpu: this is a PMU, of which an event is named, as cpu/cache-misses/"},
    {"mrs/tsc/", "-e mrs/tsc/: there is no PMU 'mrs'; did you mean 'msr'?"},
    {"armv8_pmuv3/event=1/",
     "-e armv8_pmuv3/event=1/: not supported by this machine: it has no PMU 'armv8_pmuv3' (no "
     "hardware counters, or they are hidden from this virtual machine); try '-e cpu-clock'"},
    {"topdown-retiring",
     "-e topdown-retiring: not supported by this machine: no PMU has an event 'topdown-retiring'; "
     "--list-events shows what there is"},
    {"cycles/period=0/", "-e cycles/period=0/: 'period': at least 1 and below 2^63"},
    {"cycles/perod=1/", "-e cycles/perod=1/: it has no term 'perod'; did you mean 'period'?"},
    {"cycles/call-graph=dwarf/",
     "-e cycles/call-graph=dwarf/: 'call-graph': a single event has 'fp' (frame pointers) "
     "or 'no'"},
    {"cycles/branch_type=any/",
     "-e cycles/branch_type=any/: 'branch_type': branch stacks aren't recorded; for callers "
     "there is call-graph=fp"},
    {"cycles/time=0/", "-e cycles/time=0/: 'time': every sample is stored with its time; leave it out"},
    {"cycles/stack-size=8192/",
     "-e cycles/stack-size=8192/: 'stack-size': copies of the stack aren't recorded; for "
     "callers there is call-graph=fp"},
    {"cycles/nr=3/",
     "-e cycles/nr=3/: 'nr': an event isn't switched off by a count; end the recording with "
     "--duration"},
    {"cycles/overwrite/",
     "-e cycles/overwrite/: 'overwrite': rings that overwrite themselves aren't read; leave it "
     "out"},
    {"cycles/period=1",
     "-e cycles/period=1: the second '/' is missing; terms go between two, as in "
     "cycles/period=1000/"},
    {"sched:sched_switch/name=x/",
     "-e sched:sched_switch/name=x/: 'name': a tracepoint keeps its own name, by which "
     "its fields are found"},
    {"cycles:X",
     "-e cycles:X: there is no modifier 'X'; there are u (user space), k (kernel), h (hypervisor), I (not "
     "idle), G (guest), H (host), p to ppp and P (precise), D (pinned), e (exclusive), W (weak group), "
     "S (group sampled by its first event)"},
    {"cycles:u:k", "-e cycles:u:k: modifiers go together after one colon, as in cycles:uk"},
    {"cycles:uu", "-e cycles:uu: the modifier 'u' occurs twice"},
    {"cycles:pppp", "-e cycles:pppp: 'ppp' is the most precise"},
    {"cycles:b", "-e cycles:b: 'b' shares counters by BPF, which only perf stat does: leave it out"},
    {"{cycles:p,cs:ppp}:p", "-e cs: with the modifiers of its group: 'ppp' is the most precise"},
    {"{cycles,cs:D}", "-e cs: only a group's first event can be pinned (D) or exclusive (e)"},
    {"cycles:S",
     "-e cycles:S: 'S' is a group's, whose first event is sampled with the counts of all: {cycles,instructions}:S"},
    {"{cycles:S,cs}", "-e cycles: 'S' goes after the brace of a group of two events or more"},
    {"{cycles,sched:sched_switch}:S",
     "-e sched:sched_switch: in a group with 'S' only the first event has samples with fields; put the tracepoint "
     "first, or leave 'S' out"},
    {"cycles,cycles", "-e cycles: it is named twice; give one another name, as cycles/name=second/"},
    {"mem:main:x",
     "-e mem:main:x: after 'mem:' comes an address, such as 0x601040; 'nm PROGRAM' lists those of its "
     "variables and functions"},
    {"mem:0/3", "-e mem:0/3: a breakpoint's length is 1, 2, 4 or 8 bytes"},
    {"mem:0:rwx", "-e mem:0:rwx: no processor breaks on execution and on access at once: write two events, :x and :rw"},
    {"mem:0:ww", "-e mem:0:ww: after the address comes r (read), w (written), rw or x (executed)"},
    {"breakpoint/config=1/", "-e breakpoint/config=1/: breakpoints are written mem:ADDRESS, as mem:0x601040:w"},
    {"tracepoint/config=316/", "-e tracepoint/config=316/: tracepoints are written SYSTEM:NAME, as sched:sched_switch"},
    {"uprobe/retprobe/",
     "-e uprobe/retprobe/: probes are tracepoints here: make one with 'perf probe' and name it, as "
     "probe_xz:main"},
    {"2:316",
     "-e 2:316: a tracepoint is named, for its fields to be known; 'grep -lx 316 "
     "/sys/kernel/tracing/events/*/*/id' finds it"},
    {"intel_pt//u", "-e intel_pt//u: AUX area tracing isn't recorded; 'perf record -e intel_pt//' does it"},
    {"cs_etm/@tmc_etr0/u", "-e cs_etm/@tmc_etr0/u: AUX area tracing isn't recorded; 'perf record -e cs_etm//' does it"},
    {"bpf-output",
     "-e bpf-output: it carries what a BPF program writes into it, and perfleet loads none; record the "
     "tracepoints or probes that your program is attached to"},
    {"prog.bpf.o", "-e prog.bpf.o: BPF programs aren't loaded; record the tracepoints or probes that it is for"},
    {"user_time", "-e user_time: perf stat measures it by itself; record task-clock:u"},
    {"ftrace:function", "-e ftrace:function: entries of the kernel's own tracers aren't recorded; trace-cmd does it"},
    {"sdt_libc:setjmp",
     "-e sdt_libc:setjmp: this kernel has no such tracepoint; a program's SDT markers are added with "
     "'perf buildid-cache --add PROGRAM' and 'perf probe sdt_libc:setjmp'"},
    {"probe:do_exit", "-e probe:do_exit: this kernel has no such tracepoint; did you mean 'probe_xz:do_exit'?"},
    {"zzz:zzz", "-e zzz:zzz: this kernel has no such tracepoint; "},
    {"qqqqqqq", "-e qqqqqqq: there is no such event; --list-events shows those with a name"},
};

TEST_F(EventSpelling, WhatIsRefusedSaysWhyAndWhatToDo) {
    for (const Spelling& spelling : kRefused) {
        EXPECT_EQ(meaning_of(spelling.written).substr(0, std::string(spelling.meaning).size() + 7),
                  "error: " + std::string(spelling.meaning))
            << meaning_of(spelling.written);
    }
}

TEST_F(EventSpelling, APatternThatStandsForTooManyIsRefusedWithTheirNumber) {
    for (std::size_t i = 0; i < 600; ++i) {
        std::filesystem::create_directories(folders_.places().tracefs[1] + "/events/syscalls/sys_exit_" +
                                            std::to_string(i));
    }
    EXPECT_EQ(meaning_of("syscalls:sys_exit_*"),
              "error: -e syscalls:sys_exit_*: it stands for 600 tracepoints, and a session has at most 512 events; "
              "narrow it, or take raw_syscalls:sys_enter or raw_syscalls:sys_exit, which are of all system calls");
    EXPECT_EQ(meaning_of("*:*"),
              "error: -e *:*: it stands for 606 tracepoints, and a session has at most 512 events; narrow it");
}

TEST_F(EventSpelling, FiltersAreThoseOfTheirOwnList) {
    const auto events = parse_events({"cs", "sched:*", "syscalls:*"}, folders_.places(), {"", "prev_pid == 0"});
    ASSERT_TRUE(events.ok()) << events.error().message;
    ASSERT_EQ(events->size(), 5U);
    for (const EventSpec& event : *events) {
        EXPECT_EQ(event.filter, event.name.starts_with("sched:") ? "prev_pid == 0" : "") << event.name;
    }
    const auto refused = parse_events({"sched:sched_switch,cs"}, folders_.places(), {"id == 1"});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(
        refused.error().message,
        "--filter id == 1: cs is no tracepoint, and only these have fields to filter by; give tracepoints an -e of "
        "their own before it");
}

}  // namespace
}  // namespace perfleet::event_spelling_test
