// Prints the golden store of this build, as tests/golden/store-* keep those of releases.
//   storage_golden_writer DIR         as it was put; DIR is a new folder
//   storage_golden_writer DIR joined  with small batches joined
//   storage_golden_writer DIR summed  with a session more, and all rolled up that is joined
//   storage_golden_writer DIR days    with one more of several hours, and rolled up by day
//   storage_golden_writer DIR dictionaries  with a session more, and what it has in common with others
#include <cstdio>
#include <string>
#include <string_view>

#include "storage/key/key.h"
#include "storage/store/golden_store.h"
#include "storage/store/rocksdb_engine.h"

int main(int argument_count, char** arguments) {
    using namespace perfleet;
    if (argument_count < 2) {
        return 2;
    }
    {
        const std::string_view what = argument_count > 2 ? arguments[2] : "";
        const bool has_dictionaries = what == "dictionaries";
        const bool has_days = what == "days" || has_dictionaries;
        const bool is_summed = what == "summed" || has_days;
        auto store = open_rocksdb_store(arguments[1], has_dictionaries ? golden_store::with_dictionaries()
                                                      : has_days       ? golden_store::with_days()
                                                      : is_summed      ? golden_store::with_rollups()
                                                                       : StoreOptions{});
        if (!store.ok() || !golden_store::fill(**store) || (is_summed && !golden_store::fill_summed(**store)) ||
            (has_days && !golden_store::fill_day(**store)) ||
            (has_dictionaries && !golden_store::fill_kernel(**store))) {
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
