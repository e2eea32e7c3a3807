#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "schemas/host/content_hash.h"
#include "schemas/vocabulary/batch_limits.h"
#include "schemas/vocabulary/kinds.h"
#include "target-collector/process/elf_note.h"
#include "target-collector/process/image_finder.h"
#include "target-collector/process/proc_reader.h"

namespace perfleet {
namespace {

std::string hex(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned>(byte));
        text += digits;
    }
    return text;
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}

std::string hash_of(std::string_view text) {
    ContentHash hash;
    hash.add(bytes_of(text));
    return hex(hash.value());
}

// The build-id according to binutils.
std::string readelf_build_id(const std::string& path) {
    FILE* const pipe = ::popen(("readelf -n " + path + " 2>/dev/null").c_str(), "r");
    std::string build_id;
    char line[512];
    while (pipe != nullptr && std::fgets(line, sizeof(line), pipe) != nullptr) {
        const std::string_view text = line;
        if (const std::size_t at = text.find("Build ID: "); at != std::string_view::npos) {
            build_id = text.substr(at + 10, text.find('\n') - at - 10);
        }
    }
    if (pipe != nullptr) {
        ::pclose(pipe);
    }
    return build_id;
}

ImageContentId content_of(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status {};
    EXPECT_EQ(::fstat(fd, &status), 0);
    const ImageContentId id = content_id_of_file(fd, static_cast<std::uint64_t>(status.st_size));
    ::close(fd);
    return id;
}

class TemporaryFile {
public:
    explicit TemporaryFile(std::string_view content) {
        path_ = (std::filesystem::temp_directory_path() / "content-XXXXXX").string();
        const int fd = ::mkstemp(path_.data());
        EXPECT_GE(fd, 0);
        EXPECT_EQ(::write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
        ::close(fd);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile() { ::unlink(path_.c_str()); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

TEST(ContentHash, GivesThePublishedValues) {
    EXPECT_EQ(hash_of(""), "6c62272e07bb014262b821756295c58d");
    EXPECT_EQ(hash_of("a"), "d228cb696f1a8caf78912b704e4a8964");
    EXPECT_EQ(hash_of("foobar"), "343e1662793c64bf6f0d3597ba446f18");
}

TEST(ElfNote, ReadsTheBuildIdThatReadelfShows) {
    for (const char* path : {"/bin/ls", "/bin/bash", "/usr/bin/readelf"}) {
        const std::string expected = readelf_build_id(path);
        ASSERT_FALSE(expected.empty()) << path;
        const ImageContentId id = content_of(path);
        EXPECT_EQ(hex(id.view()), expected);
        EXPECT_FALSE(id.is_hash);
    }
}

TEST(ElfNote, FilesWithoutBuildIdAreNamedByTheirContent) {
    const TemporaryFile one("#!/bin/sh\n");
    const TemporaryFile same("#!/bin/sh\n");
    const TemporaryFile other("#!/bin/sh ");
    const ImageContentId id = content_of(one.path());
    EXPECT_TRUE(id.is_hash);
    EXPECT_EQ(id.size_bytes, 16);
    // The size in 8 bytes, little-endian, stands in front.
    EXPECT_EQ(hex(id.view()), hash_of(std::string("\x0a\0\0\0\0\0\0\0", 8) + "#!/bin/sh\n"));
    EXPECT_EQ(hex(content_of(same.path()).view()), hex(id.view()));
    EXPECT_NE(hex(content_of(other.path()).view()), hex(id.view()));
}

TEST(ElfNote, BrokenFilesDoNoHarm) {
    std::ifstream file("/bin/ls", std::ios::binary);
    std::string elf(4'096, '\0');
    file.read(elf.data(), static_cast<std::streamsize>(elf.size()));
    for (std::size_t size = 0; size < 1'024; size += 7) {
        const TemporaryFile cut(std::string_view(elf).substr(0, size));
        EXPECT_GT(content_of(cut.path()).size_bytes, 0);
    }
    for (std::size_t at = 16; at < 900; at += 3) {
        std::string broken = elf;
        broken[at] = static_cast<char>(0xff);
        const auto found = build_id_in_memory(bytes_of(broken));
        EXPECT_LE(found.size(), limits::kBuildIdSizeBytesMax);
    }
}

TEST(ElfNote, NotesWithLyingSizesEndTheSearch) {
    std::vector<std::byte> notes(64);
    const Elf64_Nhdr huge_name{0xffff'fff0, 4, NT_GNU_BUILD_ID};
    std::memcpy(notes.data(), &huge_name, sizeof(huge_name));
    EXPECT_TRUE(build_id_in_notes(notes).empty());
    const Elf64_Nhdr huge_content{4, 0xffff'fff0, NT_GNU_BUILD_ID};
    std::memcpy(notes.data(), &huge_content, sizeof(huge_content));
    EXPECT_TRUE(build_id_in_notes(notes).empty());
    EXPECT_TRUE(build_id_in_notes(std::span(notes).first(5)).empty());
}

TEST(ElfNote, ABuildIdHasTwentyBytesAtMost) {
    const auto note_of = [](std::uint32_t size_bytes) {
        std::vector<std::byte> note(sizeof(Elf64_Nhdr) + 4 + 24, std::byte{7});
        const Elf64_Nhdr header{4, size_bytes, NT_GNU_BUILD_ID};
        std::memcpy(note.data(), &header, sizeof header);
        std::memcpy(note.data() + sizeof header, "GNU", 4);
        return note;
    };
    EXPECT_EQ(build_id_in_notes(note_of(20)).size(), 20U);
    EXPECT_EQ(build_id_in_notes(note_of(1)).size(), 1U);
    EXPECT_TRUE(build_id_in_notes(note_of(21)).empty());
    EXPECT_TRUE(build_id_in_notes(note_of(0)).empty());
}

TEST(ImageFinder, NamesTheOwnProgramByItsBuildId) {
    ImageTable table;
    ImageFinder finder(table);
    const auto pid = static_cast<std::uint32_t>(::getpid());
    const std::string own_path = std::filesystem::read_symlink("/proc/self/exe").string();
    bool found_self = false;
    bool found_vdso = false;
    for (const ProcMapping& mapping : proc_mappings(pid)) {
        const auto index = finder.find({pid, mapping.start, mapping.end, mapping.path, mapping.device_major,
                                        mapping.device_minor, mapping.inode, std::nullopt, 0});
        ASSERT_TRUE(index.has_value());
        const Image& image = table.at(*index);
        if (mapping.path == own_path) {
            found_self = true;
            EXPECT_EQ(hex(image.content.view()), readelf_build_id(own_path));
            EXPECT_EQ(image.flags, image_flags::kFileOffset);
        }
        if (mapping.path == "[vdso]") {
            found_vdso = true;
            EXPECT_EQ(image.flags, image_flags::kFileOffset | image_flags::kVdso);
            EXPECT_GT(image.content.size_bytes, 0);
        }
    }
    EXPECT_TRUE(found_self);
    EXPECT_TRUE(found_vdso);
}

TEST(ImageFinder, MemoryWithoutFileIsNamedByItsPlace) {
    ImageTable table;
    ImageFinder finder(table);
    const auto find = [&](std::uint32_t pid, std::uint64_t start, std::uint64_t end, const char* path) {
        return finder.find({pid, start, end, path, 0, 0, 0, std::nullopt, 0});
    };
    const auto first = find(1, 0x1000, 0x2000, "");
    const auto same = find(2, 0x1000, 0x9000, "//anon");
    const auto other = find(1, 0x3000, 0x4000, "//anon");
    EXPECT_EQ(first, same);
    EXPECT_NE(first, other);
    EXPECT_EQ(table.at(*first).flags, image_flags::kAnonymous);
    EXPECT_EQ(table.at(*first).address, 0x1000U);
    EXPECT_EQ(table.at(*first).name, "//anon");
}

TEST(ImageTable, SweptPlacesAreUsedAgain) {
    ImageTable table;
    const auto first = table.intern({"a", 0, 0, 0, {}});
    const auto second = table.intern({"b", 0, 0, 0, {}});
    EXPECT_EQ(table.intern({"a", 0, 0, 0, {}}), first);
    EXPECT_NE(table.intern({"a", 2, 0, 0, {}}), first);
    std::vector<bool> used(table.place_count());
    used[*second] = true;
    table.sweep(used);
    EXPECT_EQ(table.image_count(), 1U);
    EXPECT_EQ(table.intern({"b", 0, 0, 0, {}}), second);
    EXPECT_LT(*table.intern({"c", 0, 0, 0, {}}), 3U);
    EXPECT_EQ(table.place_count(), 3U);
}

TEST(ImageTable, IsBounded) {
    ImageTable table;
    for (std::uint64_t i = 0; i < limits::kImagesMax; ++i) {
        ASSERT_TRUE(table.intern({"x", 0, i, 0, {}}).has_value());
    }
    EXPECT_FALSE(table.intern({"x", 0, limits::kImagesMax, 0, {}}).has_value());
    EXPECT_TRUE(table.intern({"x", 0, 5, 0, {}}).has_value());
}

}  // namespace
}  // namespace perfleet
