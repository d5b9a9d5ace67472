// What the JSON documents of several commands are made of.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "wire/client.pb.h"

namespace tide::cli {

// As text, behind the version of the schema. Names and command lines may hold bytes that are no
// UTF-8: these become replacement characters.
std::string json_document(const nlohmann::ordered_json& members);

template <class Names>
nlohmann::ordered_json names_array(const Names& names) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& name : names) list.push_back(name);
  return list;
}

nlohmann::ordered_json job_object(const wire::JobStatus& job);
nlohmann::ordered_json campaign_object(const wire::CampaignStatus& campaign);
nlohmann::ordered_json allocation_object(const wire::AllocationStatus& allocation);
nlohmann::ordered_json asks_array(const google::protobuf::RepeatedPtrField<wire::PendingAsk>& asks);

}  // namespace tide::cli
