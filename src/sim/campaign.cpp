#include "sim/campaign.hpp"

#include <algorithm>
#include <mutex>
#include <thread>

namespace tide::sim {

namespace {

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options)
      : options_(options),
        total_(options.last_seed - options.first_seed + 1 + options.more_seeds.size()) {}

  CampaignResult run() {
    std::vector<std::thread> threads;
    for (unsigned i = 1; i < options_.threads; ++i) threads.emplace_back([this] { work(false); });
    work(true);
    for (auto& thread : threads) thread.join();
    std::ranges::sort(result_.failures, {}, &FailedSeed::seed);
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::uint64_t seed_at(std::uint64_t index) const {
    const auto in_range = options_.last_seed - options_.first_seed + 1;
    return index < in_range ? options_.first_seed + index : options_.more_seeds[index - in_range];
  }

  void work(bool reports) {
    while (!options_.stop()) {
      const auto index = next_.fetch_add(1);
      if (index >= total_) return;
      const auto seed = seed_at(index);
      Journal journal;
      const auto failure = run_scenario(draw_scenario(seed, options_.scenario), journal);
      const std::scoped_lock lock(mutex_);
      const auto faults = journal.counts.faults_in_all();
      result_.counts.add(journal.counts);
      result_.fewest_faults = std::min(result_.fewest_faults, faults);
      result_.most_faults = std::max(result_.most_faults, faults);
      if (failure) result_.failures.push_back(FailedSeed{seed, *failure});
      if (reports && options_.progress) options_.progress(result_.counts, result_.failures.size());
      if (result_.failures.size() >= options_.max_failures) next_ = total_;
    }
  }

  const CampaignOptions& options_;
  std::uint64_t total_;
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
  CampaignResult result_;
};

}  // namespace

CampaignResult run_campaign(const CampaignOptions& options) {
  return Campaign(options).run();
}

}  // namespace tide::sim
