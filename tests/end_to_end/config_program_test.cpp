// Config files of the programs: what they set, what precedes them, and the errors about their faults.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/end_to_end/process.h"

namespace perfleet::end_to_end::config_program_test {
namespace {

class ConfigProgram : public testing::Test {
protected:
    [[nodiscard]] Finished run_with_config(std::vector<std::string> command) const {
        command.front() = program_path(command.front());
        return run(command, {.environment = {"XDG_CONFIG_HOME=" + folder_.path().string()}, .folder = {}, .user = {}});
    }
    // The user's file of a program, by its lines.
    std::string write(const std::string& program, const std::string& text) const {
        std::filesystem::create_directories(folder_ / "perfleet");
        const std::string file = folder_ / ("perfleet/" + program + ".toml");
        std::ofstream{file} << text;
        return file;
    }
    // The line of --show-config with this beginning.
    [[nodiscard]] static std::string line_of(const std::string& text, const std::string& begin) {
        const std::size_t at = ("\n" + text).find("\n" + begin);
        return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
    }

    TemporaryFolder folder_;
};

TEST_F(ConfigProgram, TheCommandLineGoesBeforeTheFileAndTheFileBeforeTheDefault) {
    const std::string file = write("perfleet-gateway",
                                   "data = \"folder\"\n"
                                   "target-sessions = 300\n"
                                   "listen = [\"tcp://127.0.0.1:1\", \"ipc:///tmp/socket\"]\n"
                                   "no-dictionaries = true\n"
                                   "no-compaction = false\n");
    const Finished shown = run_with_config({"perfleet-gateway", "--target-sessions", "200", "--show-config"});
    EXPECT_EQ(shown.ending.status, 0) << shown.error_output;
    const auto expect_line = [&](const std::string& setting, const std::string& from) {
        const std::string line = line_of(shown.output, setting);
        EXPECT_TRUE(line.ends_with("# " + from)) << setting << ": " << line;
    };
    expect_line("data = \"folder\" ", file + ":1");
    expect_line("target-sessions = 200 ", "command line");
    expect_line("listen = [\"tcp://127.0.0.1:1\", \"ipc:///tmp/socket\"] ", file + ":3");
    expect_line("no-dictionaries = true ", file + ":4");
    expect_line("compact-batches = 1024 ", "default");
    EXPECT_EQ(line_of(shown.output, "no-compaction"), "");
}

TEST_F(ConfigProgram, AKeyOfAllCommandsIsShownOnce) {
    write("perfleet", "event = \"cycles\"\ngateway = \"tcp://a:1\"\nlabel = \"a=b\"\n");
    const std::string shown = run_with_config({"perfleet", "--show-config"}).output;
    for (const std::string line : {"event = \"cycles\" ", "gateway = \"tcp://a:1\" ", "label = [\"a=b\"] "}) {
        const std::string key = line.substr(0, line.find('=') + 1);
        EXPECT_NE(line_of(shown, line), "") << shown;
        EXPECT_EQ(shown.find("\n" + key), shown.rfind("\n" + key)) << shown;
    }
}

TEST_F(ConfigProgram, AFileIsNamedWithEveryFaultAndItsLine) {
    const std::string file = write("perfleet-gateway",
                                   "memroy = \"2g\"\n"
                                   "listen = true\n"
                                   "no-dictionaries = \"yes\"\n"
                                   "target-sessions = 0\n"
                                   "data = [\"one\", \"two\"]\n"
                                   "[top]\n");
    const std::vector<std::string> faults{":1: unknown key 'memroy'; did you mean 'memory'?\n",
                                          ":2: listen: takes ",
                                          ":3: no-dictionaries: is true or false\n",
                                          ":4: target-sessions: Value 0 not in",
                                          ":5: data: takes one value\n",
                                          ":6: unknown table [top]\n"};
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"perfleet-gateway", "--check-config"}, {"perfleet-gateway", "--data", "folder"}}) {
        const Finished refused = run_with_config(command);
        EXPECT_EQ(refused.ending.status, 2);
        EXPECT_EQ(refused.output, "");
        for (const std::string& fault : faults) {
            EXPECT_NE(refused.error_output.find(file + fault), std::string::npos) << fault << refused.error_output;
        }
    }
    EXPECT_EQ(run_with_config({"perfleet-gateway", "--help"}).ending.status, 0);
}

TEST_F(ConfigProgram, WhatIsNoTomlIsRefusedWithItsLine) {
    const std::string file = write("perfleet-collector", "target = \"a\"\nall-cpus = yes\n");
    const Finished refused = run_with_config({"perfleet-collector", "--check-config"});
    EXPECT_EQ(refused.ending.status, 2);
    EXPECT_NE(refused.error_output.find(file + ":2: "), std::string::npos) << refused.error_output;
    EXPECT_EQ(run_with_config({"perfleet-collector", "--config", folder_ / "none.toml", "-a"}).ending.status, 2);
    const Finished folder = run_with_config({"perfleet-collector", "--config", folder_.path().string(), "-a"});
    EXPECT_EQ(folder.ending.status, 2);
    EXPECT_NE(folder.error_output.find(folder_.path().string() + ":1: is a folder"), std::string::npos)
        << folder.error_output;
}

TEST_F(ConfigProgram, WhatIsShownIsAConfigFile) {
    // Options that change values, lists of one and of several, quotes, and defaults of each kind.
    write("perfleet-gateway",
          "retain = \"30d\"\n"
          "retain-bytes = \"200g\"\n"
          "memory = \"2g\"\n"
          "stop-within = 2.5\n"
          "data = \"a \\\"quoted\\\" folder\\t\\u00e9\"\n"
          "no-compaction = true\n");
    write("perfleet-collector",
          "gateway = [\"tcp://a:1\", \"tcp://b:2\"]\n"
          "spool-size = \"100MB\"\n"
          "ring-pages = \"64K\"\n"
          "label = [\"rack=r12\"]\n"
          "event = \"cpu-clock\"\n"
          "g = true\n");
    write("perfleet",
          "format = \"csv\"\n[record]\nfreq = 499\nlabel = [\"a=1\", \"b=2\"]\n[top]\nby = \"image,symbol\"\n");
    const auto without_places = [](const std::string& text) {
        return std::regex_replace(text, std::regex{" *#[^\n]*"}, "");
    };
    for (const std::string program : {"perfleet-gateway", "perfleet-collector", "perfleet-query", "perfleet"}) {
        const Finished first = run_with_config({program, "--show-config"});
        EXPECT_EQ(first.ending.status, 0) << first.error_output;
        const std::string file = folder_ / (program + ".shown");
        std::ofstream{file} << first.output;
        const Finished second = run_with_config({program, "--config", file, "--show-config"});
        EXPECT_EQ(second.ending.status, 0) << program << second.error_output << first.output;
        EXPECT_EQ(without_places(first.output), without_places(second.output)) << program;
    }
    const std::string gateway = run_with_config({"perfleet-gateway", "--show-config"}).output;
    EXPECT_NE(line_of(gateway, "listen = [\"tcp://127.0.0.1:7411\"] "), "") << gateway;
    EXPECT_NE(line_of(gateway, "retain = \"30d\" "), "") << gateway;
    EXPECT_NE(line_of(gateway, "memory = \"2g\" "), "") << gateway;
}

TEST_F(ConfigProgram, AValueOutOfRangeIsNamedWithItsLine) {
    const auto expect_fault = [&](const std::string& program, const std::string& line, const std::string& key) {
        const std::string file = write(program, "\n" + line + "\n");
        const Finished refused = run_with_config({program, "--check-config"});
        EXPECT_EQ(refused.ending.status, 2) << line;
        EXPECT_NE(refused.error_output.find(file + ":2: " + key + ": "), std::string::npos)
            << line << ": " << refused.error_output;
    };
    for (const std::string line :
         {"duration = 0", "freq = 0", "count = 0", "exit-wait = -1", "spool-sync = 0", "ring-size = 3",
          "spool-size = \"1k\"", "delay = -2", "cpu = \"3-1\"", "metrics = \":9412\"", "gateway = [\"host:1\"]",
          "key = \"no.key\"", "freq = 3\ncount = 4"}) {
        const std::string key = line.substr(0, line.find(' '));
        expect_fault("perfleet-collector", line == "freq = 3\ncount = 4" ? "count = 4\nfreq = 3" : line,
                     line == "freq = 3\ncount = 4" ? "count" : key);
    }
    for (const std::string line : {"listen = \"tcp:/x\"", "query = \"host\"", "metrics = \"127.0.0.1:99999\"",
                                   "retain = 30", "memory = \"1m\"", "collectors = \"folder\""}) {
        expect_fault("perfleet-gateway", line, line.substr(0, line.find(' ')));
    }
}

// Its metrics would take the port of the service, and its key is the service's.
TEST_F(ConfigProgram, ADaemonStartedByHandReadsNoFileOfItsService) {
    for (const std::string program : {"perfleet-collector", "perfleet-gateway", "perfleet-query"}) {
        const std::string shown = run_with_config({program, "--show-config"}).output;
        EXPECT_EQ(shown.find("/etc/perfleet"), std::string::npos) << shown;
    }
    EXPECT_NE(run_with_config({"perfleet", "--show-config"}).output.find("/etc/perfleet/perfleet.toml"),
              std::string::npos);
}

TEST_F(ConfigProgram, AKeyOfAllCommandsIsRightWhereOneCommandTakesItsValue) {
    write("perfleet", "format = \"csv\"\n");  // import takes other formats
    EXPECT_EQ(run_with_config({"perfleet", "--check-config"}).ending.status, 0);
    const std::string file = write("perfleet", "format = \"xml\"\n");
    EXPECT_NE(run_with_config({"perfleet", "--check-config"}).error_output.find(file + ":1: format: "),
              std::string::npos);
}

TEST_F(ConfigProgram, AGoodFileIsCheckedWithoutTheRest) {
    const std::string file = write("perfleet-gateway", "memory = \"2g\"\n");  // --data is required, and not there
    const Finished unknown = run_with_config({"perfleet-gateway", "--check-config", "--nonsense"});
    EXPECT_EQ(unknown.ending.status, 2);
    EXPECT_NE(unknown.error_output.find("unknown option '--nonsense'"), std::string::npos) << unknown.error_output;
    const Finished checked = run_with_config({"perfleet-gateway", "--check-config"});
    EXPECT_EQ(checked.ending.status, 0) << checked.error_output;
    EXPECT_EQ(checked.output, file + ": no fault found\n");
}

TEST_F(ConfigProgram, KeysOfACommandGoBeforeThoseOfAll) {
    write("perfleet",
          "format = \"csv\"\n"
          "data = \"nowhere\"\n"
          "[top]\n"
          "format = \"json\"\n");
    const std::string data = folder_ / "data";
    ASSERT_EQ(
        run_with_config({"perfleet", "record", "-q", "-e", "cpu-clock", "--data", data, "--", "true"}).ending.status,
        0);
    EXPECT_TRUE(run_with_config({"perfleet", "top", "--data", data}).output.starts_with("{\"columns\""));
    EXPECT_TRUE(run_with_config({"perfleet", "sessions", "--data", data}).output.starts_with("session,"));
    EXPECT_NE(run_with_config({"perfleet", "sessions"}).error_output.find("nowhere"), std::string::npos);
}

TEST_F(ConfigProgram, ASettingGivesWayToAnOptionThatItCantStandBeside) {
    write("perfleet",
          "gateway = \"tcp://127.0.0.1:1\"\n"
          "key = \"no.key\"\n"
          "gateway-key = \"no.pub\"\n");
    const std::string data = folder_ / "data";
    ASSERT_EQ(
        run_with_config({"perfleet", "record", "-q", "-e", "cpu-clock", "--data", data, "--", "true"}).ending.status,
        0);
    const Finished local = run_with_config({"perfleet", "sessions", "--data", data});
    EXPECT_EQ(local.ending.status, 0) << local.error_output;
    EXPECT_NE(run_with_config({"perfleet", "sessions"}).error_output.find("no.key"), std::string::npos);
}

TEST_F(ConfigProgram, PerfleetShowsTheSettingsOfAllPrograms) {
    const std::string file = write("perfleet-query", "memory = 1000000\n");
    const Finished shown = run_with_config({"perfleet", "config"});
    EXPECT_EQ(shown.ending.status, 0) << shown.error_output;
    for (const std::string program : {"perfleet", "perfleet-collector", "perfleet-gateway", "perfleet-query"}) {
        EXPECT_NE(line_of(shown.output, "# " + program + ": "), "") << program;
    }
    EXPECT_EQ(line_of(shown.output, "memory = 1000000 ").find("# " + file + ":1") == std::string::npos, false);
    write("perfleet-query", "memry = 1\n");
    EXPECT_EQ(run_with_config({"perfleet", "config", "--check"}).ending.status, 2);
}

}  // namespace
}  // namespace perfleet::end_to_end::config_program_test
