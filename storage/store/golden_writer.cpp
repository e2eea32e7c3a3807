// Prints the golden store of this build, as tests/golden/store-* keep those of releases.
//   storage_golden_writer DIR         as it was put; DIR is a new folder
//   storage_golden_writer DIR joined  with small batches joined
#include <cstdio>
#include <string>

#include "storage/key/key.h"
#include "storage/store/golden_store.h"
#include "storage/store/rocksdb_engine.h"

int main(int argument_count, char** arguments) {
    using namespace perfleet;
    if (argument_count < 2) {
        return 2;
    }
    {
        auto store = open_rocksdb_store(arguments[1]);
        if (!store.ok() || !golden_store::fill(**store)) {
            return 1;
        }
        if (argument_count > 2 &&
            !(*store)->join(UtcNs{INT64_MAX / 2}, [](const JoinStep&) { return Visit::kContinue; }).ok()) {
            return 1;
        }
        if (!(*store)->sync().ok()) {
            return 1;
        }
    }
    auto engine = open_rocksdb_reader_engine(arguments[1]);
    if (!engine.ok()) {
        return 1;
    }
    const std::string text = golden_store::text_of(**engine);
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
