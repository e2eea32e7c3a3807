// The unpatched seL4 as KernelInterface (source/sel4/kernel_interface.h): libsel4's calls.
//
// One thread.
#pragma once

#include <cstdint>
#include <span>

#include "target-collector/sel4/kernel/cycles.h"
#include "target-collector/sel4/kernel/libsel4.h"
#include "target-collector/source/sel4/kernel_interface.h"

namespace perfleet::sel4 {

class StockKernel final : public KernelInterface {
public:
    // Where the log is mapped, and its frame; for kernels with a log.
    struct Log {
        seL4_CPtr frame = seL4_CapNull;
        std::span<const std::byte> memory{};
    };
    struct ThreadCaps {
        seL4_CPtr tcb = seL4_CapNull;                 // none: the number is unused now
        seL4_CPtr scheduling_context = seL4_CapNull;  // MCS
    };
    // The root task's own capabilities, as the kernel provides them at start.
    [[nodiscard]] static constexpr ThreadCaps root_thread() {
#ifdef CONFIG_KERNEL_MCS
        return {seL4_CapInitThreadTCB, seL4_CapInitThreadSC};
#else
        return {.tcb = seL4_CapInitThreadTCB};
#endif
    }
    // Threads 1, 2, … by their capabilities, which may change; `code` is what they all run. If it is empty, no thread
    // is recognised as waiting in a system call. Borrowed. `cycles_per_second`: of now().
    StockKernel(const Log& log, std::span<const ThreadCaps> threads, std::span<const std::byte> code,
                std::uint64_t cycles_per_second)
        : log_{log}, threads_{threads}, code_{code}, cycles_per_second_{cycles_per_second} {}

    // The features of the kernel that this was compiled for.
    [[nodiscard]] static const KernelFeatures& built_for();

    [[nodiscard]] const KernelFeatures& features() const override { return built_for(); }
    [[nodiscard]] Ticks now() override { return cycles(); }
    [[nodiscard]] std::uint64_t set_log_buffer() override;
    [[nodiscard]] std::uint64_t reset_log() override;
    std::uint64_t finalize_log() override;
    [[nodiscard]] std::span<const std::byte> log() const override { return log_.memory; }
    void reset_utilisation(ThreadNumber thread) override;
    [[nodiscard]] std::span<const std::byte> utilisation(ThreadNumber thread) override;
    [[nodiscard]] bool read_registers(ThreadNumber thread, ThreadRegisters& into) override;
    [[nodiscard]] std::optional<std::uint64_t> consumed_ticks(ThreadNumber thread) override;

private:
    [[nodiscard]] const ThreadCaps& caps_of(ThreadNumber thread) const { return threads_[thread.value - 1]; }

    [[nodiscard]] bool is_syscall(std::uint64_t address) const;

    Log log_;
    std::span<const ThreadCaps> threads_;
    std::span<const std::byte> code_;
    [[maybe_unused]] std::uint64_t cycles_per_second_;  // MCS
};

}  // namespace perfleet::sel4
