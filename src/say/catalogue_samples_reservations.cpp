#include "say/reservations.hpp"
#include "say/sample_page.hpp"

namespace tide::say {
namespace {

constexpr const char* kOwner = "tide-vm-6655-e451885e@7";
constexpr const char* kKeyFile = "/etc/tide/scheduler.key";

void add_news(Page& page) {
  SAMPLE(allocation_news, "a1", false, kOwner, by_request());
  SAMPLE(allocation_news, "a2", true, kOwner, used_by_job("tide-vm-6655-e451885e@8"));
  SAMPLE(by_request);
  SAMPLE(by_scheduler);
  SAMPLE(by_inheritance);
  SAMPLE(by_failure);
  SAMPLE(by_teardown);
  SAMPLE(used_by_job, "tide-vm-6655-e451885e@8");
  SAMPLE(asked_by_inheritance, "a1");
  SAMPLE(asked_by_name, "2 nodes", "ensemble");
  SAMPLE(nobody_to_warn);
  SAMPLE(warning_not_relayed, "a1", nobody_to_warn());
}

}  // namespace

void add_reservations(Page& page) {
  page.begin("Reservations: refused, and news");
  SAMPLE(no_such_reservation, "a7", false);
  SAMPLE(no_such_reservation, "a7", true);
  SAMPLE(reservation_of_others, "a7");
  SAMPLE(reservations_are_over);
  SAMPLE(target_by_process);
  SAMPLE(no_such_owner, "tide-vm-6655-e451885e@99");
  SAMPLE(not_the_scheduler);
  SAMPLE(unknown_inheritance, 77);
  SAMPLE(extend_by_nodes_or_time);
  SAMPLE(extend_by_nothing);
  SAMPLE(allocation_has_ended, "a1");
  SAMPLE(no_scheduler_key, kKeyFile, 2);
  SAMPLE(scheduler_key_is_open, kKeyFile);
  SAMPLE(scheduler_key_is_no_key, kKeyFile, 16, 4096);
  add_news(page);
}

}  // namespace tide::say
