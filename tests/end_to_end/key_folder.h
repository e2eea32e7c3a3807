// Keys for tests: made, written as `perfleet keygen` writes them, enrolled and taken back.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "schemas/peers/key_file.h"
#include "schemas/zmtp/new_key.h"
#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end {

class TestKeys {
public:
    TestKeys() {
        std::filesystem::create_directory(folder_ / "collectors");
        make("gateway");
    }

    using Labels = std::vector<std::pair<std::string, std::string>>;

    // NAME.key and NAME.pub; the path of the secret one.
    std::string make(const std::string& name) {
        auto key = make_secret_key(name);
        EXPECT_TRUE(key.ok());
        std::string path = folder_ / (name + ".key");
        std::ofstream{path} << format_secret_key(*key);
        EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
        std::ofstream{folder_ / (name + ".pub")} << format_enrolment(enrolment_of(*key, {}));
        keys_.insert_or_assign(name, std::move(*key));
        return path;
    }

    // Makes it and enrols it.
    void enrol(const std::string& name, const Labels& labels = {}) {
        if (!keys_.contains(name)) {
            make(name);
        }
        write_whole(enrolled(name), format_enrolment(enrolment_of(keys_.at(name), labels)));
    }
    void revoke(const std::string& name) const { std::filesystem::remove(enrolled(name)); }

    [[nodiscard]] std::string folder() const { return folder_ / "collectors"; }
    [[nodiscard]] std::string secret(const std::string& name) const { return folder_ / (name + ".key"); }
    [[nodiscard]] std::string pub(const std::string& name) const { return folder_ / (name + ".pub"); }
    // Of `name`, to the server whose key is that of `server`.
    [[nodiscard]] ConnectKeys connect_keys(const std::string& name, const std::string& server = "gateway") const {
        return {keys_.at(name), decode_public_key(keys_.at(server).public_text).value_or(PublicKey{})};
    }

private:
    [[nodiscard]] std::string enrolled(const std::string& name) const { return folder() + "/" + name + ".pub"; }
    static Enrolment enrolment_of(const SecretKey& key, const Labels& labels) {
        return {key.name, target_id_of(key.name), decode_public_key(key.public_text).value_or(PublicKey{}), labels};
    }
    static void write_whole(const std::string& path, const std::string& text) {
        std::ofstream{path + "~"} << text;
        std::filesystem::rename(path + "~", path);
    }

    TemporaryFolder folder_;
    std::map<std::string, SecretKey> keys_;
};

}  // namespace perfleet::end_to_end
