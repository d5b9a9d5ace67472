#include "pmix/modex_fetches.hpp"

#include <pmix_server.h>

#include <utility>

#include "pmix/convert.hpp"
#include "pmix/upcalls.hpp"

namespace tide::pmix {

namespace {
constexpr int kUpdate = -1;  // of what is known of a job, in place of its number of processes here
}  // namespace

std::uint64_t ModexFetches::add(const ProcName& whose, Done done) {
  fetches_.emplace(++last_, Fetch{whose, std::move(done)});
  return last_;
}

void ModexFetches::fetch(const ProcName& whose, Done done) {
  ask(add(whose, std::move(done)), whose);
}

void ModexFetches::fetch(const ProcName& whose, InfoArray keys, bool told_of_clients, Done done) {
  const std::uint64_t number = add(whose, std::move(done));
  const auto kept = std::make_shared<const InfoArray>(std::move(keys));
  if (!told_of_clients) {
    fetches_.at(number).held = kept;
    return;
  }
  tell_keys(whose, kept);
  ask(number, whose);
}

void ModexFetches::on_client(const std::string& nspace) {
  for (auto& [number, fetch] : fetches_) {
    if (fetch.held == nullptr || fetch.whose.nspace != nspace) continue;
    tell_keys(fetch.whose, std::exchange(fetch.held, nullptr));
    ask(number, fetch.whose);
  }
}

// As if the process had put them for others. They stay, so it is in its fences with them, too.
void ModexFetches::tell_keys(const ProcName& whose, const std::shared_ptr<const InfoArray>& keys) {
  bridge_.begin(
      [&](void* number) {
        const pmix_proc_t name = to_pmix(whose);
        return PMIx_server_register_nspace(name.nspace, kUpdate, keys->data(), keys->size(),
                                           operation_done, number);
      },
      [keys](pmix_status_t, const std::string&) {});
}

void ModexFetches::ask(std::uint64_t number, const ProcName& whose) {
  bridge_.begin(
      [&](void* operation) {
        const pmix_proc_t proc = to_pmix(whose);
        return PMIx_server_dmodex_request(&proc, fetch_done, operation);
      },
      [this, number](pmix_status_t status, std::string data) {
        if (status == PMIX_SUCCESS) return fetched(number, std::move(data));
        fetched(number, from_pmix(status, "what the process put can't be had"));
      });
}

void ModexFetches::fetched(std::uint64_t number, Result<std::string> result) {
  auto node = fetches_.extract(number);
  if (node) node.mapped().done(std::move(result));
}

void ModexFetches::fail(const ProcName& whose, const Error& why) {
  for (const auto& [number, fetch] : fetches_) {
    if (fetch.whose.nspace != whose.nspace) continue;
    if (whose.rank != kAllRanks && fetch.whose.rank != whose.rank) continue;
    bridge_.post([this, number, why](Handler&) { fetched(number, why); });
  }
}

}  // namespace tide::pmix
