// For the catalogue of samples: where they are gathered.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "say/catalogue_samples.hpp"

// The name of the function is kept with its text, so that none can be forgotten.
#define SAMPLE(function, ...) page.add(#function, function(__VA_ARGS__))

namespace tide::say {

class Page {
 public:
  void begin(std::string topic) { topic_ = std::move(topic); }
  void add(std::string function, std::string text) {
    samples_.push_back({topic_, std::move(function), std::move(text)});
  }
  void add(std::string function, const Error& error) { add(std::move(function), error.message); }
  std::vector<Sample> take() { return std::move(samples_); }

 private:
  std::string topic_;
  std::vector<Sample> samples_;
};

// Of say/granting.hpp.
void add_granting(Page& page);
// Of say/elastic.hpp and say/pool.hpp.
void add_elastic(Page& page);
// Of say/campaigns.hpp.
void add_campaigns(Page& page);
// Of say/reserving.hpp.
void add_reserving(Page& page);
// Of say/reservations.hpp.
void add_reservations(Page& page);
// Of say/slurm.hpp.
void add_slurm(Page& page);
// Of say/stepping.hpp.
void add_stepping(Page& page);

}  // namespace tide::say
