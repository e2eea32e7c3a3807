// An image for QEMU's `virt` board (AArch64) that sends the same number of bytes over its network card three times, as
// fast as it can: by lwIP's raw API and nothing else, as ZMTP messages of the size of batches, and as batches of a
// collector that always has rows. It prints the time of each. network_rate.py runs it.
//
//   -append MIB    how many MiB each
//
// 10.0.2.100 has a sink of bytes at port 1, one of ZMTP messages at port 2, a gateway at port 3.

#include <cstring>
#include <new>

#include "schemas/vocabulary/assert.h"
#include "schemas/vocabulary/named_row.h"
#include "target-collector/bare-metal/console.h"
#include "target-collector/bare-metal/context.h"
#include "target-collector/bare-metal/device_tree.h"
#include "target-collector/bare-metal/memory_map.h"
#include "target-collector/bare-metal/registers.h"
#include "target-collector/bare-metal/virtio_net.h"
#include "target-collector/network/tcp_stream.h"
#include "target-collector/small/small_collector.h"
#include "target-collector/wire/zmtp_driver.h"
#include "tests/benchmark/network_rate.h"

namespace perfleet::bare_metal {
namespace {

constexpr std::uint16_t kMessagesPort = 2;
constexpr std::uint16_t kGatewayPort = 3;
constexpr std::size_t kMessageSizeBytes = 14'000;  // as the collector's batches, which a ring of 32 KiB bounds

alignas(VirtioNet) std::byte card_memory[sizeof(VirtioNet)];
alignas(TcpStream) std::byte stream_memory[sizeof(TcpStream)];
alignas(SmallCollector) std::byte collector_memory[sizeof(SmallCollector)];
std::byte message[kMessageSizeBytes];
// Not empty: QEMU would put the device tree elsewhere.
[[gnu::section(".user")]] std::byte user_memory[16];
std::uint64_t ticks_per_second = 0;

}  // namespace

std::uint64_t now_ns() {
    const std::uint64_t ticks = counter();
    return ticks / ticks_per_second * 1'000'000'000 + ticks % ticks_per_second * 1'000'000'000 / ticks_per_second;
}

void print_rate(std::string_view name, std::uint64_t bytes, std::uint64_t began_ns, std::uint64_t frames) {
    print(name);
    print(" bytes=");
    print_number(bytes);
    print(" us=");
    print_number((now_ns() - began_ns) / 1'000);
    print(" frames=");
    print_number(frames);
    print("\n");
}

namespace {

// -- the driver -------------------------------------------------------------------------------------------------------

void send_messages(VirtioNet& card, std::uint64_t bytes) {
    auto& stream =
        *new (stream_memory) TcpStream{card, {.gateway = {kHost, kMessagesPort}, .address = kNetwork, .seed = 7}};
    ZmtpDriver driver{stream};
    std::uint64_t sent = 0;
    std::uint64_t began_ns = 0;
    std::uint64_t began_frames = 0;
    while (sent < bytes) {
        driver.tick(now_ns());
        if (driver.reconnected()) {
            sent = 0;
            began_ns = now_ns();
            began_frames = card.counts().frames_sent;
        }
        sent += driver.send(message) ? kMessageSizeBytes : 0;
    }
    print_rate("messages", sent, began_ns, card.counts().frames_sent - began_frames);
    stream.~TcpStream();
}

// -- the collector ----------------------------------------------------------------------------------------------------

class CountedDriver final : public NetworkDriver {
public:
    explicit CountedDriver(NetworkDriver& driver) : driver_{driver} {}

    void tick(std::uint64_t now_ns) override { driver_.tick(now_ns); }
    [[nodiscard]] bool send(std::span<const std::byte> frame) override {
        const bool is_sent = driver_.send(frame);
        bytes += is_sent ? frame.size() : 0;
        frames += is_sent ? 1 : 0;
        return is_sent;
    }
    [[nodiscard]] std::span<const std::byte> borrowed() const override { return driver_.borrowed(); }
    [[nodiscard]] Checked<std::size_t> receive(std::span<std::byte> into) override { return driver_.receive(into); }
    [[nodiscard]] bool reconnected() override { return driver_.reconnected(); }

    std::uint64_t bytes = 0;
    std::uint64_t frames = 0;

private:
    NetworkDriver& driver_;
};

void send_batches(VirtioNet& card, std::uint64_t bytes) {
    static constexpr EventDescription kEvents[] = {
        {.name = "random", .kind = Kind::kUtilisation, .unit = "cycles"},
    };
    constexpr int kRowsPerTurn = 32;
    auto& stream =
        *new (stream_memory) TcpStream{card, {.gateway = {kHost, kGatewayPort}, .address = kNetwork, .seed = 8}};
    ZmtpDriver zmtp{stream};
    CountedDriver driver{zmtp};
    const SmallTarget target{.target = TargetId{0x7261'7465},
                             .name = {"network-rate", 12},
                             .architecture = "aarch64",
                             .session = {counter(), 1},
                             .pid = 1,
                             .clock = {.name = "cntvct", .ticks_per_second = ticks_per_second, .linux_clockid = -1},
                             .start_point = {.ticks = Ticks{counter()}, .utc_ns = {}, .uncertainty_ns = 0},
                             .events = kEvents};
    auto& collector = *new (collector_memory) SmallCollector{target, driver};
    while (!collector.status().welcomed) {
        collector.step(Ticks{counter()});
    }
    std::uint64_t random = 1;
    const auto next_random = [&random] {
        return random = random * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    };
    const std::uint64_t began_ns = now_ns();
    const std::uint64_t began_frames = card.counts().frames_sent;
    while (driver.bytes < bytes) {
        // As many rows as it can deliver, so that none is lost.
        if (collector.status().spool_used_bytes < SmallCollector::kSpoolSizeBytes / 4 * 3) {
            for (int i = 0; i < kRowsPerTurn; ++i) {
                using enum ColumnId;
                const auto row = row_of<Kind::kUtilisation>(
                    column<kWindowStart>(next_random()), column<kThread>(next_random()), column<kCycles>(next_random()),
                    column<kSchedules>(next_random()), column<kKernelCycles>(next_random()),
                    column<kKernelEntries>(next_random()));
                collector.append({{Kind::kUtilisation, EventNumber{0}}, Ticks{counter()}, row});
            }
        }
        collector.step(Ticks{counter()});
    }
    print_rate("batches", driver.bytes, began_ns, card.counts().frames_sent - began_frames);
    collector.finish();
    while (!collector.is_finished()) {
        collector.step(Ticks{counter()});
    }
    print("collector batches=");
    print_number(collector.status().batches_acknowledged);
    print(" dropped=");
    print_number(collector.status().batches_dropped);
    print(" messages=");
    print_number(driver.frames);
    print("\n");
}

}  // namespace
}  // namespace perfleet::bare_metal

using namespace perfleet::bare_metal;

// Interrupts stay masked, and nothing runs at EL0.
extern "C" Context* handle_exception(Context* context, std::uint64_t /*is_interrupt*/) { return context; }

extern "C" [[noreturn]] void handle_unexpected(std::uint64_t vector, std::uint64_t syndrome, std::uint64_t at,
                                               std::uint64_t /*address*/) {
    print("unexpected exception: vector ");
    print_number(vector);
    print(" syndrome ");
    print_hex(syndrome);
    print(" at ");
    print_hex(at);
    print("\n");
    for (;;) {
        asm volatile("wfi");
    }
}

extern "C" [[noreturn]] void kernel_main() {
    turn_translation_on();
    asm volatile("" ::"r"(&user_memory));
    ticks_per_second = PERFLEET_READ_REGISTER(cntfrq_el0);
    const auto words =
        find_chosen({reinterpret_cast<const std::byte*>(kDeviceTreeAddress), kDeviceTreeSizeBytesMax}, "bootargs", 1);
    std::uint64_t mib = 0;
    for (std::size_t i = 0; words.ok() && i < words->size() && (*words)[i] != std::byte{0}; ++i) {
        mib = mib * 10 + static_cast<std::uint64_t>((*words)[i]) - '0';
    }
    PERFLEET_ASSERT(mib > 0);
    auto& card = *new (card_memory) VirtioNet;
    const bool has_card = card.start({});
    PERFLEET_ASSERT(has_card);
    send_by_lwip(card, message, mib << 20);
    send_messages(card, mib << 20);
    send_batches(card, mib << 20);
    register std::uint64_t function asm("x0") = 0x8400'0008;  // PSCI: off
    asm volatile("hvc #0" : "+r"(function)::"memory");
    for (;;) {
        asm volatile("wfi");
    }
}
