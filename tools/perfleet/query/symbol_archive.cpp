#include "tools/perfleet/query/symbol_archive.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include "query-engine/symbol/elf_file.h"
#include "query-engine/symbol/symbol_files.h"
#include "schemas/text/hex.h"
#include "target-collector/intake/perf-data/record_source.h"
#include "target-collector/intake/perf-data/recorded_session.h"
#include "target-collector/intake/recording/file_bytes.h"
#include "target-collector/process/kernel_images.h"

namespace perfleet {
namespace {

// The file with this build-id; empty: not found.
std::string file_of(const ImageDefinition& image, const SymbolPaths& paths) {
    for (const std::string& path : symbol_files_of(image, paths)) {
        const auto file = ElfFile::open(path);
        if (file.ok() && (*file)->has_build_id(image.build_id) && (*file)->find_section(".dynsym").has_value()) {
            return path;
        }
    }
    // Statically linked programs have no .dynsym.
    for (const std::string& path : symbol_files_of(image, paths)) {
        const auto file = ElfFile::open(path);
        if (file.ok() && (*file)->has_build_id(image.build_id)) {
            return path;
        }
    }
    return {};
}

bool is_own_kernel(const std::string& name, const std::string& build_id) {
    const ImageContentId own = KernelImages::own_content();
    return name.starts_with("[kernel") &&
           std::string_view{reinterpret_cast<const char*>(own.bytes.data()), own.size_bytes} == build_id;
}

}  // namespace

Result<SymbolArchive> archive_symbols(const std::string& perf_data_file, const SymbolPaths& paths) {
    auto file = PERFLEET_TRY(FileBytes::open(perf_data_file));
    const auto header = PERFLEET_TRY(read_perf_data_header(file));
    RecordedSession session{header.is_foreign};
    PERFLEET_TRY(session.read_sections(file, header));
    SymbolArchive archive;
    archive.folder = perf_data_file + ".debug";
    for (const auto& [name, build_id] : session.build_ids) {
        ImageDefinition image;
        image.flags = image_flags::kFileOffset;
        image.name = name;
        image.build_id = build_id;
        const bool is_kernel = is_own_kernel(name, build_id);
        const std::string from = is_kernel ? "/proc/kallsyms" : file_of(image, paths);
        if (from.empty()) {
            archive.missing.push_back(name);
            continue;
        }
        const std::string id = hex_of(build_id);
        const std::filesystem::path folder =
            std::filesystem::path{archive.folder} / ".build-id" / id.substr(0, 2) / id.substr(2);
        const std::filesystem::path to = folder / (is_kernel ? "kallsyms" : "elf");
        std::error_code error;
        std::filesystem::create_directories(folder, error);
        if (!error && is_kernel) {
            std::ofstream{to} << std::ifstream{from}.rdbuf();  // /proc has files without a size
        } else if (!error) {
            std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, error);
        }
        if (error) {
            return Error{ErrorCode::kIo, to.string() + ": " + error.message()};
        }
        ++archive.file_count;
    }
    return archive;
}

}  // namespace perfleet
