#include "exporters/perf-data/series_feed.h"

namespace perfleet {

SeriesFeed::SeriesFeed(const Scan& scan, std::size_t session_index, EpochNumber epoch, Series series)
    : thread_{[this, &scan, session_index, epoch, series] {
          {
              std::unique_lock lock{mutex_};
              changed_.wait(lock, [this] { return turn_ == Turn::kScan; });
          }
          auto done = scan.visit_rows(session_index, epoch, series, {}, [this](const RowBlock& block) {
              std::unique_lock lock{mutex_};
              if (is_unwanted_) {
                  return Visit::kStop;
              }
              if (block.rows.row_count() == 0) {
                  return Visit::kContinue;
              }
              rows_ = &block.rows;
              turn_ = Turn::kReader;
              changed_.notify_all();
              changed_.wait(lock, [this] { return turn_ == Turn::kScan; });
              return is_unwanted_ ? Visit::kStop : Visit::kContinue;
          });
          const std::lock_guard lock{mutex_};
          if (!done) {
              error_ = std::move(done).error();
          }
          rows_ = nullptr;
          is_over_ = true;
          turn_ = Turn::kReader;
          changed_.notify_all();
      }} {}

SeriesFeed::~SeriesFeed() {
    {
        const std::lock_guard lock{mutex_};
        is_unwanted_ = true;
        turn_ = Turn::kScan;
        changed_.notify_all();
    }
    thread_.join();
}

const DecodedRows* SeriesFeed::next() {
    std::unique_lock lock{mutex_};
    if (is_over_) {
        return nullptr;
    }
    turn_ = Turn::kScan;
    changed_.notify_all();
    changed_.wait(lock, [this] { return turn_ == Turn::kReader; });
    return rows_;
}

}  // namespace perfleet
