// Names for the frames of Python 3.11: where a process has its interpreter's state, for the BPF program that follows it
// (bpf/python_layout.h), and from the code objects that this program names to functions and lines. The program reads
// each where it meets it first. Those that it couldn't read, or that were forgotten since, are read from the process's
// memory.
//
// A function is an image of its own: kAnonymous with a size, its name `qualified_name (file:first_line)`; offsets of
// frames are lines. Code objects are read once, and again when another one stands there by now. All that is read is
// untrusted. One thread; bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "target-collector/process/process_table.h"
#include "target-collector/process/stack_resolver.h"
#include "target-collector/source/linux/image/python_symbols.h"
#include "target-collector/source/linux/image/run_time_code.h"

namespace perfleet {

class PythonFrames {
public:
    static constexpr std::size_t kCodesSizeBytesMax = 16U << 20;  // of all code objects that are remembered
    static constexpr std::size_t kTextSizeMax = 1'024;            // characters of a name
    static constexpr std::size_t kLineTableSizeMax = 65'536;      // bytes of one code object
    static constexpr std::uint64_t kLineMax = 1U << 24;

    // The file of an image that a process has mapped.
    using FindSymbols =
        std::function<std::optional<PythonSymbols>(ImageIndex image, std::uint32_t pid, const Mapping& mapping)>;

    // Borrowed.
    PythonFrames(ImageTable& images, RunTimeCode& code, FindSymbols find_symbols)
        : images_{images}, code_{code}, find_symbols_{std::move(find_symbols)} {}

    // Where the process has its _PyRuntime; 0: nowhere. Files are looked at whose name has `python` in it.
    [[nodiscard]] std::uint64_t runtime_of(const Process& process);

    // The frame that these two words of a sample name; nothing: it can't be read.
    [[nodiscard]] std::optional<ResolvedFrame> find(const Process& process, std::uint64_t code_word,
                                                    std::uint64_t detail);

    // An unwind_code (bpf/unwind_layout.h) of a BPF program. It replaces what is known of that code object.
    void keep(std::span<const std::byte> read);

    // Images have new numbers from now on.
    void forget_images() { symbols_.clear(); }

    [[nodiscard]] std::uint64_t read_count() const { return read_count_; }  // of code objects
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }    // of those that are remembered

private:
    struct Line {
        std::uint32_t first_index = 0;  // of an instruction
        std::uint32_t line = 0;
    };
    struct Code {
        std::uint64_t key = 0;
        std::uint32_t check = 0;
        std::uint32_t pid = 0;
        std::string name;  // empty: it can't be read
        std::uint32_t first_line = 0;
        std::vector<Line> lines;  // ascending

        // Its place in the list and the table, and what malloc adds, included.
        [[nodiscard]] std::size_t size_bytes() const {
            return sizeof(Code) + 128 + name.capacity() + lines.capacity() * sizeof(Line);
        }
    };

    // At the front of codes_; replaces the one of the same key. It is counted once it is whole.
    Code& make_code(std::uint32_t pid, std::uint64_t address, std::uint32_t check);
    void count(const Code& code);
    [[nodiscard]] static std::uint64_t key_of(std::uint32_t pid, std::uint64_t address, std::uint32_t check);
    static void set_name(Code& code, const std::string& name, const std::string& file, std::int32_t first_line);
    void set_lines(Code& code, std::span<const std::byte> table);
    [[nodiscard]] const Code& code_of(const Process& process, std::uint64_t address, std::uint32_t check);
    [[nodiscard]] bool read_code(const Process& process, std::uint64_t address, Code& code);

    ImageTable& images_;
    RunTimeCode& code_;
    FindSymbols find_symbols_;
    std::unordered_map<ImageIndex, std::optional<PythonSymbols>> symbols_;
    std::list<Code> codes_;  // the last used first
    std::unordered_map<std::uint64_t, std::list<Code>::iterator> code_by_key_;
    std::size_t size_bytes_ = 0;
    std::uint64_t read_count_ = 0;
};

// Lines of a code object (PEP 626, as 3.11 packs them: Objects/locations.md), where one begins. For tests.
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> python_lines(std::span<const std::byte> table,
                                                                                std::uint32_t first_line);

}  // namespace perfleet
