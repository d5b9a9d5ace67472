#include "sim/run.hpp"

#include "base/check.hpp"
#include "sim/world.hpp"

namespace tide::sim {

namespace {

void throw_failed_check(const char* text) {
  throw BrokenPromise("internal checks hold", text);
}

}  // namespace

std::optional<Failure> run_scenario(const Scenario& scenario, Journal& journal) {
  set_check_failure_handler(&throw_failed_check);
  Journal own(journal.keeps_lines());
  std::optional<Failure> failure;
  try {
    World(scenario, journal.keeps_lines() ? journal : own).run();
  } catch (const BrokenPromise& broken) {
    failure = Failure{broken.promise(), broken.what()};
  }
  if (journal.keeps_lines()) return failure;
  if (own.counts.faults_in_all() < kFewestAppliedFaults) ++own.counts.thin_worlds;
  journal.counts.add(own.counts);
  return failure;
}

}  // namespace tide::sim
