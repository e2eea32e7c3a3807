// Prints the golden store of this build, as tests/golden/store keeps it.
//   storage_golden_writer DIR    DIR is a new folder
#include <cstdio>
#include <string>

#include "storage/store/testing/golden_store.h"

int main(int argument_count, char** arguments) {
    using namespace perfleet;
    if (argument_count != 2) {
        return 2;
    }
    if (!golden_store::write_golden_store(arguments[1])) {
        return 1;
    }
    auto engine = open_rocksdb_reader_engine(arguments[1]);
    if (!engine.ok()) {
        return 1;
    }
    const std::string text = golden_store::text_of(**engine);
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
