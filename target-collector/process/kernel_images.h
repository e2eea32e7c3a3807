// The running kernel and its modules as images, and the snapshot of its symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/vocabulary/kinds.h"
#include "target-collector/process/image_table.h"

namespace perfleet {

struct KernelSymbol {
    std::uint64_t address = 0;
    char type = 0;
    std::string_view name;
    std::string_view module;  // empty: the kernel itself
};

// One line of /proc/kallsyms; empty when it isn't one. Borrows `line`.
[[nodiscard]] std::optional<KernelSymbol> parse_kallsyms_line(std::string_view line);

// What /proc/kallsyms says of the kernel itself. Modules and what the kernel made while it ran (BPF programs) lie
// elsewhere after each start.
struct KernelLayout {
    std::uint64_t start = 0;  // _stext; 0: hidden (kptr_restrict)
    std::uint64_t size = 0;   // to _etext
    std::string symbols;      // as schemas/wire/README.md has kernel symbols; empty when hidden
};
[[nodiscard]] KernelLayout read_kernel_layout(std::string_view kallsyms);

struct KernelModule {
    std::string name;
    std::uint64_t start = 0;
    std::uint64_t size = 0;
};
// From the text of /proc/modules, ascending by start; modules whose place is hidden are left out.
[[nodiscard]] std::vector<KernelModule> read_kernel_modules(std::string_view modules);

// The symbols of each module, by its name, in the same form: their offsets count from where the module begins.
[[nodiscard]] std::map<std::string, std::string> read_module_symbols(std::string_view kallsyms,
                                                                     const std::vector<KernelModule>& modules);

// Where addresses of the kernel belong.
class KernelImages {
public:
    // A kernel of which nothing is known. read(): what /proc/kallsyms, /proc/modules, /sys/kernel/notes and
    // /sys/module/*/notes say.
    KernelImages() = default;
    static KernelImages read();
    // The running kernel's build-id alone.
    [[nodiscard]] static ImageContentId own_content();
    // As another machine had them. What follows its kernel's text isn't its own, if its size is known.
    static KernelImages of(Image kernel, std::vector<Image> modules);

    [[nodiscard]] const ImageContentId& kernel_content() const { return kernel_content_; }
    [[nodiscard]] const std::string& symbols() const { return symbols_; }
    // Of each module that has a build-id and symbols.
    template <class Visitor>
    void each_module_symbols(Visitor visitor) const {
        for (const Module& module : modules_) {
            if (!module.symbols.empty() && module.image.content.size_bytes > 0) {
                visitor(module.image.content, module.symbols);
            }
        }
    }
    // Its text: where it begins, and how much is known of it.
    [[nodiscard]] const Image& kernel() const { return kernel_; }
    [[nodiscard]] bool addresses_hidden() const { return kernel_.address == 0; }

    // Puts its images into the table; to be called again after a sweep that forgot them.
    void intern(ImageTable& table);

    struct Place {
        ImageIndex image = 0;
        std::uint64_t offset = 0;
    };
    // Empty: below the kernel's text, where no code of it is. What follows its text (BPF programs, trampolines) counts
    // as the kernel's own.
    [[nodiscard]] std::optional<Place> find(std::uint64_t address) const;

    template <class Visitor>
    void each_index(Visitor visitor) const {
        visitor(kernel_index_);
        for (const Module& module : modules_) {
            visitor(module.index);
        }
    }

private:
    struct Module {
        Image image;
        ImageIndex index = 0;
        std::string symbols;
    };
    Image kernel_{"[kernel.kallsyms]", image_flags::kKernel, 0, 0, {}};
    std::uint64_t kernel_size_bytes_max_ = ~0ULL;  // beyond it no address is the kernel's
    ImageIndex kernel_index_ = 0;
    ImageContentId kernel_content_;
    std::vector<Module> modules_;
    std::string symbols_;
};

}  // namespace perfleet
