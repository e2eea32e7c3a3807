#include "storage/dictionary/anonymous_names.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

// The stand-in of a name depends on the names replaced before it.
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

TEST(AnonymousNames, FoldersAreReplacedAndFilesStay) {
    const std::string path = anonymous_text("/srv/alice/secret/app");
    EXPECT_EQ(path.substr(path.rfind('/')), "/app");
    for (const char* word : {"srv", "alice", "secret"}) {
        EXPECT_EQ(path.find(word), std::string::npos) << path;
    }
    EXPECT_EQ(folder_of(anonymous_text("/srv/alice/secret/other")), folder_of(path));
    EXPECT_EQ(anonymous_text(path), path);
    EXPECT_NE(folder_of(anonymous_text("/srv/alice/secret2/app")), folder_of(path));
    EXPECT_EQ(folder_of(folder_of(anonymous_text("/srv/alice/secret2/app"))), folder_of(folder_of(path)));
}

TEST(AnonymousNames, WhatEachSystemHasStays) {
    for (const char* text : {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/lib64/ld-linux-x86-64.so.2", "[vdso]", "//anon",
                             "[kernel.kallsyms]", "worker/3", "", "operator/(A, B)", "a.b/c"}) {
        EXPECT_EQ(anonymous_text(text), text);
    }
}

TEST(AnonymousNames, PathsInNamesOfFunctionsAreReplaced) {
    for (const char* text : {"load (/srv/alice/app.py:12)", "JS:~load /srv/alice/app.js:3:7",
                             "JS:*load file:///srv/alice/app.mjs:3:7", "[JIT] load '/srv/alice/app.rb'"}) {
        const std::string made = anonymous_text(text);
        EXPECT_EQ(made.find("alice"), std::string::npos) << made;
        EXPECT_NE(made.find("load"), std::string::npos) << made;
        EXPECT_NE(made.find("app."), std::string::npos) << made;
    }
}

TEST(AnonymousNames, OfASessionHostAndArgumentsAreReplaced) {
    SessionRecord session;
    session.target_name = "db7.example.org";
    session.host.command_line = {"perfleet", "record", "--label", "team=x", "--", "/opt/shop/bin/server",
                                 "--key",    "s3"};
    session.labels = {{"rack", "r12"}};
    SessionRecord other = session;
    other.target_name = "db8.example.org";
    SessionRecord again = session;
    anonymise(session);
    anonymise(other);
    anonymise(again);
    EXPECT_EQ(session.host.command_line, (std::vector<std::string>{"server", "[...]"}));
    EXPECT_EQ(session.target_name.find("db7"), std::string::npos);
    EXPECT_NE(session.target_name, other.target_name);
    EXPECT_EQ(session.target_name, again.target_name);
    EXPECT_EQ(session.labels.front().second, "r12");
}

TEST(AnonymousNames, FilesOfImagesStayKnown) {
    EpochDictionary dictionary;
    ASSERT_TRUE(dictionary.define_image(ImageNumber{3}, {0, 0, 0, "id", "/srv/alice/app"}).ok());
    dictionary.finish();
    anonymise(dictionary);
    const ImageDefinition& image = dictionary.image(ImageNumber{3});
    EXPECT_EQ(image.file, "/srv/alice/app");
    EXPECT_EQ(image.name.find("alice"), std::string::npos);
}

}  // namespace
}  // namespace perfleet
