#include <algorithm>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/dvm_choice.hpp"
#include "cli/json_text.hpp"
#include "cli/status_text.hpp"
#include "say/command_line.hpp"
#include "wire/exit_status.hpp"

namespace tide::cli {
namespace {

// Names as operands and after --param; none, or "all": every parameter.
std::vector<std::string> wanted_names(const CommandLine& line) {
  std::vector<std::string> names = line.apps.front().argv;
  for (const GivenOption& given : line.apps.front().options) {
    if (given.option == Option::kParam) names.push_back(given.value);
  }
  if (std::find(names.begin(), names.end(), "all") != names.end()) names.clear();
  return names;
}

bool is_called(const ParamDef& def, std::string_view name) {
  return def.name == name ||
         std::find(def.aliases.begin(), def.aliases.end(), name) != def.aliases.end();
}

const ParamDef* find_param(std::string_view name) {
  const auto table = param_table();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [name](const ParamDef& def) { return is_called(def, name); });
  return found == table.end() ? nullptr : &*found;
}

Status check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (find_param(name) != nullptr) continue;
    std::vector<std::string_view> known;
    for (const ParamDef& def : param_table()) known.push_back(def.name);
    return say::unknown_parameter_asked_for(name, nearest(name, known));
  }
  return ok_status();
}

ShownParam shown(const ParamDef& def, std::string_view value, std::string_view source) {
  return {def.name, value, source, param_type_name(def.type), def.help};
}

void show(const CommandLine& line, const std::vector<ShownParam>& params) {
  if (line.has(Option::kJson)) return print(params_json(params));
  if (line.has(Option::kParsable)) return print(params_parsable(params));
  print(params_text(params));
}

std::vector<ShownParam> chosen(std::vector<ShownParam> params,
                               const std::vector<std::string>& names) {
  if (names.empty()) return params;
  std::erase_if(params, [&names](const ShownParam& param) {
    return std::none_of(names.begin(), names.end(), [&param](const std::string& name) {
      return find_param(name)->name == param.name;
    });
  });
  return params;
}

int show_own(const ClientContext& context, const std::vector<std::string>& names) {
  std::vector<ShownParam> params;
  for (const ParamEntry& entry : context.params.entries()) {
    params.push_back(shown(*entry.def, entry.value, entry.source.text));
  }
  show(context.line, chosen(std::move(params), names));
  return kExitSuccess;
}

int show_of_dvm(const ClientContext& context, const std::vector<std::string>& names) {
  Result<DvmConnection> connection = connect_to_dvm(context);
  if (!connection) return fail_without_dvm(context.line, connection.error());
  wire::ClientRequest request;
  request.mutable_params();
  Result<wire::ClientReply> reply = ask(connection->channel, std::move(request));
  if (!reply) return fail(context.line, reply.error());
  std::vector<ShownParam> params;
  for (const wire::ParamValue& param : reply->params().params()) {
    const ParamDef* def = find_param(param.name());
    if (def != nullptr) params.push_back(shown(*def, param.value(), param.source()));
  }
  show(context.line, chosen(std::move(params), names));
  return kExitSuccess;
}

bool names_a_dvm(const CommandLine& line) {
  return line.has(Option::kDvm) || line.has(Option::kDvmUri) || line.has(Option::kPid) ||
         line.has(Option::kNamespace) || line.has(Option::kSystemFirst) ||
         line.has(Option::kSystemOnly);
}

}  // namespace

int params_command(const ClientContext& context) {
  const std::vector<std::string> names = wanted_names(context.line);
  if (Status status = check_names(names); !status) return fail(context.line, status.error());
  return names_a_dvm(context.line) ? show_of_dvm(context, names) : show_own(context, names);
}

}  // namespace tide::cli
