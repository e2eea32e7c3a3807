#include "target-collector/linux/host/processor_pmu.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace perfleet::processor_pmu_test {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

class ProcessorPmu : public testing::Test {
protected:
    void SetUp() override {
        root_ = std::filesystem::path{testing::TempDir()} / ("pmu-" + std::to_string(::getpid()));
        std::filesystem::remove_all(root_);
        std::filesystem::create_directories(root_);
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    void put(const std::string& path, const std::string& text) {
        const auto file = root_ / "sys/bus/event_source/devices" / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream{file} << text;
    }
    [[nodiscard]] Labels labels(CpuidFunction cpuid) const { return processor_pmu(root_.string(), cpuid); }

private:
    std::filesystem::path root_;
};

CpuidRegisters skylake(std::uint32_t leaf) {
    return leaf == 0     ? CpuidRegisters{0x16, 0x756e'6547, 0, 0}
           : leaf == 0xa ? CpuidRegisters{0x0730'0404, 0, 0, 0x0000'0603}
                         : CpuidRegisters{};
}
CpuidRegisters old_opteron(std::uint32_t leaf) {
    return leaf == 0             ? CpuidRegisters{0x5, 0x6874'7541, 0, 0}
           : leaf == 0x8000'0000 ? CpuidRegisters{0x8000'0008, 0, 0, 0}
                                 : CpuidRegisters{};
}

TEST_F(ProcessorPmu, OfX86IsWhatCpuidSays) {
    EXPECT_EQ(labels(skylake), (Labels{{"pmu_counter_bits", "48"},
                                       {"pmu_counters", "4"},
                                       {"pmu_fixed", "3"},
                                       {"pmu_fixed_bits", "48"},
                                       {"pmu_fixed_mask", "0x700000000"},
                                       {"pmu_mask", "0x70000000f"}}));
    EXPECT_EQ(labels(old_opteron), (Labels{{"pmu", "none"}})) << "a virtual machine without counters says the same";
    put("cpu/type", "4\n");
    EXPECT_EQ(labels(old_opteron),
              (Labels{{"pmu_counter_bits", "48"}, {"pmu_counters", "4"}, {"pmu_fixed", "0"}, {"pmu_mask", "0xf"}}));
}

TEST_F(ProcessorPmu, OfOthersIsWhatLinuxTells) {
    EXPECT_EQ(labels(nullptr), (Labels{{"pmu", "none"}}));
    put("software/type", "1\n");
    put("arm_cmn_0/cpumask", "0\n");
    EXPECT_EQ(labels(nullptr), (Labels{{"pmu", "none"}})) << "that of a bus isn't a processor's";
    put("armv8_cortex_a53/cpus", "0-3\n");
    put("armv8_cortex_a53/caps/slots", "0x00000000\n");
    put("armv8_cortex_a53/caps/bus_width", "0x00000004\n");
    put("armv8_cortex_a72/cpus", "4-5\n");
    put("armv8_cortex_a72/caps/slots", "0x00000005\n");
    EXPECT_EQ(labels(nullptr), (Labels{{"pmu", "armv8_cortex_a53,armv8_cortex_a72"},
                                       {"pmu_bus_width", "0x00000004"},
                                       {"pmu_slots", "0x00000000"}}));
}

// Whatever this machine has, it is one or the other.
TEST(ProcessorPmuHere, IsToldOrToldAsNone) {
    const Labels labels = processor_pmu();
    ASSERT_FALSE(labels.empty());
    const bool is_none = labels == Labels{{"pmu", "none"}};
    const bool has_counters = labels.front().first == "pmu_counter_bits" || labels.front().first == "pmu" ||
                              labels.front().first == "pmu_counters";
    EXPECT_TRUE(is_none || has_counters) << labels.front().first;
}

}  // namespace
}  // namespace perfleet::processor_pmu_test
