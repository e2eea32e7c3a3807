#include "gateway/admission/image_check.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>

#include "schemas/wire/protocol.h"

namespace perfleet::image_check_test {
namespace {

constexpr auto kElf = static_cast<std::uint16_t>(protocol::ImageType::kElfSymbols);
constexpr auto kKernel = static_cast<std::uint16_t>(protocol::ImageType::kKernelSymbols);

std::string packed(std::string_view bytes) {
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 3));
    return frame;
}

std::string note_of(std::string_view build_id) {
    const std::uint32_t header[3]{4, static_cast<std::uint32_t>(build_id.size()), 3};
    std::string note(reinterpret_cast<const char*>(header), sizeof(header));
    note += std::string_view{"GNU\0", 4};
    return note + std::string{build_id};
}

// As long as an ELF file's symbols, with its build-id's note at a place.
std::string elf_with(std::string_view build_id, std::size_t at, std::size_t size = 300'000) {
    std::string bytes(size, 'x');
    bytes.replace(0, 4, "\177ELF");
    const std::string note = note_of(build_id);
    bytes.replace(at, note.size(), note);
    return bytes;
}

const std::string kBuild(20, 'b');

std::optional<ImageRefusal> refusal_of_image(std::string_view build_id, const ImageContent& content) {
    return check_image(build_id, content).refusal;
}

TEST(ImageCheck, TakesSymbolsOfTheBuildAndOfAFileWithoutBuildId) {
    // Also where the note lies across what is unpacked at a time.
    for (std::size_t at = ZSTD_DStreamOutSize() - 40; at < ZSTD_DStreamOutSize() + 4; ++at) {
        EXPECT_EQ(refusal_of_image(kBuild, {kElf, packed(elf_with(kBuild, at))}), std::nullopt) << at;
        EXPECT_EQ(refusal_of_image(std::string(20, 'c'), {kElf, packed(elf_with(kBuild, at))}), ImageRefusal::kBuildId)
            << at;
    }
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, packed("\177ELF without a note")}), std::nullopt);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, packed(elf_with(kBuild, 64)) + packed(elf_with(kBuild, 512))}),
              std::nullopt)
        << "with its debug file";
    EXPECT_EQ(
        refusal_of_image(kBuild, {kElf, packed(elf_with(kBuild, 64)) + packed("") + packed(elf_with(kBuild, 512))}),
        std::nullopt)
        << "without one, with its debug information";
    const std::string kernel = packed("0 T _stext\n10 t start\n");
    EXPECT_EQ(refusal_of_image(kBuild, {kKernel, kernel}), std::nullopt);
    for (const char* sources : {"a profile", "fa.c\np1 7\n", "p0 0\n", ""}) {
        EXPECT_EQ(refusal_of_image(kBuild, {kKernel, kernel + packed(sources)}), std::nullopt)
            << "with the sources that a profile names: " << sources;
    }
    EXPECT_EQ(refusal_of_image(kBuild, {kKernel, kernel + kernel}), ImageRefusal::kContent);
}

TEST(ImageCheck, RefusesWhatIsOfAnotherBuildDamagedOrNoSymbols) {
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, packed(elf_with(kBuild.substr(1), 64))}), ImageRefusal::kBuildId);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, packed(elf_with(kBuild, 64)) + packed(elf_with("another", 64))}),
              ImageRefusal::kBuildId);
    EXPECT_EQ(refusal_of_image(kBuild, {9, packed("x")}), ImageRefusal::kType);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, "no frame"}), ImageRefusal::kDamaged);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, ""}), ImageRefusal::kDamaged);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, packed("a script")}), ImageRefusal::kContent);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, packed("")}), ImageRefusal::kContent);
    EXPECT_EQ(refusal_of_image(kBuild, {kKernel, packed("\177ELF")}), ImageRefusal::kContent);
    EXPECT_EQ(refusal_of_image(kBuild, {kKernel, packed("0 T a\n") + packed("p0 0\n") + packed("p0 0\n")}),
              ImageRefusal::kDamaged);
    const std::string whole = packed(elf_with(kBuild, 64));
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, whole.substr(0, whole.size() - 3)}), ImageRefusal::kDamaged);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, whole + "rest"}), ImageRefusal::kDamaged);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, whole + whole + packed("a script")}), ImageRefusal::kContent);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, whole + packed("") + packed(elf_with("another", 64))}),
              ImageRefusal::kBuildId);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, whole + whole + whole + whole}), ImageRefusal::kDamaged);
}

TEST(ImageCheck, RefusesBombsAndLiesAboutTheSize) {
    std::string zeros = elf_with(kBuild, 64, (64U << 20) + 1);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, packed(zeros)}), ImageRefusal::kTooLarge);
    std::string lie = packed(elf_with(kBuild, 64));
    lie.replace(5, 4, "\x10\x00\x00\x00", 4);  // the content's size, behind magic and descriptor
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, lie}), ImageRefusal::kDamaged);
    lie.replace(5, 4, "\xff\xff\xff\x03", 4);
    EXPECT_EQ(refusal_of_image(kBuild, {kElf, lie}), ImageRefusal::kRatio);
}

// 64 MiB a frame of the build's own note, again and again: some KB as sent.
std::string bomb(std::size_t frame_count) {
    std::string bytes{"\177ELF"};
    while (bytes.size() < 64U << 20) {
        bytes += note_of(kBuild);
    }
    bytes.resize(64U << 20);
    std::string content;
    const std::string frame = packed(bytes);
    for (std::size_t i = 0; i < frame_count; ++i) {
        content += frame;
    }
    return content;
}

TEST(ImageCheck, RefusesWhatUnpacksTooFarByTheSizesThatItsFramesState) {
    const std::string content = bomb(3);
    ASSERT_LT(content.size(), 64U << 10);
    const ImageVerdict verdict = check_image(kBuild, {kElf, content});
    EXPECT_EQ(verdict.refusal, ImageRefusal::kRatio);
    EXPECT_EQ(verdict.unpacked_bytes, 0U);
    // As the frames that are stated small are unpacked, all that went before them counts.
    const std::string small = packed(elf_with(kBuild, 64, kUnpackedFreeBytes / 2));
    const ImageVerdict later = check_image(kBuild, {kElf, small + packed(elf_with(kBuild, 64, kUnpackedFreeBytes))});
    EXPECT_EQ(later.refusal, ImageRefusal::kRatio);
    EXPECT_EQ(later.unpacked_bytes, kUnpackedFreeBytes / 2);
    EXPECT_EQ(check_image(kBuild, {kElf, small}).refusal, std::nullopt) << "little may unpack to any multiple";
}

TEST(ImageCheck, StopsAtTheFirstNoteOfAnotherBuildAndAtTooManyNotes) {
    std::string other = elf_with("another", 64, 1U << 20);
    for (std::size_t at = 1'000; at < other.size(); at += 7) {
        other[at] = static_cast<char>(at * at >> 5U);  // so that it isn't refused for its ratio
    }
    const ImageVerdict verdict = check_image(kBuild, {kElf, packed(other)});
    EXPECT_EQ(verdict.refusal, ImageRefusal::kBuildId);
    EXPECT_LE(verdict.unpacked_bytes, 2 * ZSTD_DStreamOutSize());
    std::string notes{"\177ELF"};
    for (std::uint32_t i = 0; i <= kNamesOfNotesMax; ++i) {
        notes += note_of(kBuild);
        notes += std::to_string(i * 2'654'435'761U);
    }
    EXPECT_EQ(check_image(kBuild, {kElf, packed(notes)}).refusal, ImageRefusal::kContent);
}

}  // namespace
}  // namespace perfleet::image_check_test
