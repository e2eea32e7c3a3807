#include "target-collector/intake/perf-data/recorded_symbols.h"

#include <algorithm>
#include <protozero/pbf_reader.hpp>
#include <utility>

#include "schemas/text/utf8.h"
#include "target-collector/intake/recording/recording_import.h"
#include "target-collector/records/byte_cursor.h"

namespace perfleet {
namespace {

bool has_addresses(std::uint32_t type) { return type <= static_cast<std::uint32_t>(RecordedSymbols::Type::kElfFile); }

void add(RecordedSymbolsByPath& symbols, std::string path, std::uint32_t type, RecordedSymbols read) {
    if (!has_addresses(type) || path.empty() || read.functions.empty()) {
        return;
    }
    std::size_t count = read.functions.size();
    for (const auto& [known, of] : symbols) {
        count += of.functions.size();
    }
    if (count <= kRecordedFunctionsMax) {
        read.type = static_cast<RecordedSymbols::Type>(type);
        symbols.insert_or_assign(std::move(path), std::move(read));
    }
}

std::string file_name(std::string_view path) { return std::string{path.substr(path.rfind('/') + 1)}; }

RecordedFunction function_of(protozero::pbf_reader message) {
    RecordedFunction function;
    while (message.next()) {
        switch (message.tag()) {
            case 1: function.address = message.get_uint64(); break;
            case 2: function.size_bytes = message.get_uint32(); break;
            case 3: function.name = message.get_string(); break;
            default: message.skip();
        }
    }
    return function;
}

std::uint64_t first_field_of(protozero::pbf_reader message) {
    std::uint64_t value = 0;
    while (message.next()) {
        if (message.tag() == 1) {
            value = message.get_uint64();
        } else {
            message.skip();
        }
    }
    return value;
}

void take_message(protozero::pbf_reader message, RecordedSymbolsByPath& symbols) {
    RecordedSymbols read;
    std::string path;
    std::uint32_t type = 0;
    while (message.next()) {
        switch (message.tag()) {
            case 1: path = message.get_string(); break;
            case 2: type = message.get_uint32(); break;
            case 3: read.least_address = message.get_uint64(); break;
            case 4: read.functions.push_back(function_of(message.get_message())); break;
            case 6:
            case 7: read.offset_of_least = first_field_of(message.get_message()); break;
            default: message.skip();
        }
    }
    add(symbols, std::move(path), type, std::move(read));
}

}  // namespace

std::string RecordedSymbols::text(std::string_view path, std::uint64_t kernel_start) const {
    std::vector<const RecordedFunction*> ascending;
    for (const RecordedFunction& function : functions) {
        if (!function.name.empty()) {
            ascending.push_back(&function);
        }
    }
    std::stable_sort(ascending.begin(), ascending.end(),
                     [](const auto* a, const auto* b) { return a->address < b->address; });
    const std::uint64_t bias = type == Type::kKernel ? kernel_start : least_address - offset_of_least;
    std::string lines;
    for (std::size_t i = 0; i < ascending.size(); ++i) {
        const RecordedFunction& function = *ascending[i];
        if (function.address < bias || (i > 0 && ascending[i - 1]->address == function.address)) {
            continue;
        }
        std::string name = printable(function.name);
        std::replace(name.begin(), name.end(), '\n', ' ');
        append_symbol(lines, function.address - bias, name);
        const std::uint64_t end = function.address + function.size_bytes;
        const bool is_followed = i + 1 < ascending.size() && ascending[i + 1]->address <= end;
        if (function.size_bytes != 0 && end > function.address && !is_followed) {
            append_symbol(lines, end - bias, "[" + file_name(path) + "]");
        }
    }
    return lines;
}

bool take_simpleperf_files(std::span<const std::byte> section, bool is_foreign, RecordedSymbolsByPath& symbols) {
    ByteCursor cursor{section, is_foreign};
    while (!cursor.rest().empty()) {
        const std::uint32_t size = cursor.u32();
        ByteCursor file{cursor.bytes(size), is_foreign};
        if (cursor.failed()) {
            return false;
        }
        RecordedSymbols read;
        std::string path{file.text()};
        const std::uint32_t type = file.u32();
        read.least_address = file.u64();
        const std::uint32_t count = file.u32();
        for (std::uint32_t i = 0; i < count && !file.failed(); ++i) {
            RecordedFunction& function = read.functions.emplace_back();
            function.address = file.u64();
            function.size_bytes = file.u32();
            function.name = file.text();
        }
        if (file.failed()) {
            return false;
        }
        // Older versions lack the offset: their least address is that of the file's beginning.
        read.offset_of_least = has_addresses(type) && file.rest().size() >= sizeof(std::uint64_t) ? file.u64() : 0;
        add(symbols, std::move(path), type, std::move(read));
    }
    return true;
}

bool take_simpleperf_messages(std::span<const std::byte> section, bool is_foreign, RecordedSymbolsByPath& symbols) {
    ByteCursor cursor{section, is_foreign};
    while (!cursor.rest().empty()) {
        const std::uint32_t size = cursor.u32();
        const auto bytes = cursor.bytes(size);
        if (cursor.failed()) {
            return false;
        }
        try {
            take_message(protozero::pbf_reader{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, symbols);
        } catch (const protozero::exception&) {
            return false;
        }
    }
    return true;
}

}  // namespace perfleet
