// Column codecs and the checksum. One item is one value (checksum: bytes a second).
#include <benchmark/benchmark.h>

#include <array>

#include "schemas/columns/codec.h"
#include "schemas/columns/crc32c.h"
#include "schemas/vocabulary/batch_limits.h"
#include "tests/benchmark/sample_rows.h"

namespace perfleet {
namespace {

constexpr std::array kColumnNames{"time", "cpu", "pid", "tid", "stack", "weight"};

const std::vector<std::uint64_t>& column(std::int64_t index) {
    static const SampleRows kRows = make_sample_rows(limits::kBatchRowsMax);
    return *kRows.columns()[static_cast<std::size_t>(index)];
}

void report(benchmark::State& state, std::size_t value_count, std::size_t size_bytes) {
    state.SetItemsProcessed(static_cast<std::int64_t>(value_count) * state.iterations());
    state.SetLabel(kColumnNames[static_cast<std::size_t>(state.range(0))]);
    state.counters["bits_a_value"] = 8.0 * static_cast<double>(size_bytes) / static_cast<double>(value_count);
}

void encode_column(benchmark::State& state) {
    const auto& values = column(state.range(0));
    std::vector<std::byte> bytes(encoded_size_bytes_max(values.size()));
    std::size_t size_bytes = 0;
    for (auto _ : state) {
        const auto encoded = encode_integers(values, bytes);
        PERFLEET_ASSERT(encoded.ok());
        size_bytes = encoded->size_bytes;
        benchmark::DoNotOptimize(bytes.data());
    }
    report(state, values.size(), size_bytes);
}
BENCHMARK(encode_column)->DenseRange(0, kColumnNames.size() - 1);

void decode_column(benchmark::State& state) {
    const auto& values = column(state.range(0));
    std::vector<std::byte> bytes(encoded_size_bytes_max(values.size()));
    const auto encoded = encode_integers(values, bytes);
    PERFLEET_ASSERT(encoded.ok());
    std::vector<std::uint64_t> decoded(values.size());
    for (auto _ : state) {
        const auto done =
            decode_integers(encoded->codec, std::span<const std::byte>{bytes}.first(encoded->size_bytes), decoded);
        PERFLEET_ASSERT(done.ok());
        benchmark::DoNotOptimize(decoded.data());
    }
    PERFLEET_ASSERT(decoded == values);
    report(state, values.size(), encoded->size_bytes);
}
BENCHMARK(decode_column)->DenseRange(0, kColumnNames.size() - 1);

void checksum(benchmark::State& state) {
    const std::vector<std::byte> bytes(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
    for (auto _ : state) {
        benchmark::DoNotOptimize(crc32c(0, bytes));
    }
    state.SetBytesProcessed(state.range(0) * state.iterations());
}
BENCHMARK(checksum)->Arg(64)->Arg(84 * 1024);

}  // namespace
}  // namespace perfleet
