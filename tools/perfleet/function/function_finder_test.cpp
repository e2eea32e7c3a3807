// Functions of this program, beside where its linker has put them, and of the C library.
#include "tools/perfleet/function/function_finder.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "target-collector/process/proc_reader.h"

namespace found {

[[gnu::noinline]] int plain(int value) { return value + 1; }

struct Thing {
    [[gnu::noinline]] static int method(int value);
    [[gnu::noinline]] static int overloaded(int value) { return value + 2; }
    [[gnu::noinline]] static int overloaded(long value) { return static_cast<int>(value) + 3; }
};

int Thing::method(int value) {
    if (value > 1000) {
        throw std::runtime_error("too much");
    }
    return value + 4;
}

}  // namespace found

namespace perfleet {
namespace {

std::uint64_t file_offset_of(const void* code) {
    const auto address = reinterpret_cast<std::uint64_t>(code);
    for (const ProcMapping& mapping : proc_mappings(static_cast<std::uint32_t>(::getpid()))) {
        if (address >= mapping.start && address < mapping.end) {
            return address - mapping.start + mapping.file_offset;
        }
    }
    return 0;
}

FunctionImages own_images() {
    auto images = images_of_process(static_cast<std::uint32_t>(::getpid()));
    EXPECT_TRUE(images.ok()) << images.error().message;
    return *images;
}

Result<FoundFunction> find(const std::string& image_name, const std::string& function,
                           const FunctionSearch& search = {}) {
    const auto image = PERFLEET_TRY(find_image(own_images(), image_name));
    return find_function(image, function, search);
}

FunctionSearch with_uretprobes() {
    FunctionSearch search;
    search.uses_uretprobes = true;
    return search;
}

std::string message_of(const Result<FoundFunction>& found) { return found.ok() ? "found" : found.error().message; }

TEST(FunctionFinder, FindsByNameWhereTheLinkerHasPutIt) {
    EXPECT_EQ(found::plain(1) + found::Thing::method(1) + found::Thing::overloaded(1) + found::Thing::overloaded(1L),
              14);
    for (const char* const name : {"found::plain", "_ZN5found5plainEi"}) {
        const auto plain = find("function_test", name);
        ASSERT_TRUE(plain.ok()) << plain.error().message;
        EXPECT_EQ(plain->traced.parts.front().file_offset,
                  file_offset_of(reinterpret_cast<const void*>(&found::plain)));
        EXPECT_GT(plain->traced.parts.front().size_bytes, 0U);
        EXPECT_EQ(plain->traced.exits.size(), 1U);
        EXPECT_EQ(plain->traced.name, std::string{"function_test:"} + name);
    }
    const auto method = find("function_test", "found::Thing::method");
    ASSERT_TRUE(method.ok()) << method.error().message;
    EXPECT_EQ(method->traced.parts.front().file_offset,
              file_offset_of(reinterpret_cast<const void*>(&found::Thing::method)));
    EXPECT_EQ(method->traced.exits.size(), 1U) << "an exception leaves it";
    const auto caught = find("function_test", "found::Thing::method", with_uretprobes());
    ASSERT_TRUE(caught.ok()) << caught.error().message;
    EXPECT_TRUE(caught->traced.exits.empty());
}

TEST(FunctionFinder, SaysWhichHaveOneName) {
    const std::string message = message_of(find("function_test", "found::Thing::overloaded"));
    EXPECT_NE(message.find("2 functions have this name; name one by its address"), std::string::npos) << message;
    EXPECT_NE(message.find("_ZN5found5Thing10overloadedEi"), std::string::npos) << message;
    EXPECT_NE(message.find("_ZN5found5Thing10overloadedEl"), std::string::npos) << message;
    // As it says.
    const std::size_t at = message.find("function_test:0x") + std::strlen("function_test:");
    const auto one = find("function_test", message.substr(at, message.find(':', at) - at));
    ASSERT_TRUE(one.ok()) << one.error().message;
    EXPECT_GT(one->traced.parts.front().size_bytes, 0U);
}

TEST(FunctionFinder, NamesWhatIsNear) {
    const std::string message = message_of(find("function_test", "found::plane"));
    EXPECT_NE(message.find("has no function 'found::plane'; near: found::plain"), std::string::npos) << message;
    EXPECT_NE(message_of(find("libc", "mallc")).find("near: malloc"), std::string::npos);
}

TEST(FunctionFinder, FindsLibrariesByShortNames) {
    for (const char* const name : {"c", "libc", "libc.so.6"}) {
        const auto malloc_found = find(name, "malloc");
        ASSERT_TRUE(malloc_found.ok()) << malloc_found.error().message;
        EXPECT_EQ(malloc_found->traced.name, "libc.so.6:malloc");
        EXPECT_EQ(malloc_found->traced.parts.front().file_offset, file_offset_of(::dlsym(RTLD_DEFAULT, "malloc")));
    }
    const std::string message = message_of(find("libnone", "f"));
    EXPECT_NE(message.find("'libnone': process"), std::string::npos) << message;
    EXPECT_NE(message.find("libc.so.6"), std::string::npos) << message;
    EXPECT_NE(message_of(find("/no/such", "f")).find("/no/such: No such file"), std::string::npos);
}

TEST(FunctionFinder, FollowsWhatTheProcessorChose) {
    const auto chosen = find("libc", "strlen");
    ASSERT_TRUE(chosen.ok()) << chosen.error().message;
    EXPECT_EQ(chosen->traced.parts.front().file_offset, file_offset_of(::dlsym(RTLD_DEFAULT, "strlen")));
}

TEST(FunctionFinder, WhatNeverReturnsHasNoEnd) {
    EXPECT_EQ(message_of(find("libc", "abort")), "libc.so.6:abort never returns: its calls have no end");
}

TEST(FunctionFinder, AProgramHasWhatItsLoaderTakes) {
    const auto images = images_of_program("/bin/ls");
    ASSERT_TRUE(images.ok()) << images.error().message;
    EXPECT_EQ(images->images.front().name, "ls");
    const auto libc = find_image(*images, "libc");
    ASSERT_TRUE(libc.ok()) << libc.error().message;
    EXPECT_EQ(libc->name, "libc.so.6");
}

Result<FoundFunction> find_in_file(const std::string& path, const std::string& function,
                                   const FunctionSearch& search = {}) {
    return find_function({path, path.substr(path.rfind('/') + 1), {}}, function, search);
}

// It is stripped: its names are those that Go itself needs.
TEST(FunctionFinder, FunctionsOfGoAreOfGoroutines) {
    const auto print = find_in_file("/usr/bin/shfmt", "mvdan.cc/sh/v3/syntax.(*Printer).Print");
    ASSERT_TRUE(print.ok()) << print.error().message;
    EXPECT_TRUE(print->traced.has_goroutines);
    EXPECT_FALSE(print->traced.exits.empty());
    EXPECT_EQ(print->traced.again.size(), 1U) << "behind morestack";
    EXPECT_NE(message_of(find_in_file("/usr/bin/shfmt", "main.main", with_uretprobes()))
                  .find("--uretprobe ends a Go program"),
              std::string::npos);
}

TEST(FunctionFinder, ReadsCodeOfAarch64) {
    const std::string library = "/usr/aarch64-linux-gnu/lib/libc.so.6";
    FunctionSearch search;
    search.objdump = "aarch64-linux-gnu-objdump";
    const auto read = find_in_file(library, "qsort", search);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_FALSE(read->traced.exits.empty());
}

TEST(FunctionFinder, RefusesWhatItCannotReadAndNamesTheWayOut) {
    FunctionSearch search;
    search.objdump = "/no/such/objdump";
    const std::string message = message_of(find("function_test", "found::plain", search));
    EXPECT_NE(message.find("where its calls end isn't known from its code: /no/such/objdump: isn't installed"),
              std::string::npos)
        << message;
    EXPECT_NE(message.find("--uretprobe"), std::string::npos) << message;
}

}  // namespace
}  // namespace perfleet
