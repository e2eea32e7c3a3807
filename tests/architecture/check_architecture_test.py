#!/usr/bin/env python3
"""Plants a violation of each rule in a small tree and shows that the checker names its file and line."""

import contextlib
import io
import os
import tempfile
import unittest

import check_architecture

# A tree that keeps every rule, with the allowed edge cases in it.
SOUND_TREE = {
    "CMakeLists.txt": "add_subdirectory(schemas)\n",
    "schemas/CMakeLists.txt": "module(a SOURCES columns/codec.cpp)\ntest(columns/codec_test.cpp)\n",
    "schemas/columns/codec.h": "#include <cstdint>\n",
    "schemas/columns/codec.cpp": '#include "schemas/columns/codec.h"\n#include <cstring>\n',
    "schemas/columns/codec_test.cpp": '#include <gtest/gtest.h>\n#include <vector>\n',
    "schemas/vocabulary/error.h": "#include <string>\n",
    "target-collector/CMakeLists.txt": "module(source/linux/perf.cpp)\ntest(wire/driver_test.cpp)\n",
    "target-collector/ring/spsc_ring.h": "#include <atomic>\n",
    "target-collector/wire/driver_test.cpp": "#include <zmq.h>\n",
    "target-collector/source/linux/perf.cpp":
        '#include <linux/perf_event.h>\n#include <sys/mman.h>\n#include "target-collector/message/batch_builder.h"\n',
    "daemon/CMakeLists.txt": "module(log FOLDERS metrics log LINKS spdlog)\n",
    "daemon/metrics/metrics_server.cpp": "#include <prometheus/text_serializer.h>\n",
    "daemon/metrics/metrics_server.h": "#include <memory>\n",
    "daemon/log/log.cpp": "#include <spdlog/logger.h>\n",
    "storage/CMakeLists.txt": "module(engine/rocksdb/rocksdb_engine.cpp)\n",
    "storage/block/block.h": '#include "schemas/columns/codec.h"\n',
    "storage/key/key.h": "namespace perfleet {\nclass Key;\nstruct Key {\n};\n}  // namespace perfleet\n",
    "storage/key/testing/keys.h": "#include <gtest/gtest.h>\n",
    "storage/engine/rocksdb/rocksdb_engine.h": "#include <rocksdb/db.h>\n",
    "storage/engine/rocksdb/rocksdb_engine.cpp": '#include "storage/engine/rocksdb/rocksdb_engine.h"\n',
    "gateway/CMakeLists.txt": "program(main.cpp admission/decode.cpp)\ntest(admission/decode_test.cpp)\n",
    "gateway/main.cpp": '#include <CLI/CLI.hpp>\n#include "daemon/metrics/metrics_server.h"\n#include "query-engine/scan/scan.h"\n',
    "gateway/admission/decode.cpp": '#include <capnp/message.h>\n#include "collector.capnp.h"\n',
    "gateway/admission/decode_test.cpp": '#include "target-collector/message/batch_builder.h"\n',
    "target-collector/message/batch_builder.h": "#include <span>\n",
    "query-engine/CMakeLists.txt": "module(symbol/elf.cpp)\n",
    "query-engine/scan/scan.h": '#include "storage/block/block.h"\n',
    "query-engine/symbol/elf.cpp": "#include <gelf.h>\n#include <elfutils/libdw.h>\n",
    "exporters/perf-data/exporter.h": '#include "query-engine/scan/scan.h"\n#include "storage/block/block.h"\n',
    "tools/CMakeLists.txt": "program(perfleet/main.cpp)\n",
    "tools/perfleet/main.cpp": '#include "gateway/wire/context.h"\n#include "exporters/perf-data/exporter.h"\n#include "tools/perfleet/table.h"\n',
    "gateway/wire/context.h": "#include <memory>\n",
    "tests/end_to_end/harness.h": '#include "tools/perfleet/table.h"\n',
    "tools/perfleet/table.h": "#include <string>\n",
}

# The planted files {file: text}, then the `file:line:` and a word of the answer.
VIOLATIONS = {
    "schemas include storage": (
        {"schemas/columns/codec.h": '#include <cstdint>\n\n#include "storage/block/block.h"\n'},
        "schemas/columns/codec.h:3:", "schemas may not include storage"),
    "target-collector includes storage": (
        {"target-collector/source/linux/perf.cpp": '#include "storage/block/block.h"\n'},
        "target-collector/source/linux/perf.cpp:1:", "target-collector may not include storage"),
    "a command includes what is the gateway's own": (
        {"tools/perfleet/table.h": '#include <string>\n#include "gateway/wire/context.h"\n'},
        "tools/perfleet/table.h:2:", "is not what gateway offers"),
    "an importer includes what is offered to commands alone": (
        {"tools/perfleet/import/run.h": '#include "gateway/gateway.h"\n', "gateway/gateway.h": "\n"},
        "tools/perfleet/import/run.h:1:", "is not what gateway offers"),
    "an importer of profiles admits what it made": (
        {"target-collector/intake/pprof/import.h": '#include "gateway/wire/context.h"\n'},
        "target-collector/intake/pprof/import.h:1:", "target-collector may not include gateway"),
    "what importers of profiles share includes one of them": (
        {"target-collector/intake/pprof/import.h": "#include <string>\n",
         "target-collector/intake/session/rows.h": '#include "target-collector/intake/pprof/import.h"\n'},
        "target-collector/intake/session/rows.h:1:", "stands above target-collector/intake/session"),
    "two folders include each other through a file that the order names": (
        {"exporters/format/export_format.h": "#include <string>\n",
         "exporters/report/table.h": '#include "exporters/format/export_format.h"\n',
         "exporters/format/export_format.cpp": '#include "exporters/report/table.h"\n'},
        "exporters/format/export_format.cpp:1:", "include each other"),
    "a folder includes one above it": (
        {"storage/block/block.h": '#include "schemas/columns/codec.h"\n#include "storage/engine/rocksdb/rocksdb_engine.h"\n'},
        "storage/block/block.h:2:", "stands above storage/block"),
    "a folder that nobody has put in order": (
        {"storage/cursor/cursor.h": '#include "storage/block/block.h"\n'},
        "storage/cursor/cursor.h:1:", "FOLDER_ORDER doesn't say"),
    "storage includes gateway": (
        {"storage/block/block.h": '#include "gateway/wire/context.h"\n'},
        "storage/block/block.h:1:", "storage may not include gateway"),
    "gateway includes target-collector": (
        {"gateway/admission/decode.cpp": '#include "target-collector/message/batch_builder.h"\n'},
        "gateway/admission/decode.cpp:1:", "gateway may not include target-collector"),
    "query-engine includes gateway": (
        {"query-engine/scan/scan.h": '#include "gateway/wire/context.h"\n'},
        "query-engine/scan/scan.h:1:", "query-engine may not include gateway"),
    "exporters include storage that query-engine doesn't offer": (
        {"exporters/perf-data/exporter.h": '#include "storage/key/key.h"\n'},
        "exporters/perf-data/exporter.h:1:", "exporters may not include storage"),
    "a module includes tools": (
        {"gateway/admission/decode.cpp": '#include "tools/perfleet/table.h"\n'},
        "gateway/admission/decode.cpp:1:", "gateway may not include tools"),
    "a program includes tests": (
        {"tools/perfleet/main.cpp": '#include "tests/end_to_end/harness.h"\n'},
        "tools/perfleet/main.cpp:1:", "tools may not include tests"),
    "a unit test includes what its folder may not": (
        {"gateway/admission/decode_test.cpp": '#include <gtest/gtest.h>\n#include "exporters/perf-data/exporter.h"\n'},
        "gateway/admission/decode_test.cpp:2:", "gateway may not include exporters"),
    "a name that was given up": (
        {"schemas/columns/codec.h": "#include <cstdint>\nclass Conduct" "Book;\n"},
        "schemas/columns/codec.h:2:", "AbuseLimiter"),
    "a row whose columns are filled by position": (
        {"gateway/admission/decode.cpp": "\n    const std::array<std::uint64_t, 2> integers{1, 2};\n"},
        "gateway/admission/decode.cpp:2:", "name its columns"),
    "a double of tests beside production code": (
        {"gateway/admission/fake_store.h": "\n",
         "gateway/admission/decode_test.cpp": '#include <gtest/gtest.h>\n#include "gateway/admission/fake_store.h"\n'},
        "gateway/admission/fake_store.h:1:", "testing"),
    "production code includes a double of tests": (
        {"gateway/admission/testing/fake_store.h": "\n",
         "gateway/admission/decode.cpp": '#include "gateway/admission/testing/fake_store.h"\n'},
        "gateway/admission/decode.cpp:1:", "is for tests"),
    "include that isn't rooted at the repository": (
        {"schemas/columns/codec.cpp": '#include "codec.h"\n'},
        "schemas/columns/codec.cpp:1:", "rooted at the repository"),
    "own header in angle brackets": (
        {"schemas/columns/codec.cpp": '#include <schemas/columns/codec.h>\n'},
        "schemas/columns/codec.cpp:1:", "the project's own"),
    "a module of the gateway includes daemon": (
        {"gateway/admission/decode.cpp": '#include "daemon/metrics/metrics_server.h"\n'},
        "gateway/admission/decode.cpp:1:", "gateway may not include daemon"),
    "daemon includes gateway": (
        {"daemon/metrics/metrics_server.h": '#include "gateway/wire/context.h"\n'},
        "daemon/metrics/metrics_server.h:1:", "daemon may not include gateway"),
    "prometheus-cpp outside its file": (
        {"gateway/admission/decode.cpp": "#include <prometheus/counter.h>\n"},
        "gateway/admission/decode.cpp:1:", "prometheus-cpp"),
    "prometheus-cpp in a header": (
        {"daemon/metrics/metrics_server.h": "#include <prometheus/text_serializer.h>\n"},
        "daemon/metrics/metrics_server.h:1:", "prometheus-cpp"),
    "spdlog outside the log": (
        {"gateway/main.cpp": "#include <spdlog/spdlog.h>\n"}, "gateway/main.cpp:1:", "spdlog"),
    "ZeroMQ outside tests": (
        {"gateway/admission/decode.cpp": "#include <zmq.hpp>\n"}, "gateway/admission/decode.cpp:1:", "ZeroMQ"),
    "ZeroMQ in a main": (
        {"gateway/main.cpp": "#include <zmq.h>\n"}, "gateway/main.cpp:1:", "ZeroMQ"),
    "RocksDB outside the store": (
        {"query-engine/scan/scan.h": "#include <rocksdb/db.h>\n"}, "query-engine/scan/scan.h:1:", "RocksDB"),
    "RocksDB through a header of the store": (
        {"storage/block/block.h": '#include "storage/engine/rocksdb/rocksdb_engine.h"\n'},
        "storage/block/block.h:1:", "brings in RocksDB"),
    "libelf outside symbol": (
        {"target-collector/source/linux/perf.cpp": "#include <libelf.h>\n"},
        "target-collector/source/linux/perf.cpp:1:", "libelf"),
    "libdw outside symbol": (
        {"exporters/perf-data/exporter.h": "#include <elfutils/libdwfl.h>\n"},
        "exporters/perf-data/exporter.h:1:", "libelf"),
    "Cap'n Proto in the collector": (
        {"target-collector/message/batch_builder.h": "#include <span>\n#include <capnp/message.h>\n"},
        "target-collector/message/batch_builder.h:2:", "Cap'n Proto"),
    "generated schema in the store": (
        {"storage/engine/rocksdb/rocksdb_engine.cpp": '#include "collector.capnp.h"\n'},
        "storage/engine/rocksdb/rocksdb_engine.cpp:1:", "Cap'n Proto"),
    "kj in an exporter": (
        {"exporters/perf-data/exporter.h": "#include <kj/common.h>\n"},
        "exporters/perf-data/exporter.h:1:", "Cap'n Proto"),
    "perf_event ABI of the kernel in the exporter": (
        {"exporters/perf-data/exporter.h": "#include <linux/perf_event.h>\n"},
        "exporters/perf-data/exporter.h:1:", "perf_event"),
    "a library that nobody owns": (
        {"storage/block/block.h": "#include <boost/optional.hpp>\n"}, "storage/block/block.h:1:", "nobody owns"),
    "GoogleTest in a module": (
        {"storage/block/block.h": "#include <gtest/gtest.h>\n"}, "storage/block/block.h:1:", "GoogleTest"),
    "a module includes what tests share": (
        {"storage/key/key.h": '#include "storage/key/testing/keys.h"\n'}, "storage/key/key.h:1:", "is for tests"),
    "heap in freestanding code": (
        {"target-collector/ring/spsc_ring.h": "#include <atomic>\n#include <vector>\n"},
        "target-collector/ring/spsc_ring.h:2:", "not for freestanding code"),
    "host header in freestanding code": (
        {"schemas/columns/codec.cpp": '#include "schemas/vocabulary/error.h"\n'},
        "schemas/columns/codec.cpp:1:", "what needs a host"),
    "unit test in no target": (
        {"storage/block/block_test.cpp": "#include <gtest/gtest.h>\n"}, "storage/block/block_test.cpp:1:", "no target"),
    "unit test named in a comment only": (
        {"storage/block/block_test.cpp": "\n", "storage/CMakeLists.txt":
         "module(engine/rocksdb/rocksdb_engine.cpp)\n# block/block_test.cpp\n"}, "storage/block/block_test.cpp:1:", "no target"),
    "unit test in a module's folder": (
        {"daemon/log/log_test.cpp": "\n"}, "daemon/log/log_test.cpp:1:", "no target"),
    "a format includes another": (
        {"exporters/html/page.h": '#include "exporters/folded/stacks.h"\n', "exporters/folded/stacks.h": "\n"},
        "exporters/html/page.h:1:", "includes go down only"),
    "two constants of one name": (
        {"query-engine/scan/scan.h": "namespace perfleet {\ninline constexpr int kMax = 1;\n}  // namespace perfleet\n",
         "storage/block/block.h": "namespace perfleet {\ninline constexpr std::size_t kMax{2};\n}  // namespace perfleet\n"},
        "storage/block/block.h:2:", "perfleet::kMax is defined in query-engine/scan/scan.h:2"),
    "two types of one name": (
        {"query-engine/scan/scan.h": "namespace perfleet {\n\nstruct Key { int a; };\n}  // namespace perfleet\n",
         # Neither of these is the same type.
         "storage/engine/rocksdb/rocksdb_engine.cpp": "namespace perfleet {\nnamespace {\nstruct Key {};\n}  // namespace\n"
                                            "struct Other::Key {};\n}  // namespace perfleet\n"},
        "storage/key/key.h:3:", "perfleet::Key is defined in query-engine/scan/scan.h:3"),
    "a file named utils": (
        {"storage/block/string_utils.h": "\n"}, "storage/block/string_utils.h:1:", "utils"),
    "a folder named util": (
        {"storage/util/string.h": "\n"}, "storage/util/string.h:1:", "utils"),
    "a path of one machine": (
        {"README.md": "# It\n\nSee /wor" + "k/notes.md.\n"}, "README.md:3:", "path of one machine"),
    "a home folder": (
        {"tools/run": "#!/bin/sh\ncd /hom" + "e/somebody\n"}, "tools/run:2:", "path of one machine"),
    "a registry host": (
        {"tools/run": "#!/bin/sh\npull docker.i" + "o/library/debian\n"}, "tools/run:2:", "package registry"),
    "C++ outside the modules": (
        {"extras/more.h": "\n"}, "extras/more.h:1:", "outside the modules"),
}


def check(tree):
    with tempfile.TemporaryDirectory(prefix="perfleet-architecture-") as root:
        for path, text in tree.items():
            full = os.path.join(root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = check_architecture.main(["--root", root])
        return status, said.getvalue()


class CheckerTest(unittest.TestCase):
    def test_accepts_a_sound_tree(self):
        status, said = check(SOUND_TREE)
        self.assertEqual(status, 0, said)

    def test_refuses_each_violation_naming_file_and_line(self):
        for name, (planted, place, word) in VIOLATIONS.items():
            with self.subTest(name):
                status, said = check({**SOUND_TREE, **planted})
                self.assertEqual(status, 1, said)
                self.assertTrue(any(word in line for line in said.splitlines() if line.startswith(place)), said)

    def test_refuses_to_pass_an_empty_tree(self):
        self.assertEqual(check({"README.md": "nothing\n"})[0], 1)


if __name__ == "__main__":
    unittest.main()
