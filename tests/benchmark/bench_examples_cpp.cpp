// Examples of benchmarks in C++ (perfleet/bench.h): a hash table of the standard library, and a request and its answer
// over ZeroMQ, on the loopback interface.
#include <perfleet/bench.h>
#include <zmq.h>

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

namespace {

// The keys are random, half of them are in the table; the seed decides which.
struct Table {
    std::unordered_map<std::uint32_t, std::uint32_t> values;
};
constexpr std::uint32_t kKeys = 100'000;

int set_up_table(perfleet_bench_run* run) {
    auto table = std::make_unique<Table>();
    for (std::uint32_t i = 0; i < kKeys / 2; ++i) {
        table->values[perfleet_bench_random(run) % kKeys] = i;
    }
    run->state = table.release();
    return 0;
}

void tear_down_table(perfleet_bench_run* run) { delete static_cast<Table*>(run->state); }

PERFLEET_BENCHMARK_WITH(hash_table, set_up_table, tear_down_table) {
    const auto& values = static_cast<Table*>(run->state)->values;
    const auto found = values.find(perfleet_bench_random(run) % kKeys);
    PERFLEET_BENCH_KEEP(found == values.end() ? 0 : found->second);
    return 0;
}

struct Peers {
    void* context = zmq_ctx_new();
    void* here = zmq_socket(context, ZMQ_PAIR);
    std::thread there;
};

void answer(void* socket) {
    std::array<char, 8> bytes{};
    while (zmq_recv(socket, bytes.data(), bytes.size(), 0) == 1 && zmq_send(socket, bytes.data(), 1, 0) == 1) {
    }
    zmq_close(socket);
}

int set_up_peers(perfleet_bench_run* run) {
    auto peers = std::make_unique<Peers>();
    void* const there = zmq_socket(peers->context, ZMQ_PAIR);
    std::array<char, 64> endpoint{};
    std::size_t size_bytes = endpoint.size();
    if (zmq_bind(there, "tcp://127.0.0.1:*") != 0 ||
        zmq_getsockopt(there, ZMQ_LAST_ENDPOINT, endpoint.data(), &size_bytes) != 0 ||
        zmq_connect(peers->here, endpoint.data()) != 0) {
        run->error = "the loopback interface doesn't connect";
        return 1;
    }
    peers->there = std::thread{answer, there};
    run->state = peers.release();
    return 0;
}

void tear_down_peers(perfleet_bench_run* run) {
    const std::unique_ptr<Peers> peers{static_cast<Peers*>(run->state)};
    zmq_send(peers->here, "", 0, 0);
    peers->there.join();
    zmq_close(peers->here);
    zmq_ctx_term(peers->context);
}

PERFLEET_BENCHMARK_WITH(zeromq_round_trip, set_up_peers, tear_down_peers) {
    void* const here = static_cast<Peers*>(run->state)->here;
    char byte = 1;
    return zmq_send(here, &byte, 1, 0) != 1 || zmq_recv(here, &byte, 1, 0) != 1;
}

}  // namespace
