// For tests of events: folders that look like tracefs and like the PMUs of sysfs.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "target-collector/source/linux/event/event_spec.h"

namespace perfleet {

class EventFolders {
public:
    EventFolders() {
        std::string name = (std::filesystem::temp_directory_path() / "events-XXXXXX").string();
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        root_ = name;
        std::filesystem::create_directories(root_ + "/tracefs/events");
        std::filesystem::create_directories(root_ + "/pmus");
    }
    EventFolders(const EventFolders&) = delete;
    EventFolders& operator=(const EventFolders&) = delete;
    ~EventFolders() { std::filesystem::remove_all(root_); }

    void add_tracepoint(const std::string& system, const std::string& event, const std::string& id) const {
        const std::string folder = "tracefs/events/" + system + "/" + event;
        put(folder + "/id", id + "\n");
        put(folder + "/format", "name: " + event + "\nID: " + id + "\n");
    }

    // `path`: below the PMUs' folder.
    void add_pmu_file(const std::string& path, const std::string& text) const { put("pmus/" + path, text + "\n"); }

    [[nodiscard]] EventPlaces places() const { return {{root_ + "/missing", root_ + "/tracefs"}, root_ + "/pmus"}; }

private:
    void put(const std::string& path, const std::string& text) const {
        const std::filesystem::path file = root_ + "/" + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    std::string root_;
};

}  // namespace perfleet
