// Names frames of Python 3.11. Finds a process's interpreter state, for the BPF program that walks it
// (bpf/python_layout.h), and maps the code objects of that program to functions and lines. The program reads each code
// object when it first sees it. Others, which it couldn't read or that were dropped, are read from the process's
// memory.
//
// A function is an image of its own: kAnonymous with a size, named `qualified_name (file:first_line)`; frame offsets
// are lines. Code objects are read once, and again if another one has replaced it. All data is untrusted. One thread;
// bounded.
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
    static constexpr std::size_t kCodesSizeBytesMax = 16U << 20;  // of all cached code objects
    static constexpr std::size_t kTextSizeMax = 1'024;            // characters of a name
    static constexpr std::size_t kLineTableSizeMax = 65'536;      // bytes of one code object
    static constexpr std::uint64_t kLineMax = 1U << 24;

    // Finds the symbols in the file of a mapped image.
    using FindSymbols =
        std::function<std::optional<PythonSymbols>(ImageIndex image, std::uint32_t pid, const Mapping& mapping)>;

    // Borrowed.
    PythonFrames(ImageTable& images, RunTimeCode& code, FindSymbols find_symbols)
        : images_{images}, code_{code}, find_symbols_{std::move(find_symbols)} {}

    // Address of the process's _PyRuntime; 0: none. Only files with `python` in their names are searched.
    [[nodiscard]] std::uint64_t runtime_of(const Process& process);

    // Whether the image may be of an interpreter; for others runtime_of() isn't looked for.
    [[nodiscard]] static bool has_name_of_interpreter(const Image& image);

    // The frame that two words of a sample describe; nothing: unreadable.
    [[nodiscard]] std::optional<ResolvedFrame> find(const Process& process, std::uint64_t code_word,
                                                    std::uint64_t detail);

    // Adds an unwind_code (bpf/unwind_layout.h) of a BPF program; replaces an earlier entry of that code object.
    void keep(std::span<const std::byte> read);

    // Images get new numbers from now on.
    void forget_images() { symbols_.clear(); }

    [[nodiscard]] std::uint64_t read_count() const { return read_count_; }  // of code objects
    [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }    // of the cached ones

private:
    struct Line {
        std::uint32_t first_index = 0;  // of an instruction
        std::uint32_t line = 0;
    };
    struct Code {
        std::uint64_t key = 0;
        std::uint32_t check = 0;
        std::uint32_t pid = 0;
        std::string name;  // empty: unreadable
        std::uint32_t first_line = 0;
        std::vector<Line> lines;  // ascending

        // Includes its place in list and table, and malloc's overhead.
        [[nodiscard]] std::size_t size_bytes() const {
            return sizeof(Code) + 128 + name.capacity() + lines.capacity() * sizeof(Line);
        }
    };

    // Inserts at the front of codes_; replaces an entry with the same key. Call count() when it is complete.
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
    std::list<Code> codes_;  // most recently used first
    std::unordered_map<std::uint64_t, std::list<Code>::iterator> code_by_key_;
    std::size_t size_bytes_ = 0;
    std::uint64_t read_count_ = 0;
};

// Starts of lines in a code object (PEP 626, in 3.11's encoding: Objects/locations.md). For tests.
[[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> python_lines(std::span<const std::byte> table,
                                                                                std::uint32_t first_line);

}  // namespace perfleet
