#include "head/check_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "say/checking.hpp"
#include "say/starting.hpp"

namespace tide::head {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;
constexpr std::size_t kColumns = 5;
using Row = std::array<std::string, kColumns>;

std::string counted(std::uint32_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string processors(const CheckedHost& host) {
  std::string text = counted(host.cores, "core");
  if (host.hwthreads > host.cores) text += ", " + counted(host.hwthreads, "thread");
  return text;
}

Row row_of(const CheckedHost& host) {
  return {host.name, host.version, processors(host), host.address, human_duration_ms(host.took_ms)};
}

std::string table_of(const std::vector<Row>& rows) {
  std::array<std::size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < kColumns; ++i) {
      text += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    }
    text += row.back() + "\n";
  }
  return text;
}

std::size_t usable_of(const std::vector<CheckedHost>& hosts) {
  return static_cast<std::size_t>(std::ranges::count_if(hosts, &CheckedHost::usable));
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json host_object(const CheckedHost& host) {
  return {{"name", host.name},
          {"usable", host.usable()},
          {"failure", text_or_null(host.failure)},
          {"version", text_or_null(host.version)},
          {"cores", host.cores},
          {"hwthreads", host.hwthreads},
          {"addresses", host.addresses},
          {"address", text_or_null(host.address)},
          {"time_ms", host.took_ms},
          {"same_machine_as", text_or_null(host.same_as)}};
}

}  // namespace

std::string check_text(const std::vector<CheckedHost>& hosts, std::string_view untried) {
  std::vector<Row> rows = {{"HOST", "VERSION", "PROCESSORS", "ADDRESS", "TIME"}};
  std::string failures;
  std::string notes;
  for (const CheckedHost& host : hosts) {
    if (!host.usable()) {
      failures += say::host_cannot_be_used(host.name, host.failure) + "\n";
      continue;
    }
    rows.push_back(row_of(host));
    if (!host.same_as.empty()) notes += say::same_machine(host.name, host.same_as) + "\n";
  }
  std::string text = rows.size() > 1 ? table_of(rows) : "";
  text += failures + notes;
  if (!untried.empty()) text += std::string(untried) + "\n";
  return text + say::hosts_checked(hosts.size(), usable_of(hosts)) + "\n";
}

std::string check_json(const std::vector<CheckedHost>& hosts) {
  Json rows = Json::array();
  for (const auto& host : hosts) rows.push_back(host_object(host));
  const std::size_t usable = usable_of(hosts);
  const Json document = {{"schema_version", kSchemaVersion},
                         {"usable", usable},
                         {"unusable", hosts.size() - usable},
                         {"hosts", std::move(rows)}};
  // What other machines say may hold bytes that are no UTF-8.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tide::head
