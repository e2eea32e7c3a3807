#include "target-collector/linux/link/answer_wait.h"

#include <gtest/gtest.h>

namespace perfleet {
namespace {

TEST(AnswerWait, NobodyOwesAnAnswerWhoWasNotAsked) {
    AnswerWait wait;
    wait.note_time(1'000);
    wait.note_time(9'000);
    EXPECT_EQ(wait.duration_ns(), 0U);
}

TEST(AnswerWait, CountsFromTheFirstUnansweredWord) {
    AnswerWait wait;
    wait.asked();
    wait.note_time(1'000);
    wait.asked();
    wait.note_time(3'000);
    wait.note_time(4'000);
    EXPECT_EQ(wait.duration_ns(), 3'000U);
}

TEST(AnswerWait, AnAnswerSettlesWhatWasAskedBefore) {
    AnswerWait wait;
    wait.asked();
    wait.note_time(1'000);
    wait.heard();
    wait.note_time(2'000);
    wait.note_time(9'000);
    EXPECT_EQ(wait.duration_ns(), 0U);
}

TEST(AnswerWait, WhatIsAskedAfterAnAnswerIsOwedAgain) {
    AnswerWait wait;
    wait.asked();
    wait.note_time(1'000);
    wait.heard();
    wait.asked();
    wait.note_time(2'000);
    wait.note_time(5'000);
    EXPECT_EQ(wait.duration_ns(), 3'000U);
}

TEST(AnswerWait, TheNextOneWhoIsAskedHasAllItsTime) {
    AnswerWait wait;
    wait.asked();
    wait.note_time(1'000);
    wait.note_time(6'000);
    wait.restart();
    EXPECT_EQ(wait.duration_ns(), 0U);
    wait.note_time(8'000);
    EXPECT_EQ(wait.duration_ns(), 2'000U);
}

}  // namespace
}  // namespace perfleet
