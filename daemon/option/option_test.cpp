#include "daemon/option/option.h"

#include <gtest/gtest.h>

#include "daemon/option/testing/option_texts.h"

namespace perfleet {
namespace {

enum class Colour : std::uint8_t { kRed, kGreen };

struct Paint {
    std::optional<std::uint64_t> layers;
    double share = 0;
    Colour colour = Colour::kRed;
    bool is_dry = false;
    std::string name;
    std::vector<std::string> rooms;
};

const OptionTable<Paint>& paint_options() {
    static const OptionTable<Paint> kTable =
        OptionTable<Paint>{}
            .value({.name = "layers", .type = OptionType::kCount, .value_name = "N", .summary = "", .min = 1, .max = 9},
                   &Paint::layers)
            .value({.name = "share", .type = OptionType::kReal, .value_name = "P", .summary = "", .max = 100},
                   &Paint::share)
            .choice({.name = "colour", .value_name = "C", .summary = ""}, &Paint::colour,
                    {{"red", Colour::kRed}, {"green", Colour::kGreen}})
            .flag("dry", &Paint::is_dry, "")
            .value({.name = "name", .value_name = "TEXT", .summary = "", .aliases = {"title", "n"}}, &Paint::name)
            .text({.name = "rooms", .value_name = "LIST", .summary = "", .is_list = true},
                  [](const std::string& text, Paint& paint) -> Result<Done> {
                      paint.rooms = split_list(text);
                      return Done{};
                  })
            .finish([](const OptionValues& values, Paint& paint) -> Result<Done> {
                return paint.is_dry && values.contains("layers")
                           ? Result<Done>{Error{ErrorCode::kUsage, "--layers: dry"}}
                           : Result<Done>{Done{}};
            });
    return kTable;
}

Result<Paint> read_paint(const std::map<std::string, std::string>& texts) {
    const Result<OptionValues> values = parse_options(paint_options().specs(), texts);
    return values.ok() ? paint_options().read(*values) : Result<Paint>{Error{values.error()}};
}

TEST(OptionTable, ReadsEachTypeIntoItsMember) {
    const auto paint =
        read_paint({{"layers", "3"}, {"share", "12.5"}, {"colour", "green"}, {"title", "x=1"}, {"rooms", "a,b"}});
    ASSERT_TRUE(paint.ok()) << paint.error().message;
    EXPECT_EQ(paint->layers, 3U);
    EXPECT_EQ(paint->share, 12.5);
    EXPECT_EQ(paint->colour, Colour::kGreen);
    EXPECT_FALSE(paint->is_dry);
    EXPECT_EQ(paint->name, "x=1");
    EXPECT_EQ(paint->rooms, (std::vector<std::string>{"a", "b"}));
    EXPECT_TRUE(read_paint({{"dry", ""}})->is_dry);
    EXPECT_FALSE(read_paint({})->layers.has_value());
}

TEST(OptionTable, NamesTheOptionAndWhatItMayBe) {
    EXPECT_EQ(read_paint({{"layers", "0"}}).error().message, "--layers: \"0\" is not a whole number from 1 to 9");
    EXPECT_EQ(read_paint({{"layers", "3x"}}).error().code, ErrorCode::kUsage);
    EXPECT_EQ(read_paint({{"share", "nan"}}).error().code, ErrorCode::kUsage);
    EXPECT_EQ(read_paint({{"colour", "blue"}}).error().message, "--colour: \"blue\" is not red or green");
    EXPECT_EQ(read_paint({{"name", ""}}).error().code, ErrorCode::kUsage);
    EXPECT_EQ(read_paint({{"names", "x"}}).error().message, "there is no option --names");
    EXPECT_EQ(read_paint({{"dry", ""}, {"layers", "2"}}).error().message, "--layers: dry");
}

TEST(OptionTable, RefusesValuesOfAnotherTypeOrRangeFromTheWire) {
    for (const OptionValues& values :
         {OptionValues{{"layers", "3"}}, OptionValues{{"layers", std::uint64_t{10}}}, OptionValues{{"share", 101.0}},
          OptionValues{{"colour", "blue"}}, OptionValues{{"dry", false}}, OptionValues{{"name", true}},
          OptionValues{{"name", ""}}}) {
        EXPECT_EQ(paint_options().read(values).error().code, ErrorCode::kUsage) << values.begin()->first;
    }
    EXPECT_TRUE(paint_options().read({{"of-another-table", true}}).ok());
}

TEST(ParseOption, TakesSizesWithTheirPrefixes) {
    const OptionSpec size{.name = "memory", .type = OptionType::kSize, .value_name = "SIZE", .summary = ""};
    EXPECT_EQ(*parse_option(size, "1g"), OptionValue{std::uint64_t{1} << 30U});
    EXPECT_EQ(*parse_option(size, "3MB"), OptionValue{std::uint64_t{3} << 20U});
    EXPECT_EQ(*parse_option(size, "17"), OptionValue{std::uint64_t{17}});
    for (const char* wrong : {"", "g", "-1", "1x", "99999999999t", "1.5g"}) {
        EXPECT_FALSE(parse_option(size, wrong).ok()) << wrong;
    }
}

}  // namespace
}  // namespace perfleet
