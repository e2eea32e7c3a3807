// Writes good inputs for each fuzz target into FOLDER/<target>/<n>, made by the project's own writers.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "schemas/columns/codec.h"
#include "schemas/columns/layout.h"
#include "storage/block/block.h"

namespace perfleet {
namespace {

class SeedFolder {
public:
    explicit SeedFolder(std::filesystem::path folder) : folder_{std::move(folder)} {}

    void write(const std::string& target, const std::string& bytes) {
        const auto folder = folder_ / target;
        std::filesystem::create_directories(folder);
        std::ofstream file{folder / std::to_string(count_++), std::ios::binary};
        file << bytes;
        if (!file.flush()) {
            std::fprintf(stderr, "write_seeds: can't write to %s\n", folder.c_str());
            std::exit(1);
        }
    }

private:
    std::filesystem::path folder_;
    int count_ = 0;
};

struct OwnedColumn {
    ColumnId id{};
    Codec codec{};
    std::vector<std::byte> bytes;
};

OwnedColumn encoded(ColumnId id, const std::vector<std::uint64_t>& values) {
    OwnedColumn column{id, {}, std::vector<std::byte>(encoded_size_bytes_max(values.size()))};
    const auto done = encode_integers(values, column.bytes);
    PERFLEET_ASSERT(done.ok());
    column.codec = done->codec;
    column.bytes.resize(done->size_bytes);
    return column;
}

std::string text_of(const std::vector<std::byte>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_columns(SeedFolder& seeds) {
    std::vector<std::vector<std::uint64_t>> columns{{}, {0}, {~0ULL}, {1, 2, 3, 5, 8, 13}};
    std::vector<std::uint64_t> times, constant, mixed;
    for (std::uint64_t i = 0; i < 600; ++i) {
        times.push_back(1'000'000'000 + i * 1'001'001 + i % 7);
        constant.push_back(4'242);
        mixed.push_back(i % 3 == 0 ? ~0ULL - i : i);
    }
    columns.insert(columns.end(), {times, constant, mixed});
    for (const auto& values : columns) {
        const OwnedColumn column = encoded(ColumnId::kTime, values);
        std::string input{static_cast<char>(column.codec)};
        input += static_cast<char>(values.size());
        input += static_cast<char>(values.size() >> 8);
        seeds.write("columns", input + text_of(column.bytes));
    }
}

// A block of a few rows of any kind: every integer is small, every byte column says "ab".
std::string block_of(Kind kind, std::uint32_t row_count) {
    std::vector<OwnedColumn> columns;
    for (const ColumnRule& rule : columns_of(kind)) {
        if (rule.shape == ColumnShape::kBytes) {
            columns.push_back({rule.id, Codec::kBytes, std::vector<std::byte>(2ULL * row_count, std::byte{'a'})});
            for (auto& column : columns) {
                if (column.id == rule.sizes) {
                    column = encoded(rule.sizes, std::vector<std::uint64_t>(row_count, 2));
                }
            }
            continue;
        }
        std::vector<std::uint64_t> values;
        for (std::uint64_t row = 1; row <= row_count; ++row) {
            values.push_back(rule.id == ColumnId::kParent ? row - 1 : row < rule.max ? row : rule.max);
        }
        columns.push_back(encoded(rule.id, values));
    }
    std::vector<ColumnView> views;
    for (const auto& column : columns) {
        views.push_back({column.id, column.codec, column.bytes});
    }
    BlockHeader header;
    header.series.kind = kind;
    header.row_count = row_count;
    header.last_ticks = Ticks{row_count};
    header.last_seq = Seq{1};
    return encode_block(header, views);
}

void write_blocks(SeedFolder& seeds) {
    for (unsigned kind = 0; kind < 256; ++kind) {
        if (is_known_kind(static_cast<std::uint8_t>(kind))) {
            seeds.write("block", '\1' + block_of(static_cast<Kind>(kind), 3));
            seeds.write("block", '\0' + block_of(static_cast<Kind>(kind), 0));
        }
    }
}

}  // namespace
}  // namespace perfleet

int main(int argument_count, char** arguments) {
    if (argument_count != 2) {
        std::fprintf(stderr, "usage: write_seeds FOLDER\n");
        return 2;
    }
    perfleet::SeedFolder seeds{arguments[1]};
    perfleet::write_columns(seeds);
    perfleet::write_blocks(seeds);
    return 0;
}
